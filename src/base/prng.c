/* prng.c: xoshiro256** (Blackman and Vigna), seeded through splitmix64 so that any seed, zero included, is a good one. */
#include <muster/base.h>

static uint64_t splitmix64(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t rotate_left(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

void prng_seed(struct prng *p, uint64_t seed)
{
    for (size_t i = 0; i < COUNT_OF(p->s); i++) {
        p->s[i] = splitmix64(&seed);
    }
}

uint64_t prng_next(struct prng *p)
{
    uint64_t *s = p->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t prng_below(struct prng *p, uint64_t bound)
{
    MUSTER_CHECK(bound > 0);
    uint64_t uneven = (UINT64_MAX - bound + 1) % bound; /* the values below this would favour the small results */
    uint64_t value = prng_next(p);
    while (value < uneven) {
        value = prng_next(p);
    }
    return value % bound;
}

bool prng_chance(struct prng *p, uint32_t per_million)
{
    return prng_below(p, 1000000) < per_million;
}
