/* Tools that a program forces: as the argument says, "early", "late", or from "threads" at once. */
#include "sdk.h"

static int configured, initialized_, finalized_;
static rocprofiler_client_finalize_t finalize_client;
static rocprofiler_client_id_t *client;

static rocprofiler_tool_configure_result_t *configure(uint32_t version, const char *text, uint32_t priority,
                                                      rocprofiler_client_id_t *id);

static int initialize(rocprofiler_client_finalize_t function, void *data)
{
    (void)data;
    initialized_++;
    finalize_client = function;
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(configure));
    return 0;
}

static void finalize(void *data)
{
    (void)data;
    finalized_++;
}

static rocprofiler_tool_configure_result_t *configure(uint32_t version, const char *text, uint32_t priority,
                                                      rocprofiler_client_id_t *id)
{
    static rocprofiler_tool_configure_result_t result;
    CHECK(version == 10000 && strcmp(text, "1.0.0") == 0 && priority == 0);
    configured++;
    client = id;
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(configure));
    result.size = sizeof result;
    result.initialize = initialize;
    result.finalize = finalize;
    return &result;
}

enum { THREADS = 16 };

static pthread_barrier_t line;
static int successes;

static void *force(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&line);
    rocprofiler_status_t status = rocprofiler_force_configure(configure);
    if (status == ROCPROFILER_STATUS_SUCCESS) {
        CHECK(initialized_ == 1 && initialized() == 1);
        __atomic_fetch_add(&successes, 1, __ATOMIC_RELAXED);
    } else {
        CHECK(status == ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED);
    }
    return NULL;
}

/* One of them succeeds, and only its tool is configured. */
static void check_threads(void)
{
    pthread_t threads[THREADS];
    CHECK(pthread_barrier_init(&line, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, force, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(successes == 1 && configured == 1 && initialized_ == 1 && initialized() == 1);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    CHECK(initialized() == 0);
    if (strcmp(arguments[1], "threads") == 0) {
        check_threads();
        return 0;
    }
    if (strcmp(arguments[1], "late") == 0) {
        void *nothing[3] = {NULL, NULL, NULL};
        CHECK(rocprofiler_set_api_table("roctx", 10000, 0, nothing, 3) == ROCPROFILER_STATUS_ERROR_INVALID_ARGUMENT);
        OK(rocprofiler_force_configure(NULL));
        CHECK(initialized() == 1);
        ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(configure));
        CHECK(configured == 0);
        return 0;
    }
    OK(rocprofiler_force_configure(configure));
    CHECK(configured == 1 && initialized_ == 1 && initialized() == 1 && finalized() == 0);
    CHECK(strcmp(getenv("ROCPROFILER_REGISTER_FORCE_LOAD"), "1") == 0);
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(configure));
    ANSWERS(ERROR_CONFIGURATION_LOCKED, rocprofiler_force_configure(NULL));
    CHECK(configured == 1);
    /* The id of another tool finalizes nothing. The tool's own id finalizes it once. */
    const rocprofiler_client_id_t unknown = {sizeof unknown, "unknown", 1};
    finalize_client(unknown);
    CHECK(finalized_ == 0 && finalized() == 0);
    finalize_client(*client);
    CHECK(finalized_ == 1 && finalized() == 1);
    finalize_client(*client);
    CHECK(finalized_ == 1);
    return 0;
}
