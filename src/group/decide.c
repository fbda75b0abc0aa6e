/* decide.c: from a request to whoever decides it. */
#include "state.h"

#include <string.h>

enum group_op_class group_op_class(enum group_op_kind kind)
{
    switch (kind) {
    case GROUP_JOIN:
    case GROUP_SYNC:
    case GROUP_HEARTBEAT:
    case GROUP_LEAVE:
    case GROUP_TIMER:
    case GROUP_TAKEOVER:
    case GROUP_STREAMS_HEARTBEAT:
    case GROUP_STREAMS_INITIALIZE:
    case GROUP_STREAMS_DESCRIPTION:
    case GROUP_JOB_DONE:
    case GROUP_TOPICS_CREATED:
        return GROUP_CLASS_MEMBERSHIP;
    case GROUP_OFFSET_COMMIT:
        return GROUP_CLASS_COMMIT;
    case GROUP_OFFSET_FETCH:
    case GROUP_DESCRIBE:
    case GROUP_STREAMS_DESCRIBE:
    case GROUP_STREAMS_TOPOLOGY:
        return GROUP_CLASS_READ;
    case GROUP_OFFSET_DELETE:
    case GROUP_DELETE:
    case GROUP_RETENTION:
    case GROUP_TOPICS_CHANGED:
    case CATALOG_CREATE_TOPICS:
    case CATALOG_CREATE_PARTITIONS:
    case CATALOG_DELETE_TOPICS:
    case CATALOG_ALTER_CONFIGS:
    case CATALOG_SET_END:
    case CATALOG_REGISTER_NODE:
    case CATALOG_PRODUCER_ID:
    case CATALOG_CURSOR:
        break;
    }
    return GROUP_CLASS_EXCLUSIVE;
}

const char *group_op_name(enum group_op_kind kind)
{
    static const char *const names[] = {
        [GROUP_JOIN] = "join",
        [GROUP_SYNC] = "sync",
        [GROUP_HEARTBEAT] = "heartbeat",
        [GROUP_LEAVE] = "leave",
        [GROUP_OFFSET_COMMIT] = "offset_commit",
        [GROUP_OFFSET_FETCH] = "offset_fetch",
        [GROUP_OFFSET_DELETE] = "offset_delete",
        [GROUP_DESCRIBE] = "describe",
        [GROUP_DELETE] = "delete",
        [GROUP_STREAMS_HEARTBEAT] = "streams_heartbeat",
        [GROUP_STREAMS_DESCRIBE] = "streams_describe",
        [GROUP_STREAMS_TOPOLOGY] = "streams_topology",
        [GROUP_STREAMS_INITIALIZE] = "streams_initialize",
        [GROUP_STREAMS_DESCRIPTION] = "streams_description",
        [GROUP_TIMER] = "timer",
        [GROUP_TAKEOVER] = "takeover",
        [GROUP_RETENTION] = "retention",
        [GROUP_TOPICS_CHANGED] = "topics_changed",
        [GROUP_JOB_DONE] = "job_done",
        [GROUP_TOPICS_CREATED] = "topics_created",
        [CATALOG_CREATE_TOPICS] = "create_topics",
        [CATALOG_CREATE_PARTITIONS] = "create_partitions",
        [CATALOG_DELETE_TOPICS] = "delete_topics",
        [CATALOG_ALTER_CONFIGS] = "alter_configs",
        [CATALOG_SET_END] = "set_end",
        [CATALOG_REGISTER_NODE] = "register_node",
        [CATALOG_PRODUCER_ID] = "producer_id",
        [CATALOG_CURSOR] = "cursor",
    };
    return names[kind];
}

static void decide_describe(struct decision *d)
{
    struct describe_groups_response_described_group *answer = ARENA_NEW(d->arena, struct describe_groups_response_described_group, 1);
    classic_describe(d, group_find(d->set, d->op->group_id), answer);
    out_answer(d, "describe", answer->error_code, answer);
}

static bool is_streams(const struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    return g != NULL && group_type(g) == GROUP_STREAMS;
}

/* Offsets first: they go in slices, and a rebalance of the group belongs to the last one. When both have something to do, the rebalance is named. */
static void decide_topics_changed(struct decision *d)
{
    offsets_decide_topics_changed(d);
    if (d->out->more) {
        return;
    }
    const char *rule = d->out->rule;
    size_t dropped = d->out->records.len;
    if (is_streams(d)) {
        streams_decide_topics_changed(d);
    } else {
        classic_decide_topics_changed(d);
    }
    if (dropped > 0 && d->out->records.len == dropped) {
        out_rule(d, rule);
    }
}

static void dispatch_classic(struct decision *d)
{
    switch (d->op->kind) {
    case GROUP_JOIN:
        classic_decide_join(d);
        return;
    case GROUP_SYNC:
        classic_decide_sync(d);
        return;
    case GROUP_HEARTBEAT:
        classic_decide_heartbeat(d);
        return;
    case GROUP_LEAVE:
        classic_decide_leave(d);
        return;
    case GROUP_TAKEOVER:
        classic_decide_takeover(d);
        return;
    default:
        return;
    }
}

