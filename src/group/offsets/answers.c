/* answers.c: which partitions of a request the catalogue refuses, and the order in which all of them are answered.
 *
 * Kafka's order, as its answers show: topics of which the catalogue refused a partition come first, with these partitions in front; what the
 * group was asked follows, joined to the topic where it is already there. When nothing was refused the answer has the form of the request,
 * topics that were named twice included. A topic without partitions is not answered. */
#include "offsets.h"
#include "../names.h"

void asked_init(struct asked *a, int32_t topics, bool by_id, struct arena *arena)
{
    int32_t count = topics > 0 ? topics : 0;
    *a = (struct asked){.v = ARENA_NEW(arena, struct asked_topic, count), .by_id = by_id};
}

struct asked_topic *asked_add(struct asked *a, struct str name, struct uuid id, int32_t len, const struct topics *topics,
                              struct arena *arena)
{
    struct asked_topic *t = &a->v[a->len++];
    struct topic_view view;
    bool known;
    if (a->by_id) {
        known = !uuid_is_zero(id) && topics->by_id(topics->ctx, id, &view);
    } else {
        known = topics->by_name(topics->ctx, name, &view);
    }
    *t = (struct asked_topic){.name = a->by_id ? STR_NULL : name, .id = id, .len = len > 0 ? len : 0};
    if (known) {
        t->partitions = view.partitions;
        t->id = view.id;
        t->name = view.name;
    }
    t->partition = ARENA_NEW(arena, int32_t, t->len);
    t->error = ARENA_NEW(arena, int16_t, t->len);
    return t;
}

void asked_check(struct asked *a, struct asked_topic *t)
{
    bool unknown_id = a->by_id && str_is_null(t->name);
    for (int32_t i = 0; i < t->len; i++) {
        if (t->partition[i] >= 0 && t->partition[i] < t->partitions) {
            t->error[i] = ASKED_GROUP;
            a->for_group++;
            continue;
        }
        t->error[i] = unknown_id ? KAFKA_UNKNOWN_TOPIC_ID : KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        t->settled++;
        a->settled++;
    }
}

void asked_fail(struct asked *a, int16_t error)
{
    for (int32_t t = 0; t < a->len; t++) {
        for (int32_t i = 0; i < a->v[t].len; i++) {
            if (a->v[t].error[i] == ASKED_GROUP) {
                a->v[t].error[i] = error;
            }
        }
    }
}

/* ---- the answer ------------------------------------------------------------------------------------------------------------ */

/* A topic's partitions lie in the order asked, and the first `settled` errors found while walking are not contiguous: whether error i was the
 * catalogue's is told by the partition's range alone. */
static bool is_settled(const struct asked_topic *t, int32_t i)
{
    return t->partition[i] < 0 || t->partition[i] >= t->partitions;
}

static void take(struct answer_topic *to, const struct asked_topic *from, bool settled)
{
    for (int32_t i = 0; i < from->len; i++) {
        if (is_settled(from, i) == settled) {
            to->v[to->len++] = (struct answer_partition){.partition = from->partition[i], .error = from->error[i]};
        }
    }
}

static void answer_as_sent(const struct asked *a, struct arena *arena, struct answer *ret)
{
    for (int32_t t = 0; t < a->len; t++) {
        const struct asked_topic *from = &a->v[t];
        if (from->len == 0) {
            continue;
        }
        struct answer_topic *to = &ret->v[ret->len++];
        *to = (struct answer_topic){.name = from->name, .id = from->id, .v = ARENA_NEW(arena, struct answer_partition, from->len)};
        take(to, from, false);
    }
}

static int32_t place(struct names *places, struct answer *ret, const struct asked *a, const struct asked_topic *t)
{
    struct bytes key = a->by_id ? (struct bytes){t->id.b, sizeof(t->id.b)} : bytes_of_str(t->name);
    int32_t at = names_add(places, key, ret->len);
    if (at < 0) {
        at = ret->len++;
        ret->v[at] = (struct answer_topic){.name = t->name, .id = t->id};
    }
    return at;
}

/* Two rounds (what was refused, then the rest), each of which finds the place of every topic; then the partitions. */
static void answer_joined(const struct asked *a, struct arena *arena, struct answer *ret)
{
    int32_t *at = ARENA_NEW(arena, int32_t, a->len);
    int32_t *count = ARENA_NEW(arena, int32_t, a->len);
    struct names places;
    names_init(&places, arena, a->len);
    for (int round = 0; round < 2; round++) {
        for (int32_t t = 0; t < a->len; t++) {
            int32_t len = round == 0 ? a->v[t].settled : a->v[t].len - a->v[t].settled;
            if (len > 0) {
                at[t] = place(&places, ret, a, &a->v[t]);
                count[at[t]] += len;
            }
        }
    }
    for (int32_t i = 0; i < ret->len; i++) {
        ret->v[i].v = ARENA_NEW(arena, struct answer_partition, count[i]);
    }
    for (int round = 0; round < 2; round++) {
        for (int32_t t = 0; t < a->len; t++) {
            take(&ret->v[at[t]], &a->v[t], round == 0);
        }
    }
}

void asked_answer(const struct asked *a, struct arena *arena, struct answer *ret)
{
    *ret = (struct answer){.v = ARENA_NEW(arena, struct answer_topic, a->len)};
    if (a->settled == 0) {
        answer_as_sent(a, arena, ret);
    } else {
        answer_joined(a, arena, ret);
    }
}
