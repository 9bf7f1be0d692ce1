/* opscope.h: opscope's C interface. docs/c-api.md is a tour of it.
 *
 * This file is generated from abi/opscope/src; do not edit it.
 */

#ifndef OPSCOPE_H
#define OPSCOPE_H

#include <stddef.h>
#include <stdint.h>

/// The version of the header, as `major * 10000 + minor * 100 + patch`.
#define OPSCOPE_VERSION 100

/// What a call returns. A call that fails changes nothing, unless its description says so.
typedef enum opscope_status_t {
    /// Done.
    OPSCOPE_OK = 0,
    /// There is nothing to return: no event waits. This is no error.
    OPSCOPE_EMPTY = 1,
    /// A pointer is NULL, a text is not UTF-8, or a number is none of the constants.
    OPSCOPE_INVALID_ARGUMENT = 2,
    /// The `size` of a struct is smaller than that of its first version, or fields that this library does not know are
    /// not zero.
    OPSCOPE_INVALID_SIZE = 3,
    /// The handle was freed, or was never returned by this library.
    OPSCOPE_INVALID_HANDLE = 4,
    /// The call cannot be made from inside of a callback, because it would wait for that callback.
    OPSCOPE_BUSY = 5,
    /// The call does not fit the state of the object: a context that is not started, an event that was not read.
    OPSCOPE_INVALID_STATE = 6,
    /// What was named does not exist: an operator, a tensor, a breakpoint.
    OPSCOPE_NOT_FOUND = 7,
    /// The model cannot be loaded: the file is missing or damaged, or the engine cannot run it.
    OPSCOPE_MODEL = 8,
    /// The inputs do not fit the model.
    OPSCOPE_INPUT = 9,
    /// The engine failed in a run.
    OPSCOPE_RUN_FAILED = 10,
    /// An instrument ended the run.
    OPSCOPE_STOPPED = 11,
    /// The time of a wait is over.
    OPSCOPE_TIMED_OUT = 12,
    /// There is no room, and only the callback that makes this call could free some.
    OPSCOPE_FULL = 13,
    /// The call was completed, but data that was asked for is missing. The report says which.
    OPSCOPE_INCOMPLETE = 14,
    /// The operating system refused memory, a thread, a file or a socket.
    OPSCOPE_SYSTEM = 15,
    /// opscope itself failed. This is a defect of opscope.
    OPSCOPE_INTERNAL = 16,
} opscope_status_t;

/// How faithfully the engine follows the file.
typedef enum opscope_fidelity_t {
    /// Operators are fused and rewritten: fast, and what is timed.
    OPSCOPE_OPTIMISED = 0,
    /// Every operator is executed as the file has it: what is dumped, compared and debugged. Several times slower.
    OPSCOPE_EXACT = 1,
} opscope_fidelity_t;

/// The type of an element: the codes of ONNX's `TensorProto.DataType`.
typedef enum opscope_dtype_t {
    /// 32-bit float.
    OPSCOPE_FLOAT32 = 1,
    /// Unsigned 8-bit integer.
    OPSCOPE_UINT8 = 2,
    /// Signed 8-bit integer.
    OPSCOPE_INT8 = 3,
    /// Unsigned 16-bit integer.
    OPSCOPE_UINT16 = 4,
    /// Signed 16-bit integer.
    OPSCOPE_INT16 = 5,
    /// Signed 32-bit integer.
    OPSCOPE_INT32 = 6,
    /// Signed 64-bit integer.
    OPSCOPE_INT64 = 7,
    /// Text. It has no form as bytes.
    OPSCOPE_STRING = 8,
    /// One byte for each element, 0 or 1.
    OPSCOPE_BOOL = 9,
    /// 16-bit float.
    OPSCOPE_FLOAT16 = 10,
    /// 64-bit float.
    OPSCOPE_FLOAT64 = 11,
    /// Unsigned 32-bit integer.
    OPSCOPE_UINT32 = 12,
    /// Unsigned 64-bit integer.
    OPSCOPE_UINT64 = 13,
    /// Two 32-bit floats.
    OPSCOPE_COMPLEX64 = 14,
    /// Two 64-bit floats.
    OPSCOPE_COMPLEX128 = 15,
    /// The upper half of a 32-bit float.
    OPSCOPE_BFLOAT16 = 16,
    /// 8-bit float.
    OPSCOPE_FLOAT8E4M3FN = 17,
    /// 8-bit float.
    OPSCOPE_FLOAT8E4M3FNUZ = 18,
    /// 8-bit float.
    OPSCOPE_FLOAT8E5M2 = 19,
    /// 8-bit float.
    OPSCOPE_FLOAT8E5M2FNUZ = 20,
    /// Two unsigned elements in a byte, the first in the low half.
    OPSCOPE_UINT4 = 21,
    /// Two signed elements in a byte, the first in the low half.
    OPSCOPE_INT4 = 22,
    /// Two floats in a byte, the first in the low half.
    OPSCOPE_FLOAT4E2M1 = 23,
} opscope_dtype_t;

