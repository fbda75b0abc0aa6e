/* assign_range.c: each topic for itself, in one run of partitions after the other, so that topics with the same members and counts line up: who has
 * partition 3 of one has partition 3 of the other. The first members get the odd ones. What members had so far does not matter: that is Kafka's range assignor. */
#include "assign_draft.h"

static void share_out(struct assign_draft *d, int32_t topic)
{
    const struct assign_list *subs = &d->subs[topic];
    int32_t count = d->in->topics[topic].partitions, partition = d->first[topic];
    for (int32_t i = 0; i < subs->len && partition < d->first[topic + 1]; i++) {
        int32_t share = count / subs->len + (i < count % subs->len);
        while (share-- > 0) {
            d->owner[partition++] = subs->v[i];
        }
    }
}

/* ---- near to who reads them --------------------------------------------------------------------------------------------------------------- */

struct nearness {
    const struct assign_racks *racks;
    int32_t *times; /* of each rack; 0 between two partitions */
    int32_t *list;  /* room for the result */
    int32_t len;
};

/* The racks that most topics of the lane, which line up, have the partition in: all of them, if there are such. */
static void near_racks(const struct assign_draft *d, const struct assign_list *lane, int32_t partition, struct nearness *n)
{
    const struct assign_racks *racks = n->racks;
    int32_t most = 0, kept = 0;
    n->len = 0;
    for (int32_t i = 0; i < lane->len; i++) {
        int32_t number = d->first[lane->v[i]] + partition;
        for (int32_t k = racks->at_first[number]; k < racks->at_first[number + 1]; k++) {
            int32_t rack = racks->at[k];
            if (n->times[rack]++ == 0) {
                n->list[n->len++] = rack;
            }
            most = n->times[rack] > most ? n->times[rack] : most;
        }
    }
    for (int32_t i = 0; i < n->len; i++) {
        int32_t rack = n->list[i];
        if (n->times[rack] == most) {
            n->list[kept++] = rack;
        }
        n->times[rack] = 0;
    }
    n->len = kept;
}

/* A lane's partitions change hands together. */
static void draw_near(struct assign_draft *d, const struct assign_racks *racks, const struct assign_list *lane)
{
    struct exchange x = {.arena = d->arena,
                         .rack_count = racks->count,
                         .home = racks->home,
                         .member_count = d->in->member_count,
                         .count = d->in->topics[lane->v[0]].partitions};
    struct nearness n = {.racks = racks, .times = ARENA_NEW(d->arena, int32_t, racks->count)};
    x.holder = ARENA_NEW(d->arena, int32_t, x.count);
    x.near = ARENA_NEW(d->arena, const int32_t *, x.count);
    x.near_count = ARENA_NEW(d->arena, int32_t, x.count);
    for (int32_t p = 0; p < x.count; p++) {
        int32_t room = 0;
        for (int32_t i = 0; i < lane->len; i++) {
            const int32_t *first = &racks->at_first[d->first[lane->v[i]] + p];
            room += first[1] - first[0];
        }
        n.list = ARENA_NEW(d->arena, int32_t, room < racks->count ? room : racks->count);
        near_racks(d, lane, p, &n);
        x.holder[p] = d->owner[d->first[lane->v[0]] + p];
        x.near[p] = n.list;
        x.near_count[p] = n.len;
    }
    exchange(&x);
    for (int32_t i = 0; i < lane->len; i++) {
        for (int32_t p = 0; p < x.count; p++) {
            d->owner[d->first[lane->v[i]] + p] = x.holder[p];
        }
    }
}

void assign_range(struct assign_draft *d)
{
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        share_out(d, t);
    }
    const struct assign_racks *racks = racks_known(d);
    if (racks != NULL) {
        draft_kindred(d, true);
        for (int32_t i = 0; i < d->kindred_count; i++) {
            draw_near(d, racks, &d->kindred[i]);
        }
    }
}
