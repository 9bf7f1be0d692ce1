/* The parts that the programs of the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include "opscope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a condition does not hold. */
#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__, #condition, \
                    opscope_error_text());                                                          \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

/* Ends the program if a call does not return OPSCOPE_OK. */
#define OK(call) IS(call, OPSCOPE_OK)

/* Ends the program if a call does not return this status. */
#define IS(call, expected)                                                                          \
    do {                                                                                            \
        opscope_status_t status_ = (call);                                                          \
        if (status_ != (expected)) {                                                                \
            fprintf(stderr, "%s:%d: %s returned %s: %s\n", __FILE__, __LINE__, #call,               \
                    opscope_status_text(status_), opscope_error_text());                            \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

/* Ends the program if the text of the last error lacks a part. */
#define SAYS(part)                                                                                  \
    do {                                                                                            \
        if (strstr(opscope_error_text(), (part)) == NULL) {                                         \
            fprintf(stderr, "%s:%d: \"%s\" does not say \"%s\"\n", __FILE__, __LINE__,              \
                    opscope_error_text(), (part));                                                  \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

/* Returns a model's only input, zeroed or read from an npy file of float32. */
static inline float *image(const char *npy)
{
    float *pixels = (float *)calloc(64, sizeof(float));
    CHECK(pixels != NULL);
    if (npy != NULL) {
        FILE *file = fopen(npy, "rb");
        CHECK(file != NULL);
        CHECK(fseek(file, -64L * (long)sizeof(float), SEEK_END) == 0);
        CHECK(fread(pixels, sizeof(float), 64, file) == 64);
        fclose(file);
    }
    return pixels;
}

/* Returns these pixels as the model's input. */
static inline opscope_tensor_t input_of(const float *pixels)
{
    static const size_t dims[4] = {1, 1, 8, 8};
    opscope_tensor_t input;
    memset(&input, 0, sizeof input);
    input.size = sizeof input;
    input.dtype = OPSCOPE_FLOAT32;
    input.dims = dims;
    input.rank = 4;
    input.data = pixels;
    input.bytes = 64 * sizeof(float);
    return input;
}

#endif
