/* record.c: the state of a classic group as records again, byte for byte as they were logged. */
#include "members.h"

static struct record record_of_group(const struct group *g, struct arena *arena)
{
    const struct classic *c = &g->classic;
    struct classic_group_key key = {.group_id = g->id};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = c->protocol_type;
    value.generation = c->generation;
    value.state = (int8_t)c->state;
    value.protocol_name = c->protocol_name;
    value.leader = c->leader;
    value.state_timestamp_ms = c->state_clock_ms;
    value.state_wall_ms = c->state_wall_ms;
    value.assignments_since = c->assignments_since;
    value.topics_hash = c->topics_hash;
    return wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, &value, arena);
}

bool classic_record_group(const struct group *g, struct arena *arena, struct record *ret)
{
    if (g == NULL || !g->classic.exists) {
        return false;
    }
    *ret = record_of_group(g, arena);
    return true;
}

void classic_member_value_of(const struct classic_member *m, struct arena *arena, struct classic_member_value *ret)
{
    wire_init(&wire_classic_member_value, ret);
    ret->instance_id = m->instance_id;
    ret->client_id = m->client_id;
    ret->client_host = m->client_host;
    ret->session_timeout_ms = m->session_timeout_ms;
    ret->rebalance_timeout_ms = m->rebalance_timeout_ms;
    ret->join_generation = m->join_generation;
    ret->id_delivered = m->id_delivered;
    ret->protocols.len = m->protocol_count;
    ret->protocols.v = ARENA_NEW(arena, struct classic_member_value_classic_protocol, m->protocol_count);
    for (int32_t i = 0; i < m->protocol_count; i++) {
        ret->protocols.v[i].name = m->protocols[i].name;
        ret->protocols.v[i].metadata = m->protocols[i].metadata;
    }
}

bool classic_record_member(const struct group *g, struct str member_id, struct arena *arena, struct record *ret)
{
    const struct classic_member *m = classic_member_find(g, member_id);
    if (m == NULL) {
        return false;
    }
    struct classic_member_key key = {.group_id = g->id, .member_id = m->member_id};
    struct classic_member_value value;
    classic_member_value_of(m, arena, &value);
    *ret = wire_record_encode(RECORD_CLASSIC_MEMBER, &key, 0, &value, arena);
    return true;
}

bool classic_record_assignment(const struct group *g, struct str member_id, struct arena *arena, struct record *ret)
{
    const struct classic_member *m = classic_member_find(g, member_id);
    if (m == NULL || !m->has_assignment) {
        return false;
    }
    struct classic_assignment_key key = {.group_id = g->id, .member_id = m->member_id};
    struct classic_assignment_value value = {.generation = m->assignment_generation, .assignment = m->assignment};
    *ret = wire_record_encode(RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value, arena);
    return true;
}

bool classic_record_pending_id(const struct group *g, struct str member_id, struct arena *arena, struct record *ret)
{
    bool found = false;
    int32_t place = g == NULL ? 0 : pending_place(&g->classic, member_id, &found);
    if (!found) {
        return false;
    }
    struct classic_pending_id_key key = {.group_id = g->id, .member_id = member_id};
    struct classic_pending_id_value value = {.session_timeout_ms = g->classic.pending[place].session_timeout_ms};
    *ret = wire_record_encode(RECORD_CLASSIC_PENDING_ID, &key, 0, &value, arena);
    return true;
}

void classic_tombstones(struct decision *d, const struct group *g)
{
    for (int32_t i = 0; i < g->classic.pending_count; i++) {
        struct classic_pending_id_key key = {.group_id = g->id, .member_id = g->classic.pending[i].member_id};
        out_record(d, RECORD_CLASSIC_PENDING_ID, &key, 0, NULL);
        out_timer(d, GROUP_TIMER_PENDING_ID, key.member_id, 0, -1);
    }
    for (int32_t i = 0; i < g->classic.member_count; i++) {
        struct classic_member_key key = {.group_id = g->id, .member_id = g->classic.members[i]->member_id};
        out_record(d, RECORD_CLASSIC_MEMBER, &key, 0, NULL);
        out_timer(d, GROUP_TIMER_SESSION, key.member_id, 0, -1);
    }
    if (g->classic.exists) {
        struct classic_group_key key = {.group_id = g->id};
        out_record(d, RECORD_CLASSIC_GROUP, &key, 0, NULL);
    }
}
