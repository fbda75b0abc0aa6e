/* hash.c: XXH3, compiled in from xxHash's header; its value does not depend on the machine. */
#include <muster/base.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}
