/* classic_beat.c: Heartbeat and SyncGroup to a consumer group. A classic member that is behind, has something to give up or can have something now is told to
 * rejoin (27). What it has is in its SyncGroup, which waits for nobody. */
#include "classic.h"

static const char *find_rule(int16_t error)
{
    return error == KAFKA_FENCED_INSTANCE_ID ? RULE(CLASSIC_FENCED) : RULE(CLASSIC_UNKNOWN_MEMBER);
}

static void keep_alive(struct decision *d, const struct modern_slot *slot)
{
    out_timer(d, GROUP_TIMER_SESSION, slot->member_id, 0, slot->member->classic_session_timeout_ms);
}

/* ---- Heartbeat ---------------------------------------------------------------------------------------------------------------------------- */

static void answer_beat(struct decision *d, const char *rule, int16_t error)
{
    struct heartbeat_response *response = ARENA_NEW(d->arena, struct heartbeat_response, 1);
    wire_init(&wire_heartbeat_response, response);
    response->error_code = error;
    out_answer(d, rule, error, response);
}

/* Members of the new protocol compute the assignment as they beat. Where there are none, nobody would until somebody joins. */
static bool assign_alone(struct draft *t)
{
    if (t->was->classic_count < t->was->member_count) {
        return false;
    }
    consumer_draft_assign(t);
    return t->assigned != NULL;
}

static bool should_rejoin(const struct draft *t, const struct modern_slot *slot)
{
    struct member_position p = modern_position(slot);
    if (p.epoch < assignment_epoch(&t->next) || p.state == MEMBER_UNREVOKED) {
        return true;
    }
    return p.state == MEMBER_UNRELEASED && !modern_waits_for_others(t->was, slot, t->d->arena);
}

static void beat(struct decision *d, const struct group *g, const struct modern_slot *slot)
{
    struct draft t;
    consumer_draft_open(&t, d, g);
    bool assigned = assign_alone(&t);
    bool rejoin = should_rejoin(&t, slot);
    keep_alive(d, slot);
    if (rejoin) {
        classic_told_to_rejoin(d, slot);
    }
    const char *rule = rejoin ? RULE(CLASSIC_BEAT_REJOIN) : RULE(CLASSIC_BEAT_ALIVE);
    answer_beat(d, assigned ? RULE(CLASSIC_BEAT_ASSIGNED) : rule, rejoin ? KAFKA_REBALANCE_IN_PROGRESS : KAFKA_NONE);
    draft_close(&t);
}

void consumer_classic_heartbeat(struct decision *d, const struct group *g)
{
    const struct heartbeat_request *r = d->op->request;
    const struct modern_slot *slot;
    int16_t error = classic_find(g->consumer, r->member_id, r->group_instance_id, &slot);
    if (error != KAFKA_NONE) {
        answer_beat(d, find_rule(error), error);
    } else if (r->generation_id != modern_position(slot).epoch) {
        answer_beat(d, RULE(CLASSIC_GENERATION), KAFKA_ILLEGAL_GENERATION);
    } else {
        beat(d, g, slot);
    }
}

/* ---- SyncGroup ------------------------------------------------------------------------------------------------------------------------------ */

static void answer_sync(struct decision *d, const char *rule, int16_t error, const struct modern_slot *slot)
{
    const struct sync_group_request *r = d->op->request;
    struct sync_group_response *response = ARENA_NEW(d->arena, struct sync_group_response, 1);
    wire_init(&wire_sync_group_response, response);
    response->error_code = error;
    response->assignment = (struct bytes){(const uint8_t *)"", 0};
    if (slot != NULL) {
        response->protocol_type = r->protocol_type;
        response->protocol_name = r->protocol_name;
        response->assignment =
            classic_assignment_of(d, modern_position(slot).assigned.kind[UNITS_ACTIVE], slot->member->protocols[0].metadata);
    }
    out_answer(d, rule, error, response);
}

static bool differs(struct str said, struct str is)
{
    return !str_is_null(said) && !str_eq(said, is);
}

static const char *check_sync(const struct decision *d, const struct group *g, const struct modern_slot **ret, int16_t *ret_error)
{
    const struct sync_group_request *r = d->op->request;
    *ret_error = classic_find(g->consumer, r->member_id, r->group_instance_id, ret);
    if (*ret_error != KAFKA_NONE) {
        return find_rule(*ret_error);
    }
    struct member_position p = modern_position(*ret);
    if (r->generation_id != p.epoch) {
        *ret_error = KAFKA_ILLEGAL_GENERATION;
        return RULE(CLASSIC_GENERATION);
    }
    if (differs(r->protocol_type, STR("consumer")) || differs(r->protocol_name, (*ret)->member->protocols[0].name)) {
        *ret_error = KAFKA_INCONSISTENT_GROUP_PROTOCOL;
        return RULE(CLASSIC_SYNC_PROTOCOL);
    }
    if (p.epoch < assignment_epoch(g->consumer) && p.state != MEMBER_UNREVOKED) {
        *ret_error = KAFKA_REBALANCE_IN_PROGRESS;
        return RULE(CLASSIC_SYNC_REJOIN);
    }
    return NULL;
}

void consumer_classic_sync(struct decision *d, const struct group *g)
{
    const struct modern_slot *slot = NULL;
    int16_t error;
    const char *rule = check_sync(d, g, &slot, &error);
    if (rule != NULL) {
        if (error == KAFKA_REBALANCE_IN_PROGRESS) {
            classic_told_to_rejoin(d, slot);
        }
        answer_sync(d, rule, error, NULL);
        return;
    }
    out_timer(d, GROUP_TIMER_SYNC, slot->member_id, 0, -1);
    keep_alive(d, slot);
    answer_sync(d, RULE(CLASSIC_SYNC), KAFKA_NONE, slot);
}
