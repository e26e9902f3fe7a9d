// What the runtime's tests share: one macro, and contexts small enough to see through.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewise.h"

static int failures;

#define EXPECT(condition)                                                            \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            ++failures;                                                              \
        }                                                                            \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { FAULTS = 8 };

// A context with room for faults and nothing else. Zeroed memory of exactly its size, so that the sanitizer sees a step past its end.
static inline struct tw_context* make_context(void) {
    struct tw_context* context = aligned_alloc(64, sizeof *context);
    memset(context, 0, sizeof *context);
    context->faults = calloc(FAULTS, sizeof *context->faults);
    context->fault_capacity = FAULTS;
    context->sms = 1;
    context->nctaid[0] = context->nctaid[1] = context->nctaid[2] = 1;
    return context;
}

static inline void free_context(struct tw_context* context) {
    free(context->faults);
    free(context);
}

// A number that a seed gives, the next one with each call.
static inline uint64_t next_random(uint64_t* seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}
