/* partitions.c: counts of repartition topics; see partitions.h. */
#include "partitions.h"

/* ---- the order of subtopologies ------------------------------------------------------------------------------------------------ */

static uint32_t bucket_of(const topology *t, int32_t at, uint32_t buckets)
{
    return java_bucket(java_hash(t->subtopologies.v[at].subtopology_id), buckets);
}

/* By bucket, then as sent: what lies in one bucket keeps its order while the table grows. */
int32_t *topology_order(const topology *t, struct arena *arena)
{
    int32_t count = t->subtopologies.len;
    uint32_t buckets = java_buckets(count);
    int32_t *order = ARENA_NEW(arena, int32_t, count);
    int32_t *starts = ARENA_NEW(arena, int32_t, buckets + 1);
    for (int32_t i = 0; i < count; i++) {
        starts[bucket_of(t, i, buckets) + 1]++;
    }
    for (uint32_t b = 0; b < buckets; b++) {
        starts[b + 1] += starts[b];
    }
    for (int32_t i = 0; i < count; i++) {
        order[starts[bucket_of(t, i, buckets)]++] = i;
    }
    return order;
}

/* ---- the topics ------------------------------------------------------------------------------------------------------------------ */

static int32_t topics_named(const topology *t)
{
    int32_t total = 0;
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        total += t->subtopologies.v[i].repartition_source_topics.len;
    }
    return total;
}

static void add(struct repartitions *r, const topic_info *info)
{
    int32_t at = names_add(&r->by_name, bytes_of_str(info->name), r->len);
    struct repartition *topic = at < 0 ? &r->v[r->len++] : &r->v[at];
    topic->name = info->name;
    topic->info = info;
    topic->open = topic->open || info->partitions <= 0;
    if (info->partitions > 0) { /* named with several counts: the last one */
        topic->sent = topic->count = info->partitions;
    }
}

void repartitions_new(const topology *t, const int32_t *order, struct arena *arena, struct repartitions *ret)
{
    int32_t total = topics_named(t);
    *ret = (struct repartitions){.v = ARENA_NEW(arena, struct repartition, total)};
    names_init(&ret->by_name, arena, total);
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        const subtopology *s = &t->subtopologies.v[order[i]];
        for (int32_t k = 0; k < s->repartition_source_topics.len; k++) {
            add(ret, &s->repartition_source_topics.v[k]);
        }
    }
}

struct repartition *repartition_find(const struct repartitions *r, struct str name)
{
    int32_t at = r->len > 0 ? names_find(&r->by_name, bytes_of_str(name)) : -1;
    return at >= 0 ? &r->v[at] : NULL;
}

/* ---- their counts ---------------------------------------------------------------------------------------------------------------- */

struct counting {
    const topology *t;
    struct repartitions *r;
    int32_t *known;   /* for each subtopology the highest count among what it reads, as far as known */
    int32_t *starts;  /* readers of topic i: readers[starts[i]] up to readers[starts[i + 1]] */
    int32_t *readers; /* subtopologies */
};

static void find_readers(struct counting *c, struct arena *arena)
{
    c->starts = ARENA_NEW(arena, int32_t, c->r->len + 1);
    c->readers = ARENA_NEW(arena, int32_t, topics_named(c->t));
    int32_t *next = ARENA_NEW(arena, int32_t, c->r->len);
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
            const subtopology *s = &c->t->subtopologies.v[i];
            for (int32_t k = 0; k < s->repartition_source_topics.len; k++) {
                int64_t at = repartition_find(c->r, s->repartition_source_topics.v[k].name) - c->r->v;
                if (pass == 0) {
                    c->starts[at + 1]++;
                } else {
                    c->readers[c->starts[at] + next[at]++] = i;
                }
            }
        }
        for (int32_t i = 0; pass == 0 && i < c->r->len; i++) {
            c->starts[i + 1] += c->starts[i];
        }
    }
}

static void tell_readers(struct counting *c, const struct repartition *topic)
{
    int64_t at = topic - c->r->v;
    for (int32_t i = c->starts[at]; i < c->starts[at + 1]; i++) {
        int32_t *known = &c->known[c->readers[i]];
        *known = *known > topic->count ? *known : topic->count;
    }
}

static void give(struct counting *c, int32_t writer)
{
    const struct str_array *sinks = &c->t->subtopologies.v[writer].repartition_sink_topics;
    for (int32_t i = 0; i < sinks->len; i++) {
        struct repartition *topic = repartition_find(c->r, sinks->v[i]);
        if (topic != NULL && topic->count == 0) {
            topic->count = c->known[writer];
            tell_readers(c, topic);
        }
    }
}

bool repartitions_count(const topology *t, const int32_t *order, const int32_t *outside, struct repartitions *r, struct arena *arena)
{
    int32_t count = t->subtopologies.len;
    struct counting c = {.t = t, .r = r, .known = ARENA_NEW(arena, int32_t, count)};
    bool *done = ARENA_NEW(arena, bool, count);
    bool moved = true;
    find_readers(&c, arena);
    for (int32_t i = 0; i < count; i++) {
        c.known[i] = outside[i];
    }
    for (int32_t i = 0; i < r->len; i++) {
        if (r->v[i].count > 0) {
            tell_readers(&c, &r->v[i]);
        }
    }
    while (moved) { /* each round but the last gets a subtopology done */
        moved = false;
        for (int32_t i = 0; i < count; i++) {
            if (!done[order[i]] && c.known[order[i]] > 0) {
                give(&c, order[i]);
                moved = done[order[i]] = true;
            }
        }
    }
    for (int32_t i = 0; i < r->len; i++) {
        if (r->v[i].count == 0) {
            return false;
        }
    }
    return true;
}
