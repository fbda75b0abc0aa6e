/* outside.c: streams groups as committers, readers of offsets, admins and clients of other protocols meet them.
 *
 * A member commits with its own epoch whatever it likes; with an earlier one only what tasks of its read that it was given by then (KIP-848's rule), and one
 * partition that fails takes the request with it, as Kafka 4.4.0 has it. */
#include "../modern/draft.h"
#include "outside.h"
#include "rules.h"

/* ---- offsets -------------------------------------------------------------------------------------------------------------------- */

int16_t streams_may_commit(struct decision *d, const struct group *g, const struct offset_commit_request *request,
                           const struct modern_slot **ret_member)
{
    int32_t epoch = request->generation_id_or_member_epoch;
    *ret_member = NULL;
    if (epoch < 0 && g->streams->member_count == 0) {
        return KAFKA_NONE; /* from outside of any membership */
    }
    const struct modern_slot *slot = modern_find(g->streams, request->member_id);
    if (slot == NULL) {
        bool outsider = epoch < 0 && str_is_empty(request->member_id);
        out_rule(d, outsider ? RULE(COMMIT_OUTSIDER) : RULE(COMMIT_UNKNOWN_MEMBER));
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (d->op->api_version < 9) {
        out_rule(d, RULE(COMMIT_VERSION));
        return KAFKA_UNSUPPORTED_VERSION;
    }
    if (epoch > modern_position(slot).epoch) {
        out_rule(d, RULE(COMMIT_AHEAD));
        return KAFKA_STALE_MEMBER_EPOCH;
    }
    *ret_member = slot;
    return KAFKA_NONE;
}

struct str_array streams_readers(struct decision *d, const struct group *g, struct str topic)
{
    const struct modern *s = g->streams;
    if (s->topology == NULL) {
        return (struct str_array){NULL, 0};
    }
    const topology *t = s->topology->value;
    struct regex_table regexes = modern_regexes(s, d->arena);
    struct str_array ret = {ARENA_NEW(d->arena, struct str, t->subtopologies.len), 0};
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        if (topology_reads(t, i, &regexes, topic)) {
            ret.v[ret.len++] = t->subtopologies.v[i].subtopology_id;
        }
    }
    return ret;
}

/* Of several tasks that read the partition (Kafka takes the one that its hash table has last) any will do. */
int16_t streams_may_commit_partition(struct decision *d, const struct modern_slot *m, int32_t epoch, const struct str_array *readers,
                                     int32_t partition)
{
    struct member_position position = modern_position(m);
    bool ok = commit_epoch_ok(epoch, position.epoch, NULL);
    for (int32_t i = 0; !ok && i < readers->len; i++) {
        const struct unit *task = units_find(position.assigned.kind[UNITS_ACTIVE], readers->v[i], partition);
        task = task != NULL ? task : units_find(position.revoking.kind[UNITS_ACTIVE], readers->v[i], partition);
        ok = task != NULL && commit_epoch_ok(epoch, position.epoch, task);
    }
    if (!ok) {
        out_rule(d, RULE(COMMIT_STALE));
        return KAFKA_STALE_MEMBER_EPOCH;
    }
    return KAFKA_NONE;
}

int16_t streams_may_fetch(struct decision *d, const struct group *g, const struct offset_fetch_request_group *request)
{
    if (str_is_null(request->member_id) && request->member_epoch < 0) {
        return KAFKA_NONE;
    }
    const struct modern_slot *slot = modern_find(g->streams, request->member_id);
    if (slot == NULL) {
        out_rule(d, RULE(FETCH_UNKNOWN_MEMBER));
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (request->member_epoch != modern_position(slot).epoch) {
        out_rule(d, RULE(FETCH_EPOCH));
        return KAFKA_STALE_MEMBER_EPOCH;
    }
    return KAFKA_NONE;
}

/* Whether the regular expression's topics have been recorded. */
static bool is_resolved(const struct modern *s, struct str regex)
{
    for (int32_t i = 0; i < s->regex_count; i++) {
        if (str_eq(s->regexes[i]->regex, regex)) {
            return true;
        }
    }
    return false;
}

bool streams_subscription_known(const struct group *g)
{
    const struct modern *s = g->streams;
    if (s->topology == NULL) {
        return s->member_count == 0;
    }
    for (int32_t i = 0; i < s->topology->value->subtopologies.len; i++) {
        const struct str_array *regexes = &s->topology->value->subtopologies.v[i].source_topic_regex;
        for (int32_t k = 0; k < regexes->len; k++) {
            if (!is_resolved(s, regexes->v[k])) {
                return false;
            }
        }
    }
    return true;
}

bool streams_subscribed(struct decision *d, const struct group *g, struct str topic)
{
    return g->streams->member_count > 0 && streams_readers(d, g, topic).len > 0;
}

/* ---- deletion --------------------------------------------------------------------------------------------------------------------- */

int16_t streams_may_delete(const struct group *g)
{
    return g->streams->member_count == 0 ? KAFKA_NONE : KAFKA_NON_EMPTY_GROUP;
}

void streams_tombstones(struct decision *d, const struct group *g)
{
    modern_tombstones(d, g, g->streams, &streams_kind);
}
