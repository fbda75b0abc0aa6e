/* names.h: finding equal keys within one request without comparing every pair: a request may carry 100,000 of them. */
#ifndef MUSTER_GROUP_NAMES_H
#define MUSTER_GROUP_NAMES_H

#include <muster/base.h>

struct name_slot {
    struct bytes key;
    int32_t number;
};
struct names {
    struct name_slot *slots;
    uint32_t mask;
};

/* Room for count keys; the table lies in the arena. */
void names_init(struct names *n, struct arena *arena, int32_t count);
/* The number the key was added with before, or -1 after adding it with this one. The key is borrowed. */
int32_t names_add(struct names *n, struct bytes key, int32_t number);
int32_t names_find(const struct names *n, struct bytes key); /* -1: not there */

/* For each name the place of its first occurrence, and at that place how often it occurs. */
struct repeats {
    int32_t *first, *times;
};
void names_repeats(const struct str *v, int32_t len, struct arena *arena, struct repeats *ret);

/* The places of the names in the order of the names; equal ones as they stand. */
int32_t *names_sort(const struct str *v, int32_t len, struct arena *arena);

/* Where Kafka goes by the order of a Java hash table, so do we. Bytes stand for characters. */
uint32_t java_hash(struct str s);
uint32_t java_buckets(int32_t count); /* of a table that has grown to so many keys; a power of two */
uint32_t java_bucket(uint32_t hash, uint32_t buckets);

#endif
