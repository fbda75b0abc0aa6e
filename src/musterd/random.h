/* random.h: ids that nobody can guess, from the kernel, some hundred at a time. */
#ifndef MUSTERD_RANDOM_H
#define MUSTERD_RANDOM_H

#include <muster/base.h>

struct random_pool {
    uint8_t bytes[4096];
    size_t left;
};

void random_draw(struct random_pool *pool, struct uuid *ret);
uint64_t random_number(struct random_pool *pool);

#endif
