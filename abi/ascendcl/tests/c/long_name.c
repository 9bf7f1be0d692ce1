/* Prints the name of each dump file, at most 60 characters from its end, and how long it is. The argument is a model of a vector x of four
   elements, which gives y, as long. */
#include "models.h"

static int32_t take(const acldumpChunk *chunk, int32_t length)
{
    size_t size = strlen(chunk->fileName);
    CHECK(length == (int32_t)(sizeof(acldumpChunk) + chunk->bufLen) && chunk->isLastChunk);
    const char *file = strrchr(chunk->fileName, '/') + 1;
    printf("%s %d\n", strlen(file) > 60 ? "long" : strchr(file, '.') != NULL ? "named" : file, size < 4096);
    return 0;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    aclrtContext context = begin();
    uint32_t model = 0;
    float x[4] = {-1, 2, -3, 4}, y[4];
    OK(aclmdlInitDump());
    OK(acldumpRegCallback(take, 0));
    OK(aclmdlLoadFromFile(arguments[1], &model));
    aclmdlDataset *input = dataset_of(x, sizeof x), *output = dataset_of(y, sizeof y);
    OK(aclmdlExecute(model, input, output));
    OK(aclmdlFinalizeDump());
    acldumpUnregCallback();
    destroy(input);
    destroy(output);
    OK(aclmdlUnload(model));
    end(context);
    return 0;
}
