/* sync.c: SyncGroup. The leader's brings the assignment and makes the group stable; the others' wait for it. Which members have synced is not recorded:
 * each has a timer from the end of the join phase (KAFKA-12890) that its sync cancels. While a sync waits, its member's session stands still. */
#include "draft.h"

static const struct sync_group_request *request_of(const struct decision *d)
{
    return d->op->request;
}

static void answer(struct decision *d, const char *rule, int16_t error, const struct classic *c, struct bytes assignment)
{
    struct sync_group_response *response = ARENA_NEW(d->arena, struct sync_group_response, 1);
    wire_init(&wire_sync_group_response, response);
    response->error_code = error;
    response->assignment = assignment;
    if (c != NULL) {
        response->protocol_type = c->protocol_type;
        response->protocol_name = c->protocol_name;
    }
    out_answer(d, rule, error, response);
}

static void refuse(struct decision *d, const char *rule, int16_t error)
{
    answer(d, rule, error, NULL, (struct bytes){(const uint8_t *)"", 0});
}

static void wait(struct decision *d, const char *rule)
{
    d->out->verdict = GROUP_WAIT;
    out_rule(d, rule);
}

/* ---- the leader's assignment ------------------------------------------------------------------------------------------------ */

/* What each member gets, by place: its last entry in the request, or zero bytes. */
static struct bytes *assignments_of(const struct decision *d, const struct classic *c)
{
    const struct sync_group_request *r = request_of(d);
    struct bytes *given = ARENA_NEW(d->arena, struct bytes, c->member_count);
    for (int32_t i = 0; i < r->assignments.len; i++) {
        bool found;
        int32_t place = members_place(c, r->assignments.v[i].member_id, &found);
        if (found) {
            given[place] = r->assignments.v[i].assignment;
        }
    }
    return given;
}

static void record_assignments(struct decision *d, const struct group *g)
{
    const struct classic *c = &g->classic;
    const struct bytes *given = assignments_of(d, c);
    classic_note_assignments(d, g, given);
    for (int32_t i = 0; i < c->member_count; i++) {
        if (bytes_eq(given[i], classic_assignment(g, c->members[i])) ||
            (given[i].len <= 0 && classic_assignment(g, c->members[i]).len == 0)) {
            continue; /* what is in force stays in force */
        }
        struct classic_assignment_key key = {.group_id = g->id, .member_id = c->members[i]->member_id};
        struct classic_assignment_value value = {.generation = c->generation, .assignment = given[i]};
        if (value.assignment.len < 0) {
            value.assignment = (struct bytes){(const uint8_t *)"", 0};
        }
        out_record(d, RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value);
    }
}

static void take_assignment(struct decision *d, const struct group *g)
{
    struct draft t;
    classic_draft_open(&t, d, g);
    record_assignments(d, g);
    classic_draft_stable(&t);
    classic_draft_close(&t);
    wait(d, RULE(SYNC_LEADER));
}

/* ---- checks -------------------------------------------------------------------------------------------------------------------- */

static bool differs(struct str said, struct str is)
{
    return !str_is_null(said) && !str_is_null(is) && !str_eq(said, is);
}

static const char *check(struct decision *d, const struct group *g, int16_t *ret_error)
{
    const struct sync_group_request *r = request_of(d);
    const struct classic *c = g == NULL || g->classic.state == CLASSIC_EMPTY ? NULL : &g->classic;
    const struct classic_member *m;
    *ret_error = classic_check_member(c, r->member_id, r->group_instance_id, &m);
    if (*ret_error != KAFKA_NONE) {
        return *ret_error == KAFKA_FENCED_INSTANCE_ID ? RULE(SYNC_FENCED) : RULE(SYNC_UNKNOWN_MEMBER);
    }
    if (r->generation_id != c->generation) {
        *ret_error = KAFKA_ILLEGAL_GENERATION;
        return RULE(SYNC_GENERATION);
    }
    if (differs(r->protocol_type, c->protocol_type) || differs(r->protocol_name, c->protocol_name)) {
        *ret_error = KAFKA_INCONSISTENT_GROUP_PROTOCOL;
        return RULE(SYNC_PROTOCOL);
    }
    return NULL;
}

