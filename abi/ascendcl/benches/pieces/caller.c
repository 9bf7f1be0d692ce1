/* A program that loads a model, runs it, and counts what its dump callback receives, for the benchmark `pieces`. */
#include <acl/acl.h>
#include <acl/opscope.h>

static uint32_t model;
static aclmdlDataset *inputs, *outputs;
static uint64_t pieces, bytes;

static int32_t count(const acldumpChunk *chunk, int32_t length)
{
    (void)length;
    pieces++;
    bytes += chunk->bufLen;
    return 0;
}

static aclmdlDataset *dataset(const aclmdlDesc *desc, size_t count, size_t (*size_of)(aclmdlDesc *, size_t))
{
    aclmdlDataset *made = aclmdlCreateDataset();
    size_t i;
    for (i = 0; i < count; i++) {
        size_t size = size_of((aclmdlDesc *)desc, i);
        void *memory = NULL;
        if (aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0 || aclrtMemset(memory, size, 0, size) != 0 ||
            aclmdlAddDatasetBuffer(made, aclCreateDataBuffer(memory, size)) != 0)
            return NULL;
    }
    return made;
}

int caller_begin(const char *path)
{
    aclmdlDesc *desc;
    if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclmdlInitDump() != 0 || acldumpRegCallback(count, 0) != 0)
        return 1;
    desc = aclmdlCreateDesc();
    if (aclmdlLoadFromFile(path, &model) != 0 || aclmdlGetDesc(desc, model) != 0)
        return 2;
    inputs = dataset(desc, aclmdlGetNumInputs(desc), aclmdlGetInputSizeByIndex);
    outputs = dataset(desc, aclmdlGetNumOutputs(desc), aclmdlGetOutputSizeByIndex);
    return inputs == NULL || outputs == NULL ? 3 : 0;
}

/* Runs the model, and returns when the callback has everything. */
int caller_run(void)
{
    opscope_acldump_report report;
    report.size = sizeof report;
    if (aclmdlExecute(model, inputs, outputs) != 0)
        return 1;
    return opscope_acldump_get_report(&report) != 0 || report.lost_chunks != 0;
}

uint64_t caller_pieces(void) { return pieces; }
uint64_t caller_bytes(void) { return bytes; }
