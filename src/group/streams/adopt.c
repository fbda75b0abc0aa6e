/* adopt.c: what the topology that comes with a join does to the group.
 *
 *     group has none        implicit, explicit: it becomes the group's; strict: it does not, and its sender is fenced when there is one to compare it with
 *     same content          fine at the group's epoch; where topologies are initialized explicitly at any, for clients count them from 0
 *     lower epoch           its sender is stale: told so, and a member like the others (Kafka 4.4.0); without tasks where upgrades are allowed
 *     other content         refused; a higher epoch is an upgrade where the group's config allows it (streams.topology.update)
 *     strict, other content fenced: only StreamsGroupInitialize changes it */
#include "draft.h"

static struct refused refuse(int16_t error, struct str text)
{
    return (struct refused){.error = error, .text = text, .rule = RULE(JOIN_TOPOLOGY)};
}

static struct refused adopt(struct draft *t, const topology *given, int32_t *ret_epoch)
{
    struct str problem;
    int16_t error = topology_check(given, t->d->op->settings, t->d->arena, &problem);
    if (error != KAFKA_NONE) {
        return refuse(error, problem);
    }
    const topology *own = draft_topology(t);
    size_t bytes = wire_size(&wire_streams_group_topology_value, MODERN_VALUE_VERSION, given);
    size_t old = own == NULL ? 0 : wire_size(&wire_streams_group_topology_value, MODERN_VALUE_VERSION, own);
    if (bytes > old && !budget_allows(t->d, 0, 0, (int64_t)(bytes - old))) {
        return (struct refused){.error = KAFKA_COORDINATOR_NOT_AVAILABLE, .text = STR_NULL, .rule = RULE(NO_ROOM)};
    }
    streams_draft_set_topology(t, given);
    *ret_epoch = given->epoch;
    return not_refused();
}

static struct refused compare(struct draft *t, const heartbeat_request *r, const topology *given, int32_t *ret_epoch)
{
    const topology *own = draft_topology(t);
    bool equal = topology_equal(own, given);
    enum initialization initialization = streams_part(t)->configs.initialization;
    if (!equal && !str_is_null(r->topology_id) && str_eq(r->topology_id, own->topology_id)) {
        return refuse(KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(t->d->arena, "Topology id %.*s stands for another topology.", STR_ARG(r->topology_id)));
    }
    if (initialization == INITIALIZE_STRICT && !equal) {
        return refuse(KAFKA_STREAMS_TOPOLOGY_FENCED,
                      STR("The member's topology is not the group's, which only StreamsGroupInitialize changes."));
    }
    if (initialization != INITIALIZE_IMPLICIT && equal) {
        *ret_epoch = own->epoch;
        return not_refused();
    }
    *ret_epoch = given->epoch;
    if (given->epoch < own->epoch || (given->epoch == own->epoch && equal)) {
        return not_refused();
    }
    if (given->epoch > own->epoch && streams_part(t)->configs.update == TOPOLOGY_UPDATE_EPOCH) {
        return adopt(t, given, ret_epoch);
    }
    return refuse(KAFKA_INVALID_REQUEST, STR("Topology updates are not supported yet."));
}

struct refused adopt_topology(struct draft *t, const heartbeat_request *r, int32_t *ret_epoch)
{
    *ret_epoch = TOPOLOGY_NONE;
    if (r->topology == NULL) {
        return not_refused();
    }
    const topology *given = topology_of_heartbeat(r, t->d->arena);
    if (draft_topology(t) != NULL) {
        return compare(t, r, given, ret_epoch);
    }
    if (streams_part(t)->configs.initialization == INITIALIZE_STRICT) {
        *ret_epoch = TOPOLOGY_UNVERIFIED;
        return not_refused();
    }
    return adopt(t, given, ret_epoch);
}

struct refused adopt_check(const struct draft *t, const heartbeat_request *r)
{
    struct str problem = STR_NULL;
    int16_t error = r->topology == NULL
                        ? KAFKA_NONE
                        : topology_check_form(topology_of_heartbeat(r, t->d->arena), t->d->op->settings, t->d->arena, &problem);
    return error == KAFKA_NONE ? not_refused() : refuse(error, problem);
}
