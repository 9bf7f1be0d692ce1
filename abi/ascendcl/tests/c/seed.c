/* The page of acldumpRegCallback, as a program: its sequences of calls, what the callback receives, and what
 * registering returns. seed CASE MODEL [MODEL]: without, with, two, pieces, registering. It runs in an empty
 * directory. */
#include "acl/opscope.h"
#include "models.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

enum { FILES = 256, LENGTH_OF_CHUNK = 4120, DATA = 4116 };

/* A file of the dump, put together from its chunks. */
typedef struct dumped
{
    char name[ACL_DUMP_MAX_FILE_PATH_LENGTH];
    char *bytes;
    size_t size;
    int chunks;
    int is_whole;
} dumped;

static dumped files[FILES];
static int count, chunks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t caller;

/* The callback that the user writes: it takes the data and its length out of each chunk. */
static int32_t take(const acldumpChunk *chunk, int32_t len)
{
    dumped *file = NULL;
    CHECK(!pthread_equal(pthread_self(), caller));
    CHECK(chunk->bufLen > 0);
    CHECK(len == LENGTH_OF_CHUNK + (int32_t)chunk->bufLen && sizeof(acldumpChunk) == LENGTH_OF_CHUNK);
    CHECK(memchr(chunk->fileName, 0, sizeof chunk->fileName) != NULL && chunk->fileName[0] != 0);
    CHECK(chunk->isLastChunk == 0 || chunk->isLastChunk == 1);
    CHECK(chunk->offset == -1);
    CHECK(chunk->flag == 0);
    CHECK((const char *)chunk->dataBuf == (const char *)chunk + DATA);

    pthread_mutex_lock(&lock);
    for (int i = 0; i < count && file == NULL; i++)
        if (strcmp(files[i].name, chunk->fileName) == 0)
            file = &files[i];
    if (file == NULL) {
        CHECK(count < FILES);
        file = &files[count++];
        strcpy(file->name, chunk->fileName);
    }
    /* An offset of -1 means the end of the existing data. */
    CHECK(!file->is_whole);
    file->bytes = (char *)realloc(file->bytes, file->size + chunk->bufLen);
    memcpy(file->bytes + file->size, chunk->dataBuf, chunk->bufLen);
    file->size += chunk->bufLen;
    file->is_whole = chunk->isLastChunk == 1;
    file->chunks++;
    chunks++;
    pthread_mutex_unlock(&lock);
    /* Its result stops nothing. */
    return chunks % 2;
}

/* Another callback, which receives nothing as long as the first one is registered. */
static int32_t refuse(const acldumpChunk *chunk, int32_t len)
{
    CHECK(chunk == NULL || len == 0);
    return 1;
}

static void forget(void)
{
    for (int i = 0; i < count; i++)
        free(files[i].bytes);
    memset(files, 0, sizeof files);
    count = chunks = 0;
}

/* A model in memory, with zeros for inputs. */
typedef struct model
{
    uint32_t id;
    aclmdlDesc *desc;
    aclmdlDataset *input, *output;
} model;

static void load(model *of, const char *path)
{
    OK(aclmdlLoadFromFile(path, &of->id));
    of->desc = aclmdlCreateDesc();
    OK(aclmdlGetDesc(of->desc, of->id));
    of->input = aclmdlCreateDataset();
    of->output = aclmdlCreateDataset();
    for (size_t i = 0; i < aclmdlGetNumInputs(of->desc); i++) {
        size_t size = aclmdlGetInputSizeByIndex(of->desc, i);
        void *memory = device(NULL, size);
        OK(aclrtMemset(memory, size, 0, size));
        OK(aclmdlAddDatasetBuffer(of->input, aclCreateDataBuffer(memory, size)));
    }
    for (size_t i = 0; i < aclmdlGetNumOutputs(of->desc); i++) {
        size_t size = aclmdlGetOutputSizeByIndex(of->desc, i);
        OK(aclmdlAddDatasetBuffer(of->output, aclCreateDataBuffer(device(NULL, size), size)));
    }
}

static void run(model *of)
{
    OK(aclmdlExecute(of->id, of->input, of->output));
}

