/* The parts that the programs of the tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a condition does not hold. */
#define CHECK(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);    \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* Sets a pointer to a function to what dlsym returned, which C itself cannot convert. */
#define FUNCTION(function, symbol)                                                           \
    do {                                                                                     \
        void *symbol_ = (symbol);                                                            \
        memcpy(&(function), &symbol_, sizeof symbol_);                                       \
    } while (0)

#endif
