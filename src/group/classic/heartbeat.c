/* heartbeat.c: Heartbeat. Changes nothing but the member's session timer. */
#include "draft.h"

static void answer(struct decision *d, const char *rule, int16_t error)
{
    struct heartbeat_response *response = ARENA_NEW(d->arena, struct heartbeat_response, 1);
    wire_init(&wire_heartbeat_response, response);
    response->error_code = error;
    out_answer(d, rule, error, response);
}

void classic_decide_heartbeat(struct decision *d)
{
    const struct heartbeat_request *r = d->op->request;
    const struct group *g = group_find(d->set, d->op->group_id);
    if (g != NULL && group_type(g) == GROUP_CONSUMER) {
        consumer_classic_heartbeat(d, g);
        return;
    }
    const struct classic *c = g == NULL || g->classic.state == CLASSIC_EMPTY ? NULL : &g->classic;
    const struct classic_member *m;
#ifdef MUSTER_FAULT_HEARTBEAT_IGNORES_GENERATION
    if (c != NULL && r->generation_id < c->generation) {
        answer(d, RULE(HEARTBEAT_ALIVE), KAFKA_NONE);
        return;
    }
#endif
    int16_t error = classic_check_member(c, r->member_id, r->group_instance_id, &m);
    if (str_is_empty(d->op->group_id)) {
        answer(d, RULE(HEARTBEAT_NO_GROUP_ID), KAFKA_INVALID_GROUP_ID);
    } else if (error == KAFKA_FENCED_INSTANCE_ID) {
        answer(d, RULE(HEARTBEAT_FENCED), error);
    } else if (error != KAFKA_NONE) {
        answer(d, RULE(HEARTBEAT_UNKNOWN_MEMBER), error);
    } else if (r->generation_id != c->generation) {
        answer(d, RULE(HEARTBEAT_GENERATION), KAFKA_ILLEGAL_GENERATION);
    } else {
        out_timer(d, GROUP_TIMER_SESSION, m->member_id, c->generation, m->session_timeout_ms);
        bool preparing = c->state == CLASSIC_PREPARING;
        answer(d, preparing ? RULE(HEARTBEAT_PREPARING) : RULE(HEARTBEAT_ALIVE), preparing ? KAFKA_REBALANCE_IN_PROGRESS : KAFKA_NONE);
    }
}
