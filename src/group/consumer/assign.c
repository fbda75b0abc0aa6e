/* assign.c: the assignors by name, what both begin with, and what members get in the end. */
#include "assign_draft.h"

#include <string.h>

#include "../names.h"

static const char *const assignor_names[ASSIGNOR_COUNT] = {[ASSIGNOR_UNIFORM] = "uniform", [ASSIGNOR_RANGE] = "range"};

const char *consumer_assignor_name(enum consumer_assignor a)
{
    MUSTER_CHECK(a >= 0 && a < ASSIGNOR_COUNT);
    return assignor_names[a];
}

bool consumer_assignor_find(struct str name, enum consumer_assignor *ret)
{
    for (int a = 0; a < ASSIGNOR_COUNT; a++) {
        if (str_eq(name, str_of(assignor_names[a]))) {
            *ret = (enum consumer_assignor)a;
            return true;
        }
    }
    return false;
}

/* ---- partitions and who subscribes ------------------------------------------------------------------------------------------------------ */

static void partitions_init(struct assign_draft *d)
{
    int64_t count = 0;
    d->first = ARENA_NEW(d->arena, int32_t, (size_t)d->in->topic_count + 1);
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        MUSTER_CHECK(d->in->topics[t].partitions >= 0);
        count += d->in->topics[t].partitions;
        MUSTER_CHECK(count <= INT32_MAX);
        d->first[t + 1] = (int32_t)count;
    }
    d->owner = ARENA_NEW(d->arena, int32_t, count);
    for (int32_t i = 0; i < (int32_t)count; i++) {
        d->owner[i] = NOBODY;
    }
}

static bool same_topics(const struct consumer_subscriber *a, const struct consumer_subscriber *b)
{
    return a->topic_count == b->topic_count &&
           (a->topics == b->topics || a->topic_count == 0 || memcmp(a->topics, b->topics, (size_t)a->topic_count * sizeof(int32_t)) == 0);
}

static bool all_alike(const struct consumer_assign_input *in)
{
    for (int32_t m = 1; m < in->member_count; m++) {
        if (!same_topics(&in->members[0], &in->members[m])) {
            return false;
        }
    }
    return true;
}

static const struct assign_list *alike_subscribers(const struct assign_draft *d)
{
    struct assign_list *subs = ARENA_NEW(d->arena, struct assign_list, d->in->topic_count);
    int32_t *all = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    for (int32_t r = 0; r < d->in->member_count; r++) {
        all[r] = r;
    }
    for (int32_t i = 0; i < d->in->members[0].topic_count; i++) {
        subs[d->in->members[0].topics[i]] = (struct assign_list){all, d->in->member_count};
    }
    return subs;
}

static const struct assign_list *mixed_subscribers(const struct assign_draft *d)
{
    int64_t count = 0;
    struct assign_list *subs = ARENA_NEW(d->arena, struct assign_list, d->in->topic_count);
    int32_t **next = ARENA_NEW(d->arena, int32_t *, d->in->topic_count);
    for (int32_t m = 0; m < d->in->member_count; m++) {
        count += d->in->members[m].topic_count;
        for (int32_t i = 0; i < d->in->members[m].topic_count; i++) {
            subs[d->in->members[m].topics[i]].len++;
        }
    }
    int32_t *v = ARENA_NEW(d->arena, int32_t, count);
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        subs[t].v = next[t] = v;
        v += subs[t].len;
    }
    for (int32_t r = 0; r < d->in->member_count; r++) {
        const struct consumer_subscriber *m = draft_member(d, r);
        for (int32_t i = 0; i < m->topic_count; i++) {
            *next[m->topics[i]]++ = r;
        }
    }
    return subs;
}

/* The same number for equal keys, counted up. */
static int32_t numbered(struct names *seen, const void *key, size_t bytes, int32_t *count)
{
    int32_t number = names_add(seen, (struct bytes){key, (int32_t)bytes}, *count);
    return number < 0 ? (*count)++ : number;
}