static void unload(model *of)
{
    aclmdlDataset *both[2] = {of->input, of->output};
    for (int i = 0; i < 2; i++) {
        for (size_t at = 0; at < aclmdlGetDatasetNumBuffers(both[i]); at++)
            OK(aclrtFree(aclGetDataBufferAddr(aclmdlGetDatasetBuffer(both[i], at))));
        destroy(both[i]);
    }
    OK(aclmdlUnload(of->id));
    OK(aclmdlDestroyDesc(of->desc));
}

/* Returns the number of a model's files. All are whole, and one ends with what the model returned. */
static int files_of(const model *of, const char *name)
{
    char part[256];
    aclDataBuffer *buffer = aclmdlGetDatasetBuffer(of->output, 0);
    const char *output = (const char *)aclGetDataBufferAddr(buffer);
    size_t size = aclGetDataBufferSizeV2(buffer);
    int found = 0, with_output = 0;
    snprintf(part, sizeof part, "/0/%s/%u/0/", name, of->id);
    for (int i = 0; i < count; i++) {
        if (strstr(files[i].name, part) == NULL)
            continue;
        uint64_t header;
        found++;
        CHECK(files[i].is_whole);
        CHECK(files[i].size > sizeof header);
        memcpy(&header, files[i].bytes, sizeof header);
        CHECK(header > 0 && sizeof header + header <= files[i].size);
        with_output += files[i].size - sizeof header - header >= size
            && memcmp(files[i].bytes + files[i].size - size, output, size) == 0;
    }
    CHECK(with_output > 0);
    return found;
}

static const char *name_of(const char *path)
{
    static char names[2][256];
    static int next;
    char *name = names[next++ % 2];
    const char *slash = strrchr(path, '/');
    snprintf(name, 256, "%s", slash == NULL ? path : slash + 1);
    *strchr(name, '.') = 0;
    return name;
}

static void open_device(const char *config)
{
    OK(aclInit(config));
    OK(aclrtSetDevice(0));
}

static void close_device(void)
{
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
}

/* Returns whether the working directory has the directory of a dump, whose name is a time. */
static int has_dump(void)
{
    DIR *directory = opendir(".");
    int found = 0;
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        found |= entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    closedir(directory);
    return found;
}

/* One model, no dump configured in aclInit. */
static void without(const char *path)
{
    model one;
    open_device(NULL);
    OK(aclmdlInitDump());
    OK(acldumpRegCallback(take, 0));
    load(&one, path);
    run(&one);
    acldumpUnregCallback();
    int so_far = chunks;
    printf("%s: %d files\n", name_of(path), files_of(&one, name_of(path)));
    /* A callback that is no longer registered receives nothing, and there is no directory to write to. */
    run(&one);
    OK(aclmdlFinalizeDump());
    CHECK(chunks == so_far);
    unload(&one);
    close_device();
    CHECK(chunks == so_far);
    CHECK(!has_dump());
}

static void write_config(const char *dump)
{
    FILE *file = fopen("acl.json", "w");
    CHECK(file != NULL);
    fprintf(file, "{\"dump\": {%s}}", dump);
    CHECK(fclose(file) == 0);
}

/* One model, with a dump that is configured in aclInit. With a callback, nothing is written to disk. */
static void with(const char *path)
{
    model one;
    /* The configuration has to name a directory. */
    write_config("\"dump_list\": [{}]");
    IS(aclInit("acl.json"), ACL_ERROR_INVALID_DUMP_CONFIG);
    CHECK(mkdir("dump", 0700) == 0);
    write_config("\"dump_list\": [{}], \"dump_mode\": \"output\", \"dump_path\": \"./dump\"");

    open_device("acl.json");
    OK(acldumpRegCallback(take, 0));
    load(&one, path);
    run(&one);
    acldumpUnregCallback();
    printf("%s: %d files\n", name_of(path), files_of(&one, name_of(path)));
    CHECK(strncmp(files[0].name, "./dump/", 7) == 0 || strncmp(files[0].name, "dump/", 5) == 0);
    unload(&one);
    close_device();
    CHECK(rmdir("dump") == 0);

    /* Without a callback, the same is written to disk. */
    int so_far = chunks;
    CHECK(mkdir("dump", 0700) == 0);
    open_device("acl.json");
    load(&one, path);
    run(&one);
    unload(&one);
    close_device();
    CHECK(rmdir("dump") != 0 && errno == ENOTEMPTY);
    CHECK(chunks == so_far);

    /* The directory has to be there. */
    write_config("\"dump_list\": [{}], \"dump_path\": \"new/dump\"");
    IS(aclInit("acl.json"), ACL_ERROR_INVALID_DUMP_CONFIG);
    CHECK(access("new", F_OK) != 0);

    /* A dump of single operators is configured in the same way. Without a list, it also includes the operators of
     * every model. */
    CHECK(mkdir("operators", 0700) == 0);
    write_config("\"dump_op_switch\": \"on\", \"dump_path\": \"operators\"");
    open_device("acl.json");
    OK(acldumpRegCallback(take, 0));
    load(&one, path);
    run(&one);
    acldumpUnregCallback();
    unload(&one);
    close_device();
    CHECK(chunks > so_far && rmdir("operators") == 0);
}

