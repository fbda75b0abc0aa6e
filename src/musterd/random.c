/* random.c: ids that nobody can guess, from the kernel, some hundred at a time: the system call costs more than a heartbeat may. */
#include "random.h"

#include <string.h>
#include <sys/random.h>

static void refill(struct random_pool *pool)
{
    size_t filled = 0;
    while (filled < sizeof(pool->bytes)) {
        ssize_t got = getrandom(pool->bytes + filled, sizeof(pool->bytes) - filled, 0);
        MUSTER_CHECK(got > 0);
        filled += (size_t)got;
    }
    pool->left = sizeof(pool->bytes);
}

void random_draw(struct random_pool *pool, struct uuid *ret)
{
    if (pool->left < sizeof(ret->b)) {
        refill(pool);
    }
    pool->left -= sizeof(ret->b);
    memcpy(ret->b, pool->bytes + pool->left, sizeof(ret->b));
    memset(pool->bytes + pool->left, 0, sizeof(ret->b));
}

uint64_t random_number(struct random_pool *pool)
{
    struct uuid id;
    random_draw(pool, &id);
    return get_be64(id.b);
}
