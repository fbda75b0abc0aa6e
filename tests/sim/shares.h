/* shares.h: what members have: sets of units. A unit is a name (a subtopology, or a topic by its number) and a partition; a set is in order, each once. */
#ifndef MUSTER_SIM_SHARES_H
#define MUSTER_SIM_SHARES_H

#include <muster/base.h>

enum { ROLES = 3, UNIT_PARTITIONS = 1 << 12, SET_TEXT_MAX = 160 };
enum { ACTIVE, STANDBY, WARMUP }; /* consumers have the first only */

struct unit_set {
    uint32_t *v;
    int32_t len, cap;
};
struct share {
    struct unit_set role[ROLES];
};

static inline uint32_t unit_of(uint32_t name, int32_t partition)
{
    MUSTER_CHECK(partition >= 0 && partition < UNIT_PARTITIONS);
    return name * UNIT_PARTITIONS + (uint32_t)partition;
}
static inline uint32_t unit_name(uint32_t unit)
{
    return unit / UNIT_PARTITIONS;
}
static inline int32_t unit_partition(uint32_t unit)
{
    return (int32_t)(unit % UNIT_PARTITIONS);
}

void set_free(struct unit_set *s);
void set_clear(struct unit_set *s);
void set_add(struct unit_set *s, uint32_t unit);
bool set_has(const struct unit_set *s, uint32_t unit);
bool set_equal(const struct unit_set *a, const struct unit_set *b);
bool set_meets(const struct unit_set *a, const struct unit_set *b);
void set_copy(struct unit_set *to, const struct unit_set *from);
void set_join(struct unit_set *s, const struct unit_set *with);
void set_drop(struct unit_set *s, const struct unit_set *what);
void set_keep(struct unit_set *s, const struct unit_set *what);          /* what is in both */
const char *set_text(const struct unit_set *s, char text[SET_TEXT_MAX]); /* "0:1 0:2 1:0", the end left out when it is long */

void share_free(struct share *s);
void share_clear(struct share *s);
void share_copy(struct share *to, const struct share *from);
void share_join(struct share *s, const struct share *with);
bool share_equal(const struct share *a, const struct share *b);
bool share_within(const struct share *inner, const struct share *outer);
int32_t share_count(const struct share *s);

#endif
