/* describe.c: what DescribeGroups shows, who may commit, whether a group may be deleted. */
#include "draft.h"

const char *classic_state_name(enum classic_state state)
{
    static const char *const names[CLASSIC_STATE_COUNT] = {
        [CLASSIC_EMPTY] = "Empty",
        [CLASSIC_PREPARING] = "PreparingRebalance",
        [CLASSIC_COMPLETING] = "CompletingRebalance",
        [CLASSIC_STABLE] = "Stable",
        [CLASSIC_DEAD] = "Dead",
    };
    return names[state];
}

/* g NULL: there is no group of that id; else it is of another type. */
static void describe_unknown(struct decision *d, const struct group *g, struct describe_groups_response_described_group *ret)
{
    ret->group_state = str_of(classic_state_name(CLASSIC_DEAD));
    if (d->op->api_version >= 6) {
        ret->error_code = KAFKA_GROUP_ID_NOT_FOUND;
        ret->error_message =
            arena_printf(d->arena, g == NULL ? "Group %.*s not found." : "Group %.*s is not a classic group.", STR_ARG(d->op->group_id));
    }
}

static void describe_member(const struct group *g, const struct classic_member *m,
                            struct describe_groups_response_described_group_member *ret)
{
    ret->member_id = m->member_id;
    ret->group_instance_id = m->instance_id;
    ret->client_id = m->client_id;
    ret->client_host = m->client_host;
    ret->member_assignment = classic_assignment(g, m);
    ret->member_metadata = (struct bytes){(const uint8_t *)"", 0};
    if (g->classic.state == CLASSIC_STABLE) {
        ret->member_metadata = member_metadata(m, g->classic.protocol_name);
    }
}

void classic_describe(struct decision *d, const struct group *g, struct describe_groups_response_described_group *ret)
{
    wire_init_type(wire_describe_groups_response.type->fields[1].type, ret);
    ret->group_id = d->op->group_id;
    if (g == NULL || group_type(g) != GROUP_CLASSIC) {
        describe_unknown(d, g, ret);
        return;
    }
    const struct classic *c = &g->classic;
    ret->group_state = str_of(classic_state_name(c->state));
    ret->protocol_type = c->protocol_type;
    if (c->state == CLASSIC_STABLE && !str_is_null(c->protocol_name)) {
        ret->protocol_data = c->protocol_name;
    }
    ret->members.len = c->member_count;
    ret->members.v = ARENA_NEW(d->arena, struct describe_groups_response_described_group_member, c->member_count);
    for (int32_t i = 0; i < c->member_count; i++) {
        describe_member(g, c->members[i], &ret->members.v[i]);
    }
}

/* Null when it may. */
static const char *commit_rule(const struct group *g, const struct offset_commit_request *r, int16_t api_version, int16_t *ret_error,
                               const struct classic_member **ret)
{
    int32_t generation = r->generation_id_or_member_epoch;
    *ret = NULL;
    *ret_error = KAFKA_NONE;
    if (generation < 0 && (g == NULL || g->classic.state == CLASSIC_EMPTY)) {
        return NULL; /* from outside of any membership */
    }
    if (g == NULL) {
        *ret_error = api_version >= 9 ? KAFKA_GROUP_ID_NOT_FOUND : KAFKA_ILLEGAL_GENERATION;
        return RULE(COMMIT_NO_GROUP);
    }
    const struct classic *c = &g->classic;
    if (generation < 0 && str_is_empty(r->member_id) && str_is_null(r->group_instance_id)) {
        *ret_error = KAFKA_UNKNOWN_MEMBER_ID;
        return RULE(COMMIT_OUTSIDER);
    }
    *ret_error = classic_check_member(c, r->member_id, r->group_instance_id, ret);
    if (*ret_error != KAFKA_NONE) {
        return *ret_error == KAFKA_FENCED_INSTANCE_ID ? RULE(COMMIT_FENCED) : RULE(COMMIT_UNKNOWN_MEMBER);
    }
    if (generation != c->generation) {
        *ret_error = KAFKA_ILLEGAL_GENERATION;
        return RULE(COMMIT_GENERATION);
    }
    if (c->state == CLASSIC_COMPLETING) {
        *ret_error = KAFKA_REBALANCE_IN_PROGRESS;
        return RULE(COMMIT_COMPLETING);
    }
    return NULL;
}

int16_t classic_may_commit(struct decision *d, const struct group *g, const struct offset_commit_request *request)
{
    const struct classic_member *m;
    int16_t error;
    const char *rule = commit_rule(g, request, d->op->api_version, &error, &m);
    if (rule != NULL) {
        out_rule(d, rule);
    } else if (m != NULL) {
        out_timer(d, GROUP_TIMER_SESSION, m->member_id, g->classic.generation, m->session_timeout_ms);
    }
    return error;
}

int16_t classic_may_delete(const struct group *g)
{
    return g->classic.state == CLASSIC_EMPTY ? KAFKA_NONE : KAFKA_NON_EMPTY_GROUP;
}