/// A list of tensors that opscope returned. Free it with `opscope_tensors_free`.
typedef struct opscope_tensors_t {
    /// 0 is no list.
    uint64_t id;
} opscope_tensors_t;

/// A tensor: a type, a shape and data. The data is little-endian and row-major, without gaps.
///
/// A tensor that is passed to opscope is only read during the call. One that opscope returns belongs to what returned it.
typedef struct opscope_tensor_t {
    /// `sizeof(opscope_tensor_t)`.
    size_t size;
    /// Its name in the model. Ignored in tensors that are passed to opscope.
    const char *name;
    /// The sizes of its dimensions. NULL for a single element, whose `rank` is 0.
    const size_t *dims;
    /// The elements.
    const void *data;
    /// The number of bytes of `data`.
    size_t bytes;
    /// The type of its elements, an `opscope_dtype_t`.
    uint32_t dtype;
    /// The number of its dimensions.
    uint32_t rank;
} opscope_tensor_t;

/// How to load a model. All zero is the default, and so is NULL in its place.
typedef struct opscope_session_options_t {
    /// `sizeof(opscope_session_options_t)`.
    size_t size;
    /// An `opscope_fidelity_t`.
    uint32_t fidelity;
    /// Threads within one operator. 0 stands for 1.
    uint32_t threads;
    /// How much time and memory loading may take, as a multiple of the default for a model of that size. 0 stands for 1.
    uint32_t load_budget;
    /// 0.
    uint32_t reserved;
} opscope_session_options_t;

/// A model that is loaded and can run. Free it with `opscope_session_free`.
///
/// A session may be used from several threads at once, also to run.
typedef struct opscope_session_t {
    /// 0 is no session.
    uint64_t id;
} opscope_session_t;

/// A model and its engine. All texts are valid until the session is freed.
typedef struct opscope_session_info_t {
    /// `sizeof(opscope_session_info_t)`.
    size_t size;
    /// The graph's own name in the file.
    const char *name;
    /// The file, as it was passed; "(memory)" for a model from memory.
    const char *path;
    /// The program that wrote the file, with its version; empty if the file does not say.
    const char *producer;
    /// XXH3 (64 bit) of the file's bytes.
    uint64_t xxh3;
    /// The engine's name.
    const char *engine;
    /// The engine's version.
    const char *engine_version;
    /// An `opscope_fidelity_t`.
    uint32_t fidelity;
    /// Threads within one operator.
    uint32_t threads;
    /// The number of operators.
    size_t operators;
    /// The number of inputs of a run.
    size_t inputs;
    /// The number of outputs of a run.
    size_t outputs;
} opscope_session_info_t;

/// An input or output of a model, as the file declares it. It is valid until the session is freed.
typedef struct opscope_value_t {
    /// `sizeof(opscope_value_t)`.
    size_t size;
    /// Its name.
    const char *name;
    /// The sizes of its dimensions; -1 for a dimension that the file leaves open. NULL if `rank` is 0 or -1.
    const int64_t *dims;
    /// For each dimension the name that the file gives it; NULL for a fixed size or an open one without a name.
    const char *const *dim_names;
    /// The number of its dimensions; -1 if the file does not give a shape.
    int32_t rank;
    /// The type of its elements, an `opscope_dtype_t`; 0 if the file does not give it.
    uint32_t dtype;
} opscope_value_t;

