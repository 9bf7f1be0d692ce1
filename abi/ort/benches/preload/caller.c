/* Runs a model, and prints the median time of a run and the one that 99 of 100 runs do not exceed, in nanoseconds: caller LIBRARY MODEL INPUT.npy RUNS */
#include <time.h>

#include "check.h"

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    Opened caller = opened(argv[1], 1);
    must(load(&caller, argv[2]));
    size_t count;
    float *data = numbers(argv[3], &count);
    const int64_t shape[4] = {8, 1, 8, 8};
    const char *input_name = "image", *output_name = "probabilities";
    OrtValue *input = tensor(data, count, shape, 4);
    const OrtValue *inputs[1] = {input};
    long runs = strtol(argv[4], NULL, 10);
    int64_t *times = (int64_t *)malloc(sizeof *times * (size_t)runs);
    for (long done = -runs / 10; done < runs; done++) {
        OrtValue *output = NULL;
        int64_t start = now();
        must(run(caller.session, &input_name, inputs, 1, &output_name, 1, &output));
        if (done >= 0)
            times[done] = now() - start;
        release(output);
    }
    qsort(times, (size_t)runs, sizeof *times, compare);
    printf("%lld %lld\n", (long long)times[runs / 2], (long long)times[runs * 99 / 100]);
    return 0;
}
