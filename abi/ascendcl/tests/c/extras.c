/* Runs a model on numbers of which some may not be finite, and prints what its dump callback and its subscribers
 * receive.
 *
 * arguments: the file for aclInit, how the dump is set up ("init" or "set"), the model, the numbers of its input x */
#include "models.h"

#include "acl/opscope.h"

static void print_name(const char *who, const acldumpChunk *chunk)
{
    const char *name = strrchr(chunk->fileName, '/');
    /* Without the time. */
    int points = 0, i;
    printf("%s ", who);
    for (i = 1; name[i] != 0; i++) {
        points += name[i] == '.';
        if (points != 4 || name[i] == '.')
            putchar(name[i]);
        if (points == 4 && name[i] != '.')
            while (name[i + 1] >= '0' && name[i + 1] <= '9')
                i++;
    }
    printf(" %s\n", chunk->isLastChunk ? "last" : "more");
}

static int is_text(const acldumpChunk *chunk)
{
    return strstr(chunk->fileName, ".csv") != NULL;
}

/* The word of an overflow at this place. */
static int word(const acldumpChunk *chunk, uint64_t header, size_t at)
{
    uint64_t value;
    memcpy(&value, chunk->dataBuf + 8 + header + at, 8);
    return (int)value;
}

static int32_t called(const acldumpChunk *chunk, int32_t length)
{
    CHECK(length == (int32_t)(4120 + chunk->bufLen));
    print_name("callback", chunk);
    if (is_text(chunk))
        printf("%.*s", (int)chunk->bufLen, (const char *)chunk->dataBuf);
    else if (strstr(chunk->fileName, "Opdebug") != NULL) {
        uint64_t header;
        memcpy(&header, chunk->dataBuf, 8);
        printf("%d bytes of overflow, model %d, stream %d, task %d, status %d\n", (int)(chunk->bufLen - 8 - header),
               word(chunk, header, 256), word(chunk, header, 264), word(chunk, header, 272), word(chunk, header, 1040));
    }
    return 0;
}

static int32_t subscribed(void *user, const acldumpChunk *chunk, int32_t length)
{
    const char **answers = (const char **)user;
    CHECK(length == (int32_t)(4120 + chunk->bufLen));
    print_name("subscriber", chunk);
    return *(*answers)++ - '0';
}

int main(int argc, char **argv)
{
    CHECK(argc >= 5);
    int is_set = strcmp(argv[2], "set") == 0;
    OK(aclInit(is_set ? NULL : argv[1]));
    OK(aclrtSetDevice(0));
    if (is_set) {
        OK(aclmdlInitDump());
        OK(aclmdlSetDump(argv[1]));
    }
    OK(acldumpRegCallback(called, 0));
    const char *answers = getenv("ANSWERS");
    uint64_t subscription = 0;
    if (answers != NULL) {
        opscope_acldump_set_piece_size(64);
        OK(opscope_acldump_subscribe(subscribed, &answers, &subscription));
        CHECK(subscription != 0);
    }

    uint32_t model;
    OK(aclmdlLoadFromFile(argv[3], &model));
    float numbers[16], scalar = 1, sum, out[16];
    int count = argc - 4;
    for (int i = 0; i < count; i++)
        numbers[i] = (float)atof(argv[4 + i]);
    aclmdlDataset *input = dataset_of(&scalar, sizeof(scalar));
    OK(aclmdlAddDatasetBuffer(input, aclCreateDataBuffer(numbers, (size_t)count * sizeof(float))));
    aclmdlDataset *output = dataset_of(&sum, sizeof(sum));
    OK(aclmdlAddDatasetBuffer(output, aclCreateDataBuffer(out, (size_t)count * sizeof(float))));
    OK(aclmdlExecute(model, input, output));
    destroy(input);
    destroy(output);

    opscope_acldump_report report;
    memset(&report, 0, sizeof(report));
    IS(opscope_acldump_get_report(NULL), ACL_ERROR_INVALID_PARAM);
    IS(opscope_acldump_get_report(&report), ACL_ERROR_INVALID_PARAM);
    report.size = sizeof(report);
    OK(opscope_acldump_get_report(&report));
    printf("files %d, incomplete %d, chunks %d, lost %d\n", (int)report.files, (int)report.incomplete_files,
           (int)report.chunks, (int)report.lost_chunks);
    if (answers != NULL) {
        int has_ended = strchr(getenv("ANSWERS"), '9') != NULL;
        IS(opscope_acldump_unsubscribe(subscription), has_ended ? ACL_ERROR_INVALID_PARAM : 0);
        IS(opscope_acldump_unsubscribe(subscription), ACL_ERROR_INVALID_PARAM);
        IS(opscope_acldump_subscribe(NULL, NULL, &subscription), ACL_ERROR_INVALID_PARAM);
        IS(opscope_acldump_subscribe(subscribed, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    }
    acldumpUnregCallback();
    OK(aclmdlUnload(model));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    return 0;
}
