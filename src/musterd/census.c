#include "census.h"

#include <string.h>

static const char *const classic_states[] = {"PreparingRebalance", "CompletingRebalance", "Stable", "Empty"};
static const char *const consumer_states[] = {"Empty", "Assigning", "Reconciling", "Stable"};
static const char *const streams_states[] = {"Empty", "NotReady", "Assigning", "Reconciling", "Stable"};
const struct census_type census_types[CENSUS_TYPES] = {
    {"classic", classic_states, COUNT_OF(classic_states)},
    {"consumer", consumer_states, COUNT_OF(consumer_states)},
    {"streams", streams_states, COUNT_OF(streams_states)},
};

void census_init(struct census *c)
{
    memset(c, 0, sizeof(*c));
    buf_init(&c->after, 0);
}

void census_fini(struct census *c)
{
    buf_fini(&c->after);
}

void census_begin(struct census *c)
{
    c->running = true;
    c->shard = 0;
    c->within = false;
    memset(c->counting, 0, sizeof(c->counting));
}

static void count(struct census *c, const struct group_listing *group)
{
    for (size_t t = 0; t < CENSUS_TYPES; t++) {
        for (size_t s = 0; str_eq(group->type, str_of(census_types[t].type)) && s < census_types[t].state_count; s++) {
            c->counting[t][s] += str_eq(group->state, str_of(census_types[t].states[s]));
        }
    }
}

/* The next group of the shard; false: there is none. */
static bool walk(struct census *c, const struct group_set *set)
{
    struct group_listing group;
    struct str after = c->within ? (struct str){(const char *)c->after.ptr, (int32_t)c->after.len} : STR_NULL;
    struct str id = set != NULL ? group_set_next(set, after) : STR_NULL;
    if (str_is_null(id)) {
        return false;
    }
    if (group_listing(set, id, &group)) {
        count(c, &group);
    }
    buf_clear(&c->after);
    MUSTER_CHECK(buf_put(&c->after, id.ptr, (size_t)id.len) == 0);
    c->within = true;
    return true;
}

void census_step(struct census *c, const struct group_set *const *sets, uint32_t shard_count, int most)
{
    for (int i = 0; c->running && i < most; i++) {
        if (c->shard == shard_count) {
            memcpy(c->counted, c->counting, sizeof(c->counted));
            c->known = true;
            c->running = false;
        } else if (!walk(c, sets[c->shard])) {
            c->shard++;
            c->within = false;
        }
    }
}
