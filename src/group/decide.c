/* decide.c: from a request to whoever decides it. */
#include "state.h"

#include "history/history.h"
#include "modern/job.h"

#include <string.h>

/* ---- what depends on the group's type -------------------------------------------------------------------------------------------- */

static void decide_describe(struct decision *d)
{
    struct describe_groups_response_described_group *answer = ARENA_NEW(d->arena, struct describe_groups_response_described_group, 1);
    classic_describe(d, group_find(d->set, d->op->group_id), answer);
    out_answer(d, "describe", answer->error_code, answer);
}

static enum group_type type_of(const struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    return g != NULL ? group_type(g) : GROUP_CLASSIC;
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
    switch (type_of(d)) {
    case GROUP_CLASSIC:
        classic_decide_topics_changed(d);
        break;
    case GROUP_CONSUMER:
        consumer_decide_topics_changed(d);
        break;
    case GROUP_STREAMS:
        streams_decide_topics_changed(d);
        break;
    }
    if (dropped > 0 && d->out->records.len == dropped) {
        out_rule(d, rule);
    }
}

static void decide_timer(struct decision *d)
{
    switch (type_of(d)) {
    case GROUP_CLASSIC:
        classic_decide_timer(d);
        return;
    case GROUP_CONSUMER:
        consumer_decide_timer(d);
        return;
    case GROUP_STREAMS:
        streams_decide_timer(d);
        return;
    }
}

/* Each says that there is nothing to take where the group is no longer of the type that the job was made for. */
static void decide_job_done(struct decision *d)
{
    if (d->op->job->type == GROUP_STREAMS) {
        streams_decide_job_done(d);
    } else {
        consumer_decide_job_done(d);
    }
}

/* ---- every kind of op ---------------------------------------------------------------------------------------------------------- */

/* Whether what is decided goes by topics or configs, so that the copy of the catalogue has to be fresh. In a classic group it is the leader that knows the
 * topics; its members do not wait for anything here, so that its sessions need not either. */
enum needs { NEEDS_NOTHING, NEEDS_CATALOG, NEEDS_IT_IF_MODERN };

