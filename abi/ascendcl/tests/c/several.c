/* Several models, and several threads for one model and for many.
 * several MODEL IMAGES LABELS */
#include "models.h"

enum { DIGITS = 360, THREADS = 4, MODELS = 3 };

static float *images;
static int64_t *labels;
static uint32_t models[MODELS];
static aclrtContext context;

/* What a thread classifies, with which model. */
struct share {
    uint32_t model;
    int first, right;
};

static void *classify(void *data)
{
    struct share *share = (struct share *)data;
    float scores[10];
    aclmdlDataset *input = dataset_of(images, DIGIT), *output = dataset_of(scores, sizeof scores);
    /* A thread has no context of its own. */
    IS(aclmdlExecute(share->model, input, output), ACL_ERROR_RT_CONTEXT_NULL);
    OK(aclrtSetCurrentContext(context));
    for (int digit = share->first; digit < DIGITS; digit += THREADS) {
        OK(aclUpdateDataBuffer(aclmdlGetDatasetBuffer(input, 0), images + digit * 64, DIGIT));
        OK(aclmdlExecute(share->model, input, output));
        share->right += largest(scores, 10) == labels[digit];
    }
    destroy(input);
    destroy(output);
    return NULL;
}

/* Classifies everything in several threads. */
static int all(uint32_t (*model_of)(int))
{
    pthread_t threads[THREADS];
    struct share shares[THREADS];
    int right = 0;
    for (int i = 0; i < THREADS; i++) {
        shares[i].model = model_of(i);
        shares[i].first = i;
        shares[i].right = 0;
        CHECK(pthread_create(&threads[i], NULL, classify, &shares[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        right += shares[i].right;
    }
    return right;
}

static uint32_t first(int thread)
{
    (void)thread;
    return models[0];
}

static uint32_t own(int thread)
{
    return models[thread % MODELS];
}

static void *load_and_unload(void *path)
{
    OK(aclrtSetCurrentContext(context));
    for (int i = 0; i < 4; i++) {
        uint32_t model = 0;
        float scores[10];
        OK(aclmdlLoadFromFile((const char *)path, &model));
        aclmdlDataset *input = dataset_of(images, DIGIT), *output = dataset_of(scores, sizeof scores);
        OK(aclmdlExecute(model, input, output));
        OK(aclmdlUnload(model));
        IS(aclmdlExecute(model, input, output), ACL_ERROR_GE_EXEC_MODEL_ID_INVALID);
        destroy(input);
        destroy(output);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    images = (float *)elements(argv[2], DIGITS * DIGIT);
    labels = (int64_t *)elements(argv[3], DIGITS * sizeof(int64_t));
    context = begin();
    /* From a file, from memory that is gone afterwards, and by a configuration. */
    size_t size;
    char *bytes = content(argv[1], &size);
    OK(aclmdlLoadFromFile(argv[1], &models[0]));
    OK(aclmdlLoadFromMem(bytes, size, &models[1]));
    memset(bytes, 0, size);
    free(bytes);
    aclmdlConfigHandle *config = aclmdlCreateConfigHandle();
    size_t type = ACL_MDL_LOAD_FROM_FILE;
    OK(aclmdlSetConfigOpt(config, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
    OK(aclmdlSetConfigOpt(config, ACL_MDL_PATH_PTR, &argv[1], sizeof argv[1]));
    OK(aclmdlLoadWithConfig(config, &models[2]));
    OK(aclmdlDestroyConfigHandle(config));
    CHECK(models[0] == 1 && models[1] == 2 && models[2] == 3);

    CHECK(all(first) == 355);
    CHECK(all(own) == 355);

    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, load_and_unload, argv[1]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    for (int i = 0; i < MODELS; i++)
        OK(aclmdlUnload(models[i]));
    end(context);
    free(images);
    free(labels);
    return 0;
}