/// An operator of a model. It is valid until the session is freed.
typedef struct opscope_operator_t {
    /// `sizeof(opscope_operator_t)`.
    size_t size;
    /// Its name in the file, made unique; `OpType_index` where the file has none.
    const char *name;
    /// Its type, such as "Conv".
    const char *op_type;
    /// The domain of its operator set; empty for ONNX's own.
    const char *domain;
    /// The names of its inputs by slot; NULL for an input that is left out.
    const char *const *inputs;
    /// The names of its outputs by slot; NULL for an output that is left out.
    const char *const *outputs;
    /// The number of inputs.
    uint32_t input_count;
    /// The number of outputs.
    uint32_t output_count;
    /// Its id: its position in the order of execution, from 0.
    uint32_t id;
    /// 0.
    uint32_t reserved;
} opscope_operator_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/// Returns the version of the library, in the form of `OPSCOPE_VERSION`.
uint32_t opscope_version(void);

/// Returns the version of the library as a static text, such as "0.1.0".
const char *opscope_version_text(void);

/// Returns the meaning of a status in a few words; of a number that is no status, "unknown status". The text is static.
const char *opscope_status_text(int32_t status);

/// Returns what was wrong with the last call of this thread that failed, and what would be right; an empty text before the
/// first failure. The text is valid until the next call of this thread that fails.
const char *opscope_error_text(void);

/// Returns the name of a type, such as "float32"; NULL for a number that is no type. The text is static.
const char *opscope_dtype_name(uint32_t dtype);

/// Returns the number of tensors in a list; 0 for an invalid handle.
size_t opscope_tensors_count(struct opscope_tensors_t tensors);

/// Writes one tensor of a list to `tensor`, whose `size` must be set. It is valid until the list is freed.
enum opscope_status_t opscope_tensors_get(struct opscope_tensors_t tensors,
                                          size_t index,
                                          struct opscope_tensor_t *tensor);

/// Frees a list of tensors, and the tensors in it.
enum opscope_status_t opscope_tensors_free(struct opscope_tensors_t tensors);

/// Reads an `.onnx` file and loads it into the embedded engine.
enum opscope_status_t opscope_session_load(const char *path,
                                           const struct opscope_session_options_t *options,
                                           struct opscope_session_t *session);

/// Loads a model from memory, which is copied. Data outside of the model is not found, since there is no file beside which it
/// could lie.
enum opscope_status_t opscope_session_load_memory(const void *bytes,
                                                  size_t length,
                                                  const struct opscope_session_options_t *options,
                                                  struct opscope_session_t *session);

/// Frees a session. What is running continues, and the memory is released after it.
enum opscope_status_t opscope_session_free(struct opscope_session_t session);

/// Writes what is known about a model and its engine to `info`, whose `size` must be set.
enum opscope_status_t opscope_session_info(struct opscope_session_t session, struct opscope_session_info_t *info);

/// Writes what the file declares about an input to `value`, whose `size` must be set.
enum opscope_status_t opscope_session_input(struct opscope_session_t session,
                                            size_t index,
                                            struct opscope_value_t *value);

/// Writes what the file declares about an output to `value`, whose `size` must be set.
enum opscope_status_t opscope_session_output(struct opscope_session_t session,
                                             size_t index,
                                             struct opscope_value_t *value);

/// Writes an operator of the model to `value`, whose `size` must be set. Operators come in the order of execution.
enum opscope_status_t opscope_session_operator(struct opscope_session_t session,
                                               size_t index,
                                               struct opscope_operator_t *value);

/// Runs the model once, on the calling thread. `inputs` are in the order of the model's inputs. Where `outputs` is not NULL,
/// the outputs are copied into a new list, which the caller frees.
enum opscope_status_t opscope_session_run(struct opscope_session_t session,
                                          const struct opscope_tensor_t *inputs,
                                          size_t input_count,
                                          struct opscope_tensors_t *outputs);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* OPSCOPE_H */