static const struct op_row {
    const char *name;
    enum group_op_class class;
    enum needs needs;
    void (*decide)(struct decision *d);
} rows[] = {
    [GROUP_JOIN] = {"join", GROUP_CLASS_MEMBERSHIP, NEEDS_IT_IF_MODERN, classic_decide_join},
    [GROUP_SYNC] = {"sync", GROUP_CLASS_MEMBERSHIP, NEEDS_IT_IF_MODERN, classic_decide_sync},
    [GROUP_HEARTBEAT] = {"heartbeat", GROUP_CLASS_MEMBERSHIP, NEEDS_IT_IF_MODERN, classic_decide_heartbeat},
    [GROUP_LEAVE] = {"leave", GROUP_CLASS_MEMBERSHIP, NEEDS_IT_IF_MODERN, classic_decide_leave},
    [GROUP_OFFSET_COMMIT] = {"offset_commit", GROUP_CLASS_COMMIT, NEEDS_CATALOG, offsets_decide_commit},
    /* By topic id, and so that a fetch never overtakes a commit that waits. */
    [GROUP_OFFSET_FETCH] = {"offset_fetch", GROUP_CLASS_READ, NEEDS_CATALOG, offsets_decide_fetch},
    [GROUP_OFFSET_DELETE] = {"offset_delete", GROUP_CLASS_EXCLUSIVE, NEEDS_CATALOG, offsets_decide_delete},
    [GROUP_DESCRIBE] = {"describe", GROUP_CLASS_READ, NEEDS_NOTHING, decide_describe},
    [GROUP_DELETE] = {"delete", GROUP_CLASS_EXCLUSIVE, NEEDS_CATALOG, offsets_decide_group_delete},
    [GROUP_ALTER_OFFSETS] = {"alter_offsets", GROUP_CLASS_EXCLUSIVE, NEEDS_CATALOG, offsets_decide_alter},
    [GROUP_STREAMS_HEARTBEAT] = {"streams_heartbeat", GROUP_CLASS_MEMBERSHIP, NEEDS_CATALOG, streams_decide_heartbeat},
    [GROUP_STREAMS_DESCRIBE] = {"streams_describe", GROUP_CLASS_READ, NEEDS_CATALOG, streams_decide_describe},
    [GROUP_STREAMS_TOPOLOGY] = {"streams_topology", GROUP_CLASS_READ, NEEDS_CATALOG, streams_decide_topology},
    [GROUP_STREAMS_INITIALIZE] = {"streams_initialize", GROUP_CLASS_MEMBERSHIP, NEEDS_CATALOG, streams_decide_initialize},
    [GROUP_STREAMS_DESCRIPTION] = {"streams_description", GROUP_CLASS_MEMBERSHIP, NEEDS_CATALOG, streams_decide_description},
    [GROUP_CONSUMER_HEARTBEAT] = {"consumer_heartbeat", GROUP_CLASS_MEMBERSHIP, NEEDS_CATALOG, consumer_decide_heartbeat},
    [GROUP_CONSUMER_DESCRIBE] = {"consumer_describe", GROUP_CLASS_READ, NEEDS_CATALOG, consumer_decide_describe},
    [GROUP_HISTORY] = {"history", GROUP_CLASS_READ, NEEDS_NOTHING, history_show},
    [GROUP_TIMER] = {"timer", GROUP_CLASS_MEMBERSHIP, NEEDS_IT_IF_MODERN, decide_timer},
    [GROUP_TAKEOVER] = {"takeover", GROUP_CLASS_MEMBERSHIP, NEEDS_NOTHING, classic_decide_takeover},
    [GROUP_RETENTION] = {"retention", GROUP_CLASS_EXCLUSIVE, NEEDS_CATALOG, offsets_decide_retention},
    [GROUP_TOPICS_CHANGED] = {"topics_changed", GROUP_CLASS_EXCLUSIVE, NEEDS_CATALOG, decide_topics_changed},
    [GROUP_JOB_DONE] = {"job_done", GROUP_CLASS_MEMBERSHIP, NEEDS_CATALOG, decide_job_done},
    [GROUP_TOPICS_CREATED] = {"topics_created", GROUP_CLASS_MEMBERSHIP, NEEDS_CATALOG, streams_decide_topics_created},
    [CATALOG_CREATE_TOPICS] = {"create_topics", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_CREATE_PARTITIONS] = {"create_partitions", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_DELETE_TOPICS] = {"delete_topics", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_ALTER_CONFIGS] = {"alter_configs", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_SET_END] = {"set_end", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_REGISTER_NODE] = {"register_node", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_PRODUCER_ID] = {"producer_id", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_CHANGE_MEMBER] = {"change_member", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_MEMBER_STEP] = {"member_step", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_UPGRADE] = {"upgrade", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [CATALOG_CURSOR] = {"cursor", GROUP_CLASS_EXCLUSIVE, NEEDS_NOTHING, catalog_decide},
    [SHARD_OFFICE] = {"office", GROUP_CLASS_COMMIT, NEEDS_CATALOG, office_decide},
};

enum group_op_class group_op_class(enum group_op_kind kind)
{
    return rows[kind].class;
}

const char *group_op_name(enum group_op_kind kind)
{
    return rows[kind].name;
}

bool group_op_needs_catalog(const struct group_set *set, const struct group_op *op)
{
    if (rows[op->kind].needs != NEEDS_IT_IF_MODERN) {
        return rows[op->kind].needs == NEEDS_CATALOG;
    }
    const struct group *g = group_find(set, op->group_id);
    return g != NULL && group_type(g) != GROUP_CLASSIC;
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------------ */

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
    case GROUP_CONSUMER_HEARTBEAT:
        return wire_consumer_group_heartbeat_response.type;
    case GROUP_CONSUMER_DESCRIBE:
        return part_of(&wire_consumer_group_describe_response, "Groups");
    case GROUP_HISTORY:
        return wire_group_history_response.type;
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
    rows[op->kind].decide(&d);
    history_decide(&d);
    MUSTER_CHECK((ret->verdict == GROUP_ANSWER) == (ret->answer != NULL));
    own_answer(&d);
}
