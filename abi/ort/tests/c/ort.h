/* What the programs here use of ONNX Runtime's C interface, by positions in its table. A test compares these with the layout that the
   library itself has. */
#ifndef ORT_H
#define ORT_H

#include <stddef.h>
#include <stdint.h>

typedef void (*ort_function)(void);

/* The table of the interface with the number 18. */
enum { ORT_INTERFACE = 18, ORT_FUNCTIONS = 276 };
typedef struct { ort_function functions[ORT_FUNCTIONS]; } OrtApi;
typedef struct {
    const OrtApi *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;

enum {
    CreateStatus = 0,
    GetErrorCode = 1,
    GetErrorMessage = 2,
    CreateEnv = 3,
    CreateEnvWithCustomLogger = 4,
    CreateSession = 7,
    CreateSessionFromArray = 8,
    Run = 9,
    CreateSessionOptions = 10,
    CloneSessionOptions = 12,
    SetIntraOpNumThreads = 24,
    CreateCustomOpDomain = 26,
    CustomOpDomain_Add = 27,
    AddCustomOpDomain = 28,
    CreateTensorWithDataAsOrtValue = 49,
    GetTensorMutableData = 51,
    GetTensorShapeElementCount = 64,
    GetTensorTypeAndShape = 65,
    CreateCpuMemoryInfo = 69,
    AllocatorFree = 76,
    GetAllocatorWithDefaultOptions = 78,
    KernelContext_GetInput = 90,
    KernelContext_GetOutput = 91,
    ReleaseEnv = 92,
    ReleaseStatus = 93,
    ReleaseMemoryInfo = 94,
    ReleaseSession = 95,
    ReleaseValue = 96,
    ReleaseTensorTypeAndShapeInfo = 99,
    ReleaseSessionOptions = 100,
    ReleaseCustomOpDomain = 101,
    CreateEnvWithGlobalThreadPools = 119,
    CreateThreadingOptions = 121,
    ReleaseThreadingOptions = 122,
    RunWithBinding = 133,
    CreateIoBinding = 134,
    ReleaseIoBinding = 135,
    BindInput = 136,
    BindOutput = 137,
    BindOutputToDevice = 138,
    GetBoundOutputValues = 140,
    ClearBoundInputs = 141,
    CreateEnvWithCustomLoggerAndGlobalThreadPools = 151,
    CreatePrepackedWeightsContainer = 166,
    ReleasePrepackedWeightsContainer = 167,
    CreateSessionWithPrepackedWeightsContainer = 168,
    RunAsync = 260
};

typedef struct OrtStatus OrtStatus;
typedef struct OrtEnv OrtEnv;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtValue OrtValue;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtWeights OrtWeights;
typedef struct OrtBinding OrtBinding;
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtDomain OrtDomain;
typedef struct OrtThreads OrtThreads;

/* The function at a position. The first of its arguments need not be the table. */
#define ORT(api, position, result, parameters) ((result (*) parameters)(api)->functions[position])

#ifdef __cplusplus
extern "C" const OrtApiBase *OrtGetApiBase(void);
#else
const OrtApiBase *OrtGetApiBase(void);
#endif

#endif
