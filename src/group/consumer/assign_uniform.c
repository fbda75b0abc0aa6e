/* assign_uniform.c: all partitions evenly over the members, as far as subscriptions allow; what can stay stays.
 *
 * How many partitions each member gets comes first (assign_alike.c, assign_mixed.c), as Kafka 4.4.0 counts. Then what each has is made up of what it had, and
 * where racks are known, of what is near. */
#include "assign_draft.h"

#include "../sorted.h"

/* ---- who had what ------------------------------------------------------------------------------------------------------------------------- */

static int topic_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct consumer_topic *)in)[place].id, *(const struct str *)key);
}

/* The topic of that id, from a place on; topic_count: there is none. */
static int32_t topic_find(const struct consumer_assign_input *in, struct str id, int32_t from)
{
    const struct consumer_topic *first = from > 0 ? &in->topics[from] : in->topics; /* there may be none */
    int32_t place = sorted_find(first, in->topic_count - from, topic_order, &id);
    return place >= 0 ? from + place : in->topic_count;
}

static bool subscribes(const struct consumer_subscriber *m, int32_t topic)
{
    int32_t low = 0, high = m->topic_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (m->topics[middle] < topic) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < m->topic_count && m->topics[low] == topic;
}

/* Notes what the member had; of two that had the same the first one keeps it. */
static int32_t had_of(const struct assign_draft *d, int32_t rank, int32_t *was, int32_t *v)
{
    const struct consumer_assign_input *in = d->in;
    const struct consumer_subscriber *m = draft_member(d, rank);
    int32_t len = 0, topic = in->topic_count;
    for (int32_t i = 0; i < m->had.len; i++) {
        const struct unit *u = &m->had.v[i];
        if (i == 0 || !str_eq(u->name, u[-1].name)) {
            topic = topic_find(in, u->name, topic < in->topic_count ? topic : 0);
            topic = topic < in->topic_count && subscribes(m, topic) ? topic : in->topic_count;
        }
        if (topic == in->topic_count || u->partition < 0 || u->partition >= in->topics[topic].partitions) {
            continue;
        }
        int32_t number = d->first[topic] + u->partition;
        if (was[number] == NOBODY) {
            was[number] = rank;
            v[len++] = number;
        }
    }
    return len;
}

static void had_init(const struct assign_draft *d, struct assign_had *ret)
{
    int32_t count = d->first[d->in->topic_count];
    int32_t *v = ARENA_NEW(d->arena, int32_t, count);
    ret->was = ARENA_NEW(d->arena, int32_t, count);
    ret->each = ARENA_NEW(d->arena, struct assign_list, d->in->member_count);
    for (int32_t i = 0; i < count; i++) {
        ret->was[i] = NOBODY;
    }
    for (int32_t r = 0; r < d->in->member_count; r++) {
        ret->each[r] = (struct assign_list){v, had_of(d, r, ret->was, v)};
        v += ret->each[r].len;
    }
}

/* ---- what can stay ------------------------------------------------------------------------------------------------------------------------ */

/* What each member holds and did not have: linked lists. What has been taken off one since may still be in it. */
struct newcomers {
    struct assign_draft *d;
    const struct assign_had *had;
    int32_t *head, *next;
};

static void push(struct newcomers *n, int32_t rank, int32_t partition)
{
    n->next[partition] = n->head[rank];
    n->head[rank] = partition;
}

static int32_t pop(struct newcomers *n, int32_t rank)
{
    while (n->head[rank] != NOBODY) {
        int32_t partition = n->head[rank];
        n->head[rank] = n->next[partition];
        if (n->d->owner[partition] == rank) {
            return partition;
        }
    }
    return NOBODY;
}

/* Who gave up a partition and got another one for it, takes its own back. All topics of the list have the same subscribers. */
static void stay(struct newcomers *n, const struct assign_list *topics)
{
    struct assign_draft *d = n->d;
    const struct assign_list *subs = &d->subs[topics->v[0]];
    for (int32_t i = 0; i < subs->len; i++) {
        n->head[subs->v[i]] = NOBODY;
    }
    for (int32_t t = 0; t < topics->len; t++) {
        for (int32_t i = d->first[topics->v[t]]; i < d->first[topics->v[t] + 1]; i++) {
            if (d->owner[i] != n->had->was[i]) {
                push(n, d->owner[i], i);
            }
        }
    }
    for (int32_t t = 0; t < topics->len; t++) {
        for (int32_t i = d->first[topics->v[t]]; i < d->first[topics->v[t] + 1]; i++) {
            int32_t own = n->had->was[i], other = d->owner[i];
            int32_t instead = own == NOBODY || own == other ? NOBODY : pop(n, own);
            if (instead != NOBODY) {
                d->owner[i] = own;
                d->owner[instead] = other;
                if (n->had->was[instead] != other) {
                    push(n, other, instead);
                }
            }
        }
    }
}

static void stay_all(struct assign_draft *d, const struct assign_had *had)
{
    struct newcomers n = {.d = d, .had = had};
    n.head = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    n.next = ARENA_NEW(d->arena, int32_t, d->first[d->in->topic_count]);
    for (int32_t i = 0; i < d->kindred_count; i++) {
        stay(&n, &d->kindred[i]);
    }
}

/* ---- what is near ------------------------------------------------------------------------------------------------------------------------- */

/* Those that move anyway are the first to change hands. */
static void draw_near(struct assign_draft *d, const struct assign_had *had, const struct assign_racks *racks,
                      const struct assign_list *topics)
{
    int32_t room = 0;
    for (int32_t t = 0; t < topics->len; t++) {
        room += d->in->topics[topics->v[t]].partitions;
    }
    int32_t *things = ARENA_NEW(d->arena, int32_t, room);
    struct exchange x = {.arena = d->arena, .rack_count = racks->count, .home = racks->home, .member_count = d->in->member_count};
    x.holder = ARENA_NEW(d->arena, int32_t, room);
    x.near = ARENA_NEW(d->arena, const int32_t *, room);
    x.near_count = ARENA_NEW(d->arena, int32_t, room);
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t t = 0; t < topics->len; t++) {
            for (int32_t i = d->first[topics->v[t]]; i < d->first[topics->v[t] + 1]; i++) {
                if ((d->owner[i] == had->was[i]) == (pass == 1)) {
                    things[x.count] = i;
                    x.holder[x.count] = d->owner[i];
                    x.near[x.count] = &racks->at[racks->at_first[i]];
                    x.near_count[x.count++] = racks->at_first[i + 1] - racks->at_first[i];
                }
            }
        }
    }
    exchange(&x);
    for (int32_t i = 0; i < x.count; i++) {
        d->owner[things[i]] = x.holder[i];
    }
}

void assign_uniform(struct assign_draft *d)
{
    struct assign_had had;
    had_init(d, &had);
    const struct assign_racks *racks = racks_known(d);
    if (!d->alike || racks != NULL) {
        draft_kindred(d, false);
    }
    if (d->alike) {
        assign_alike(d, &had, racks);
    } else {
        assign_mixed(d, &had);
        stay_all(d, &had);
    }
    for (int32_t i = 0; racks != NULL && i < d->kindred_count; i++) {
        draw_near(d, &had, racks, &d->kindred[i]);
    }
}
