/* Why groups rebalance, as decisions say it for their history: a cause has to be what was asked, and by whom. That the history itself is what happened every world
 * of the unit tests checks, step by step; that it is the same everywhere, the states' hashes. */
#include "world.h"

#include <muster/messages.h>

/* Most clusters here know of the history, as after `muster cluster upgrade`; of some seeds none does. Before anything else is applied, on every node alike. */
void causes_level(struct sim_node *n)
{
    struct feature_level_key key = {STR("feature.level")};
    struct feature_level_value value;
    struct arena arena;
    if (n->sim->options.seed % 8 == 7 || n->sim->options.story == STORY_LEVELS)
        return;
    arena_init(&arena, 0);
    wire_init(&wire_feature_level_value, &value);
    value.level = group_feature_level;
    struct record record = wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, &value, &arena);
    MUSTER_CHECK(group_apply((struct group_set *)(uintptr_t)coord_set(n->coord, 0), 0, record, &arena));
    arena_fini(&arena);
}

/* INT32_MIN: not a heartbeat of a new protocol. */
static int32_t epoch_of(const struct group_op *op)
{
    if (op->kind == GROUP_CONSUMER_HEARTBEAT)
        return ((const struct consumer_group_heartbeat_request *)op->request)->member_epoch;
    if (op->kind == GROUP_STREAMS_HEARTBEAT)
        return ((const struct streams_group_heartbeat_request *)op->request)->member_epoch;
    return INT32_MIN;
}

static bool is_timer(const struct group_op *op, enum group_timer_kind kind)
{
    return op->kind == GROUP_TIMER && op->timer.kind == kind;
}

static bool may_be(const struct group_op *op, enum group_cause cause)
{
    bool heartbeat = epoch_of(op) >= 0, client = heartbeat || op->kind == GROUP_JOIN;
    switch (cause) {
    case GROUP_CAUSE_JOINED:
        return op->kind == GROUP_JOIN || epoch_of(op) == 0;
    case GROUP_CAUSE_LEFT:
        return op->kind == GROUP_LEAVE || epoch_of(op) == -1;
    case GROUP_CAUSE_EXPIRED:
        return is_timer(op, GROUP_TIMER_SESSION);
    case GROUP_CAUSE_REBALANCE_TIMEOUT:
        return is_timer(op, GROUP_TIMER_REBALANCE) || is_timer(op, GROUP_TIMER_REJOIN);
    case GROUP_CAUSE_SYNC_TIMEOUT:
        return is_timer(op, GROUP_TIMER_SYNC);
    case GROUP_CAUSE_REVOCATION_TIMEOUT:
        return is_timer(op, GROUP_TIMER_REVOKE);
    case GROUP_CAUSE_SUBSCRIPTION: /* of a regular expression it is known when that is matched */
        return client || (op->kind == GROUP_JOB_DONE && group_job_kind(op->job) == GROUP_JOB_RESOLVE);
    case GROUP_CAUSE_LEADER:
    case GROUP_CAUSE_REPLACED:
    case GROUP_CAUSE_MEMBER:
        return client;
    case GROUP_CAUSE_CONFIGS:
    case GROUP_CAUSE_WARMED_UP:
        return heartbeat;
    case GROUP_CAUSE_TOPOLOGY:
        return heartbeat || op->kind == GROUP_STREAMS_INITIALIZE;
    case GROUP_CAUSE_COORDINATOR:
        return op->kind == GROUP_TAKEOVER;
    case GROUP_CAUSE_CONVERTED:
        return client || op->kind == GROUP_LEAVE || op->kind == GROUP_TIMER || epoch_of(op) == -1;
    case GROUP_CAUSE_TOPICS:
        return op->kind != GROUP_OFFSET_COMMIT;
    case GROUP_CAUSE_ADMIN:
    case GROUP_CAUSE_OTHER:
    case GROUP_CAUSE_COUNT:
        break;
    }
    return cause == GROUP_CAUSE_ADMIN; /* which members removed the others is not known here */
}

void causes_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out)
{
    for (int cause = 0; out->causes != 0 && cause < GROUP_CAUSE_COUNT; cause++) {
        if ((out->causes >> cause & 1) != 0 && !may_be(op, (enum group_cause)cause))
            sim_fail(n->sim, "group %.*s: %s (rule \"%s\") is said to be %s", STR_ARG(op->group_id), group_op_name(op->kind), out->rule,
                     group_cause_name(cause));
    }
}