static void sync_stable(struct decision *d, const struct group *g)
{
    const struct classic_member *m = classic_member_find(g, request_of(d)->member_id);
    out_timer(d, GROUP_TIMER_SYNC, m->member_id, g->classic.generation, -1);
    answer(d, RULE(SYNC_STABLE), KAFKA_NONE, &g->classic, classic_assignment(g, m));
}

static void sync_completing(struct decision *d, const struct group *g)
{
    const struct sync_group_request *r = request_of(d);
#ifdef MUSTER_FAULT_SYNC_ANSWERS_OLD_GENERATION
    if (!str_eq(g->classic.leader, r->member_id) && classic_member_find(g, r->member_id)->has_assignment) {
        sync_stable(d, g);
        return;
    }
#endif
    out_timer(d, GROUP_TIMER_SYNC, r->member_id, g->classic.generation, -1);
    out_timer(d, GROUP_TIMER_SESSION, r->member_id, g->classic.generation, -1);
    if (str_eq(g->classic.leader, r->member_id)) {
        take_assignment(d, g);
    } else {
        wait(d, RULE(SYNC_WAITS));
    }
}

/* ---- a sync that waits --------------------------------------------------------------------------------------------------------------- */

static void ask_again(struct decision *d, const struct group *g)
{
    const struct sync_group_request *r = request_of(d);
    const struct classic_member *m;
    if (g != NULL && group_type(g) == GROUP_CONSUMER) {
        refuse(d, RULE(SYNC_CONVERTED), KAFKA_REBALANCE_IN_PROGRESS);
        return;
    }
    int16_t error = classic_check_member(g == NULL ? NULL : &g->classic, r->member_id, r->group_instance_id, &m);
    if (error != KAFKA_NONE) {
        refuse(d, error == KAFKA_FENCED_INSTANCE_ID ? RULE(SYNC_FENCED) : RULE(SYNC_REMOVED), error);
        return;
    }
    bool same_generation = r->generation_id == g->classic.generation;
    if (same_generation && g->classic.state == CLASSIC_COMPLETING) {
        wait(d, RULE(SYNC_WAITS));
    } else if (same_generation && g->classic.state == CLASSIC_STABLE) {
        out_timer(d, GROUP_TIMER_SESSION, m->member_id, g->classic.generation, m->session_timeout_ms);
        answer(d, RULE(SYNC_STABLE), KAFKA_NONE, &g->classic, classic_assignment(g, m));
    } else {
        refuse(d, RULE(SYNC_OVERTAKEN), KAFKA_REBALANCE_IN_PROGRESS);
    }
}

void classic_decide_sync(struct decision *d)
{
    const struct sync_group_request *r = request_of(d);
    const struct group *g = group_find(d->set, d->op->group_id);
    if (d->op->waiting) {
        ask_again(d, g);
        return;
    }
    if (d->op->api_version >= 5 && (str_is_null(r->protocol_type) || str_is_null(r->protocol_name))) {
        refuse(d, RULE(SYNC_NO_PROTOCOL), KAFKA_INCONSISTENT_GROUP_PROTOCOL);
        return;
    }
    if (str_is_empty(d->op->group_id)) {
        refuse(d, RULE(SYNC_NO_GROUP_ID), KAFKA_INVALID_GROUP_ID);
        return;
    }
    if (g != NULL && group_type(g) == GROUP_CONSUMER) {
        consumer_classic_sync(d, g);
        return;
    }
    int16_t error;
    const char *rule = check(d, g, &error);
    if (rule != NULL) {
        refuse(d, rule, error);
    } else if (g->classic.state == CLASSIC_PREPARING) {
        refuse(d, RULE(SYNC_PREPARING), KAFKA_REBALANCE_IN_PROGRESS);
    } else if (g->classic.state == CLASSIC_COMPLETING) {
        sync_completing(d, g);
    } else {
        sync_stable(d, g);
    }
}
