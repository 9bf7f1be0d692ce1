/* A program with an operator of its own, test::Double: custom LIBRARY MODEL. The model computes y of x, both of 3 numbers. */
#include "check.h"

typedef struct Op Op;

/* An operator as the library knows it, of interface 16: later ones have further functions. */
struct Op {
    uint32_t version;
    void *(*create)(const Op *, const OrtApi *, const void *);
    const char *(*name)(const Op *);
    const char *(*provider)(const Op *);
    int (*input_type)(const Op *, size_t);
    size_t (*input_count)(const Op *);
    int (*output_type)(const Op *, size_t);
    size_t (*output_count)(const Op *);
    void (*compute)(void *, void *);
    void (*destroy)(void *);
    int (*input_characteristic)(const Op *, size_t);
    int (*output_characteristic)(const Op *, size_t);
    int (*memory)(const Op *, size_t);
    int (*least_inputs)(const Op *);
    int (*inputs_are_alike)(const Op *);
    int (*least_outputs)(const Op *);
    int (*outputs_are_alike)(const Op *);
    OrtStatus *(*create_v2)(const Op *, const OrtApi *, const void *, void **);
    OrtStatus *(*compute_v2)(void *, void *);
};

static int made, computed;

static void *create(const Op *op, const OrtApi *given, const void *info)
{
    (void)op, (void)given, (void)info;
    made++;
    return &made;
}
static const char *name(const Op *op) { return (void)op, "Double"; }
static const char *provider(const Op *op) { return (void)op, (const char *)NULL; }
static int type(const Op *op, size_t index) { return (void)op, (void)index, 1; }
static int required(const Op *op, size_t index) { return (void)op, (void)index, 0; }
static int single(const Op *op) { return (void)op, 1; }
static size_t one(const Op *op) { return (void)op, (size_t)1; }
static void destroy(void *kernel) { (void)kernel; }

static void compute(void *kernel, void *context)
{
    (void)kernel;
    const OrtValue *input = NULL;
    OrtValue *output = NULL;
    const int64_t shape[1] = {3};
    float *from = NULL, *to = NULL;
    must(ORT(api, KernelContext_GetInput, OrtStatus *, (const void *, size_t, const OrtValue **))(context, 0, &input));
    must(ORT(api, KernelContext_GetOutput, OrtStatus *, (void *, size_t, const int64_t *, size_t, OrtValue **))(context, 0, shape, 1,
                                                                                                               &output));
    must(ORT(api, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))((OrtValue *)input, (void **)&from));
    must(ORT(api, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))(output, (void **)&to));
    for (int at = 0; at < 3; at++)
        to[at] = 2 * from[at];
    computed++;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    Opened opened_here = opened(argv[1], 0);
    OrtDomain *domain = NULL;
    const Op op = {16,       create,   name,     provider, type,   one,    type,   one,    compute, destroy,
                   required, required, required, single,   single, single, single, NULL, NULL};
    must(ORT(api, CreateCustomOpDomain, OrtStatus *, (const char *, OrtDomain **))("test", &domain));
    must(ORT(api, CustomOpDomain_Add, OrtStatus *, (OrtDomain *, const Op *))(domain, &op));
    must(ORT(api, AddCustomOpDomain, OrtStatus *, (OrtSessionOptions *, OrtDomain *))(opened_here.options, domain));
    must(load(&opened_here, argv[2]));
    float data[3] = {1, -2, 3};
    const int64_t shape[1] = {3};
    const char *input_name = "x", *output_name = "y";
    OrtValue *input = tensor(data, 3, shape, 1), *output = NULL;
    const OrtValue *inputs[1] = {input};
    must(run(opened_here.session, &input_name, inputs, 1, &output_name, 1, &output));
    float *read = NULL;
    must(ORT(api, GetTensorMutableData, OrtStatus *, (OrtValue *, void **))(output, (void **)&read));
    printf("%g %g %g\n", read[0], read[1], read[2]);
    release(output);
    release(input);
    closed(&opened_here);
    ORT(api, ReleaseCustomOpDomain, void, (OrtDomain *))(domain);
    return made == 0 || computed == 0;
}
