/* assign_racks.c: which partitions have a replica where members are, so that these can read them without leaving their rack. Kafka 4.4.0 hands members the
 * racks of their partitions and does not look at them. */
#include "assign_draft.h"

#include "../names.h"

/* Numbers the racks that members are in; how many there are. */
static int32_t homes_init(const struct assign_draft *d, struct names *racks, int32_t *home)
{
    int32_t count = 0;
    names_init(racks, d->arena, d->in->member_count);
    for (int32_t r = 0; r < d->in->member_count; r++) {
        struct str rack = draft_member(d, r)->rack_id;
        home[r] = str_is_empty(rack) ? NOBODY : names_add(racks, bytes_of_str(rack), count);
        if (home[r] < 0 && !str_is_empty(rack)) {
            home[r] = count++;
        }
    }
    return count;
}

static int64_t racks_given(const struct assign_draft *d)
{
    int64_t given = 0;
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        const struct consumer_topic *topic = &d->in->topics[t];
        for (int32_t p = 0; topic->racks != NULL && p < topic->partitions; p++) {
            given += topic->racks[p].len > 0 ? topic->racks[p].len : 0;
        }
    }
    MUSTER_CHECK(given <= INT32_MAX);
    return given;
}

/* Those of the partition's racks that members are in, each once; returns where the list ends. */
static int32_t add_racks(struct assign_racks *r, const struct names *racks, const struct str_array *of, int32_t begin)
{
    int32_t end = begin;
    for (int32_t i = 0; i < of->len; i++) {
        int32_t rack = str_is_empty(of->v[i]) ? NOBODY : names_find(racks, bytes_of_str(of->v[i])), at = begin;
        while (at < end && r->at[at] != rack) {
            at++;
        }
        if (rack != NOBODY && at == end) {
            r->at[end++] = rack;
        }
    }
    return end;
}

const struct assign_racks *racks_known(const struct assign_draft *d)
{
    struct names racks;
    struct assign_racks *r = ARENA_NEW(d->arena, struct assign_racks, 1);
    int64_t given = racks_given(d);
    if (given == 0) {
        return NULL;
    }
    r->home = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    r->count = homes_init(d, &racks, r->home);
    if (r->count == 0) {
        return NULL;
    }
    r->at = ARENA_NEW(d->arena, int32_t, given);
    r->at_first = ARENA_NEW(d->arena, int32_t, (size_t)d->first[d->in->topic_count] + 1);
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        const struct consumer_topic *topic = &d->in->topics[t];
        for (int32_t p = 0; p < topic->partitions; p++) {
            int32_t *first = &r->at_first[d->first[t] + p];
            first[1] = topic->racks == NULL ? first[0] : add_racks(r, &racks, &topic->racks[p], first[0]);
        }
    }
    return r;
}

bool racks_near(const struct assign_racks *r, int32_t partition, int32_t rank)
{
    for (int32_t i = r->at_first[partition]; i < r->at_first[partition + 1]; i++) {
        if (r->at[i] == r->home[rank]) {
            return true;
        }
    }
    return false;
}