static void dispatch_streams(struct decision *d)
{
    switch (d->op->kind) {
    case GROUP_STREAMS_HEARTBEAT:
        streams_decide_heartbeat(d);
        return;
    case GROUP_JOB_DONE:
        streams_decide_job_done(d);
        return;
    case GROUP_TOPICS_CREATED:
        streams_decide_topics_created(d);
        return;
    case GROUP_STREAMS_DESCRIBE:
        streams_decide_describe(d);
        return;
    case GROUP_STREAMS_TOPOLOGY:
        streams_decide_topology(d);
        return;
    case GROUP_STREAMS_INITIALIZE:
        streams_decide_initialize(d);
        return;
    case GROUP_STREAMS_DESCRIPTION:
        streams_decide_description(d);
        return;
    default:
        return;
    }
}

static void decide_timer(struct decision *d)
{
    if (is_streams(d)) {
        streams_decide_timer(d);
    } else {
        classic_decide_timer(d);
    }
}

static void dispatch(struct decision *d)
{
    switch (d->op->kind) {
    case GROUP_JOIN:
    case GROUP_SYNC:
    case GROUP_HEARTBEAT:
    case GROUP_LEAVE:
    case GROUP_TAKEOVER:
        dispatch_classic(d);
        return;
    case GROUP_TIMER:
        decide_timer(d);
        return;
    case GROUP_OFFSET_COMMIT:
        offsets_decide_commit(d);
        return;
    case GROUP_OFFSET_FETCH:
        offsets_decide_fetch(d);
        return;
    case GROUP_OFFSET_DELETE:
        offsets_decide_delete(d);
        return;
    case GROUP_DESCRIBE:
        decide_describe(d);
        return;
    case GROUP_DELETE:
        offsets_decide_group_delete(d);
        return;
    case GROUP_RETENTION:
        offsets_decide_retention(d);
        return;
    case GROUP_TOPICS_CHANGED:
        decide_topics_changed(d);
        return;
    case GROUP_STREAMS_HEARTBEAT:
    case GROUP_STREAMS_DESCRIBE:
    case GROUP_STREAMS_TOPOLOGY:
    case GROUP_STREAMS_INITIALIZE:
    case GROUP_STREAMS_DESCRIPTION:
    case GROUP_JOB_DONE:
    case GROUP_TOPICS_CREATED:
        dispatch_streams(d);
        return;
    case CATALOG_CREATE_TOPICS:
    case CATALOG_CREATE_PARTITIONS:
    case CATALOG_DELETE_TOPICS:
    case CATALOG_ALTER_CONFIGS:
    case CATALOG_SET_END:
    case CATALOG_REGISTER_NODE:
    case CATALOG_PRODUCER_ID:
    case CATALOG_CURSOR:
        catalog_decide(d);
        return;
    }
}

/* The type behind the array field of that name: what an answer for one of many groups is made of. */
static const struct wire_type *part_of(const struct wire_msg *msg, const char *field)
{
    for (uint32_t i = 0; i < msg->type->field_count; i++) {
        if (str_eq(str_of(msg->type->fields[i].name), str_of(field))) {
            return msg->type->fields[i].type;
        }
    }
    MUSTER_CHECK(false);
    return NULL;
}

/* The answers that show bytes of the state; the others hold numbers and what the request said. */
static const struct wire_type *shows_state(enum group_op_kind kind)
{
    switch (kind) {
    case GROUP_JOIN:
        return wire_join_group_response.type;
    case GROUP_SYNC:
        return wire_sync_group_response.type;
    case GROUP_OFFSET_FETCH:
        return part_of(&wire_offset_fetch_response, "Groups");
    case GROUP_DESCRIBE:
        return part_of(&wire_describe_groups_response, "Groups");
    case GROUP_STREAMS_HEARTBEAT:
        return wire_streams_group_heartbeat_response.type;
    case GROUP_STREAMS_DESCRIBE:
        return part_of(&wire_streams_group_describe_response, "Groups");
    case GROUP_STREAMS_TOPOLOGY:
        return wire_streams_group_topology_response.type;
    case CATALOG_CREATE_TOPICS:
        return wire_create_topics_response.type;
    case CATALOG_DELETE_TOPICS:
        return wire_delete_topics_response.type;
    default:
        return NULL;
    }
}

/* An answer may have to wait, and the state moves on meanwhile. */
static void own_answer(const struct decision *d)
{
    const struct wire_type *type = d->out->answer != NULL ? shows_state(d->op->kind) : NULL;
    if (type != NULL) {
        wire_own(type, (void *)(uintptr_t)d->out->answer, d->arena);
    }
}

void group_decide(const struct group_set *set, const struct group_op *op, struct arena *arena, struct group_out *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->verdict = GROUP_SILENT;
    ret->reason = STR_NULL;
    ret->rule = "";
    struct decision d = {.set = set, .op = op, .arena = arena, .out = ret};
    dispatch(&d);
    MUSTER_CHECK((ret->verdict == GROUP_ANSWER) == (ret->answer != NULL));
    own_answer(&d);
}