/* For each topic the number of its list. */
static int32_t *number_kindred(struct assign_draft *d, bool same_counts)
{
    struct names by_subs, by_count;
    int32_t *list = ARENA_NEW(d->arena, int32_t, d->in->topic_count);
    int32_t(*pairs)[2] = arena_array(d->arena, (size_t)d->in->topic_count, sizeof(*pairs)), lists = 0;
    names_init(&by_subs, d->arena, d->in->topic_count);
    names_init(&by_count, d->arena, d->in->topic_count);
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        if (d->subs[t].len > 0 && !d->alike) {
            pairs[t][0] = numbered(&by_subs, d->subs[t].v, (size_t)d->subs[t].len * sizeof(int32_t), &lists);
        }
        pairs[t][1] = same_counts ? d->in->topics[t].partitions : 0;
        if (d->subs[t].len > 0) {
            list[t] = numbered(&by_count, pairs[t], sizeof(pairs[t]), &d->kindred_count);
        }
    }
    return list;
}

void draft_kindred(struct assign_draft *d, bool same_counts)
{
    const int32_t *list = number_kindred(d, same_counts);
    struct assign_list *kindred = ARENA_NEW(d->arena, struct assign_list, d->kindred_count);
    int32_t **next = ARENA_NEW(d->arena, int32_t *, d->kindred_count), *v = ARENA_NEW(d->arena, int32_t, d->in->topic_count);
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        if (d->subs[t].len > 0) {
            kindred[list[t]].len++;
        }
    }
    for (int32_t k = 0; k < d->kindred_count; k++) {
        kindred[k].v = next[k] = v;
        v += kindred[k].len;
    }
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        if (d->subs[t].len > 0) {
            *next[list[t]]++ = t;
        }
    }
    d->kindred = kindred;
}

/* ---- what members get --------------------------------------------------------------------------------------------------------------------- */

static void fill(const struct assign_draft *d, struct units *ret)
{
    int32_t count = d->first[d->in->topic_count];
    struct unit *v = ARENA_NEW(d->arena, struct unit, count), **next = ARENA_NEW(d->arena, struct unit *, d->in->member_count);
    for (int32_t i = 0; i < count; i++) {
        if (d->owner[i] != NOBODY) {
            ret[d->order[d->owner[i]]].len++;
        }
    }
    for (int32_t m = 0; m < d->in->member_count; m++) {
        ret[m].v = next[m] = v;
        v += ret[m].len;
    }
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        for (int32_t i = d->first[t]; i < d->first[t + 1]; i++) {
            if (d->owner[i] != NOBODY) {
                *next[d->order[d->owner[i]]]++ = (struct unit){.name = d->in->topics[t].id, .partition = i - d->first[t]};
            }
        }
    }
}

void consumer_assign(enum consumer_assignor a, const struct consumer_assign_input *in, struct arena *arena, struct units *ret)
{
    memset(ret, 0, (size_t)in->member_count * sizeof(*ret));
    if (in->member_count == 0) {
        return;
    }
    struct assign_draft d = {.in = in, .arena = arena, .alike = !in->mixed && all_alike(in)};
    d.order = a == ASSIGNOR_RANGE ? order_of_range(in, arena) : order_of_uniform(in, arena);
    partitions_init(&d);
    d.subs = d.alike ? alike_subscribers(&d) : mixed_subscribers(&d);
    if (a == ASSIGNOR_RANGE) {
        assign_range(&d);
    } else {
        assign_uniform(&d);
    }
    fill(&d, ret);
}

/* In quarters of a microsecond, as measured, and rather more than less. */
int64_t consumer_assign_cost(enum consumer_assignor a, const struct consumer_assign_input *in)
{
    int64_t partitions = 0, wishes = 0, near = 0;
    for (int32_t t = 0; t < in->topic_count; t++) {
        partitions += in->topics[t].partitions;
        near += in->topics[t].racks != NULL ? in->topics[t].partitions : 0;
    }
    for (int32_t m = 0; m < in->member_count; m++) {
        wishes += in->members[m].topic_count;
    }
    bool alike = !in->mixed && all_alike(in);
    if (a == ASSIGNOR_RANGE) {
        return in->member_count / 4 + partitions / 16 + near / 2 + wishes / (alike ? 128 : 32);
    }
    return in->member_count + partitions / 4 + near + wishes / (alike ? 128 : 6);
}
