/* random_value.h: a random C struct of any message, made from its table. Same seed, same value. */
#ifndef MUSTER_TEST_RANDOM_VALUE_H
#define MUSTER_TEST_RANDOM_VALUE_H

#include <muster/wire.h>

/* Fields that the version does not carry keep their defaults, so that a decoded copy equals the value. */
void *random_value(const struct wire_msg *msg, int16_t version, struct prng *random, struct arena *arena);

#endif
