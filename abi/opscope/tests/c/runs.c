/* Records of a real model's runs: every dispatch with its operator's name, runs, copies, allocations, calls.
 * Arguments: the model, its input. */
#include "check.h"

struct seen {
    uint64_t dispatches, runs, copies, allocated, freed, calls[5], retired;
    char first[64][80];
    uint64_t run_correlation[2];
};

static void take(const opscope_batch_t *batch, void *user)
{
    struct seen *seen = (struct seen *)user;
    opscope_record_t record;
    record.size = sizeof record;
    while (opscope_batch_next(batch, &record) == OPSCOPE_OK) {
        switch (record.kind) {
        case OPSCOPE_OPERATOR_DISPATCH: {
            const opscope_dispatch_record_t *dispatch = (const opscope_dispatch_record_t *)record.payload;
            CHECK(record.length == sizeof *dispatch && dispatch->start <= dispatch->end);
            opscope_kernel_t kernel;
            kernel.size = sizeof kernel;
            OK(opscope_kernel(dispatch->plan, dispatch->kernel, &kernel));
            if (seen->dispatches < 64)
                snprintf(seen->first[seen->dispatches], 80, "%s (%s)", kernel.operator_name, kernel.operator_type);
            seen->dispatches++;
            break;
        }
        case OPSCOPE_RUN: {
            const opscope_run_record_t *run = (const opscope_run_record_t *)record.payload;
            CHECK(run->upload_end <= run->start && run->end <= run->download_start && run->failed == 0);
            CHECK(run->run == seen->runs && run->correlation.internal != 0);
            seen->run_correlation[seen->runs++ % 2] = run->correlation.internal;
            break;
        }
        case OPSCOPE_TENSOR_COPY: {
            const opscope_copy_record_t *copy = (const opscope_copy_record_t *)record.payload;
            CHECK(copy->bytes == (copy->operation == 1 ? 256 : 40) && copy->tensors == 1);
            seen->copies++;
            break;
        }
        case OPSCOPE_TENSOR_ALLOCATION: {
            const opscope_allocation_record_t *memory = (const opscope_allocation_record_t *)record.payload;
            *(memory->operation == 0 ? &seen->allocated : &seen->freed) += memory->bytes;
            break;
        }
        case OPSCOPE_ENGINE_CALL:
            seen->calls[((const opscope_engine_call_record_t *)record.payload)->operation]++;
            break;
        case OPSCOPE_CORRELATION_RETIREMENT:
            seen->retired++;
            break;
        default:
            CHECK(!"another kind");
        }
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    static struct seen seen;
    opscope_buffer_t buffer;
    OK(opscope_buffer_create(NULL, take, &seen, &buffer));
    opscope_context_t context;
    OK(opscope_context_create(&context));
    const uint16_t kinds[6] = {OPSCOPE_OPERATOR_DISPATCH, OPSCOPE_RUN,         OPSCOPE_TENSOR_COPY,
                               OPSCOPE_TENSOR_ALLOCATION, OPSCOPE_ENGINE_CALL, OPSCOPE_CORRELATION_RETIREMENT};
    for (int i = 0; i < 6; i++)
        OK(opscope_context_configure(context, kinds[i], NULL, 0, buffer));
    OK(opscope_context_start(context));

    opscope_session_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.fidelity = OPSCOPE_EXACT;
    opscope_session_t session;
    OK(opscope_session_load(argv[1], &options, &session));
    float *pixels = image(argv[2]);
    const opscope_tensor_t input = input_of(pixels);
    for (int i = 0; i < 2; i++)
        OK(opscope_session_run(session, &input, 1, NULL, NULL));
    OK(opscope_context_stop(context));
    OK(opscope_session_run(session, &input, 1, NULL, NULL));
    OK(opscope_buffer_flush(buffer));

    for (uint64_t i = 0; i < seen.dispatches / 2; i++) {
        printf("%s\n", seen.first[i]);
        CHECK(strcmp(seen.first[i], seen.first[i + seen.dispatches / 2]) == 0);
    }
    printf("%llu dispatches, %llu runs, %llu copies, %llu retired\n", (unsigned long long)seen.dispatches,
           (unsigned long long)seen.runs, (unsigned long long)seen.copies, (unsigned long long)seen.retired);
    CHECK(seen.allocated == seen.freed && seen.allocated > 0);
    CHECK(seen.run_correlation[0] != seen.run_correlation[1]);
    CHECK(seen.calls[0] == 1 && seen.calls[1] == 1 && seen.calls[2] == 2 && seen.calls[3] == 2 && seen.calls[4] == 2);
    opscope_kernel_t none;
    none.size = sizeof none;
    IS(opscope_kernel(1u << 30, 0, &none), OPSCOPE_ERROR_NOT_FOUND);
    OK(opscope_context_destroy(context));
    OK(opscope_buffer_destroy(buffer));
    OK(opscope_session_free(session));
    free(pixels);
    return 0;
}