/* Two models under one registration. */
static void two(const char *first, const char *second)
{
    model models[2];
    open_device(NULL);
    OK(aclmdlInitDump());
    OK(acldumpRegCallback(take, 0));
    load(&models[0], first);
    run(&models[0]);
    load(&models[1], second);
    run(&models[1]);
    acldumpUnregCallback();
    OK(aclmdlFinalizeDump());
    printf("%s: %d files\n", name_of(first), files_of(&models[0], name_of(first)));
    printf("%s: %d files\n", name_of(second), files_of(&models[1], name_of(second)));
    unload(&models[0]);
    unload(&models[1]);
    close_device();
}

/* Tensors come in pieces: the bytes are the same. */
static void pieces(const char *path)
{
    model one;
    size_t whole = 0, cut = 0;
    int most = 0;
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        open_device(NULL);
        OK(aclmdlInitDump());
        OK(acldumpRegCallback(take, 0));
        if (is_cut)
            opscope_acldump_set_piece_size(1000);
        load(&one, path);
        run(&one);
        acldumpUnregCallback();
        OK(aclmdlFinalizeDump());
        files_of(&one, name_of(path));
        for (int i = 0; i < count; i++) {
            *(is_cut ? &cut : &whole) += files[i].size;
            most = files[i].chunks > most ? files[i].chunks : most;
            CHECK(is_cut || files[i].chunks == 1);
        }
        unload(&one);
        close_device();
        forget();
    }
    CHECK(most > 2);
    /* The time is a part of the header, and may take a byte more. */
    CHECK(whole > 1000 && cut + FILES >= whole && whole + FILES >= cut);
}

/* What registering returns. */
static void registering(void)
{
    IS(acldumpRegCallback(NULL, 0), ACL_ERROR_FAILURE);
    IS(acldumpRegCallback(take, 1), ACL_ERROR_FAILURE);
    IS(acldumpRegCallback(take, -1), ACL_ERROR_FAILURE);
    CHECK(acldumpRegCallback(take, 0) == 0);
    acldumpUnregCallback();
    IS(aclmdlInitDump(), ACL_ERROR_UNINITIALIZE);
    IS(aclmdlFinalizeDump(), ACL_ERROR_UNINITIALIZE);
    OK(aclInit(NULL));
    IS(aclmdlFinalizeDump(), ACL_ERROR_DUMP_NOT_RUN);
    OK(aclmdlInitDump());
    IS(aclmdlInitDump(), ACL_ERROR_REPEAT_INITIALIZE);
    OK(aclmdlFinalizeDump());
    OK(aclFinalize());
    IS(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
}

/* A second registration changes nothing. */
static void again(const char *path)
{
    model one;
    open_device(NULL);
    OK(aclmdlInitDump());
    OK(acldumpRegCallback(take, 0));
    CHECK(acldumpRegCallback(refuse, 0) == 0);
    load(&one, path);
    run(&one);
    acldumpUnregCallback();
    OK(aclmdlFinalizeDump());
    CHECK(files_of(&one, name_of(path)) == count);
    unload(&one);
    close_device();
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    caller = pthread_self();
    if (strcmp(argv[1], "without") == 0)
        without(argv[2]);
    else if (strcmp(argv[1], "with") == 0)
        with(argv[2]);
    else if (strcmp(argv[1], "two") == 0 && argc == 4)
        two(argv[2], argv[3]);
    else if (strcmp(argv[1], "pieces") == 0)
        pieces(argv[2]);
    else if (strcmp(argv[1], "registering") == 0) {
        registering();
        again(argv[2]);
    } else
        CHECK(!"a case");
    printf("%s: as the page says, with %s\n", argv[1], aclrtGetSocName());
    forget();
    return 0;
}
