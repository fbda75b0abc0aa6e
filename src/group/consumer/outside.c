/* outside.c: consumer groups as committers, readers of offsets and admins meet them.
 *
 * A member commits with its own epoch whatever it likes; with an earlier one only what it owns and was given by then (KIP-848's rule). */
#include "draft.h"

static bool is_outsider(const struct offset_commit_request *r)
{
    return r->generation_id_or_member_epoch < 0 && str_is_empty(r->member_id);
}

int16_t consumer_may_commit(struct decision *d, const struct group *g, const struct offset_commit_request *request,
                            const struct modern_slot **ret_member)
{
    int32_t epoch = request->generation_id_or_member_epoch;
    *ret_member = NULL;
    if (epoch < 0 && g->consumer->member_count == 0) {
        return KAFKA_NONE; /* from outside of any membership */
    }
    const struct modern_slot *slot = modern_find(g->consumer, request->member_id);
    if (slot == NULL) {
        out_rule(d, is_outsider(request) ? RULE(COMMIT_OUTSIDER) : RULE(COMMIT_UNKNOWN_MEMBER));
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (slot->member->is_classic) {
        return consumer_classic_may_commit(d, g, slot, request);
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

int16_t consumer_may_commit_partition(struct decision *d, const struct modern_slot *m, int32_t epoch, struct uuid topic_id,
                                      int32_t partition)
{
    struct member_position position = modern_position(m);
    struct str name = unit_of_topic(&topic_id);
    const struct unit *unit = units_find(position.assigned.kind[UNITS_ACTIVE], name, partition);
    unit = unit != NULL ? unit : units_find(position.revoking.kind[UNITS_ACTIVE], name, partition);
#ifdef MUSTER_FAULT_COMMIT_AT_OLD_EPOCH
    epoch = epoch < position.epoch ? position.epoch : epoch;
#endif
    if (!commit_epoch_ok(epoch, position.epoch, unit)) {
        out_rule(d, RULE(COMMIT_STALE));
        return KAFKA_STALE_MEMBER_EPOCH;
    }
    return KAFKA_NONE;
}

int16_t consumer_may_fetch(struct decision *d, const struct group *g, const struct offset_fetch_request_group *request)
{
    if (str_is_null(request->member_id) && request->member_epoch < 0) {
        return KAFKA_NONE;
    }
    const struct modern_slot *slot = modern_find(g->consumer, request->member_id);
    if (slot == NULL) {
        out_rule(d, RULE(FETCH_UNKNOWN_MEMBER));
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (request->member_epoch != modern_position(slot).epoch) {
        out_rule(d, RULE(FETCH_EPOCH));
        return slot->member->is_classic ? KAFKA_ILLEGAL_GENERATION : KAFKA_STALE_MEMBER_EPOCH;
    }
    return KAFKA_NONE;
}

/* Regular expressions that have not been matched yet leave open what is read. */
bool consumer_subscription_known(const struct group *g)
{
    const struct modern *s = g->consumer;
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_member *m = s->slots[i].member;
        bool found = true;
        if (m != NULL && !str_is_null(m->regex)) {
            regexes_place(s, m->regex, &found);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool consumer_subscribed(struct decision *d, const struct group *g, struct str topic)
{
    const struct modern *s = g->consumer;
    if (uses_count(s->uses, topic) > 0) {
        return true;
    }
    struct regex_table regexes = modern_regexes(s, d->arena);
    for (int32_t i = 0; s->regex_count > 0 && i < s->slot_count; i++) {
        if (s->slots[i].member != NULL && consumer_member_reads(s->slots[i].member, &regexes, topic)) {
            return true;
        }
    }
    return false;
}

int16_t consumer_may_delete(const struct group *g)
{
    return g->consumer->member_count == 0 ? KAFKA_NONE : KAFKA_NON_EMPTY_GROUP;
}

void consumer_tombstones(struct decision *d, const struct group *g)
{
    modern_tombstones(d, g, g->consumer, &consumer_kind);
    out_timer(d, GROUP_TIMER_REFRESH, STR(""), 0, -1);
}
