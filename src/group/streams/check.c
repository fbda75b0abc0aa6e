/* check.c: whether a heartbeat is one at all, before anybody looks at the group. Texts and precedence are Kafka's. */
#include "draft.h"

#include "../sorted.h"

static struct refused invalid(struct str text)
{
    return (struct refused){.error = KAFKA_INVALID_REQUEST, .text = text, .rule = RULE(INVALID)};
}

/* Kafka calls blank what has nothing but white space in it. */
static bool is_empty(struct str s) /* and not null */
{
    return s.len == 0;
}

struct rule {
    bool broken;
    const char *text;
};

static struct refused first_broken(const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rules[i].broken) {
            return invalid(str_of(rules[i].text));
        }
    }
    return not_refused();
}

static struct refused check_ids(const heartbeat_request *r)
{
    const struct rule rules[] = {
        {is_empty(r->member_id), "MemberId can't be empty."},
        {str_is_blank(r->group_id), "GroupId can't be empty."},
        {is_empty(r->instance_id), "InstanceId can't be empty."},
        {is_empty(r->rack_id), "RackId can't be empty."},
    };
    return first_broken(rules, COUNT_OF(rules));
}

static struct refused check_join(const struct draft *t, const heartbeat_request *r)
{
    bool needs_topology = streams_part(t)->configs.initialization == INITIALIZE_IMPLICIT;
    const struct rule rules[] = {
        {r->rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request."},
        {r->active_tasks.len != 0, "ActiveTasks must be empty when (re-)joining."},
        {r->standby_tasks.len != 0, "StandbyTasks must be empty when (re-)joining."},
        {r->warmup_tasks.len != 0, "WarmupTasks must be empty when (re-)joining."},
        {r->topology == NULL && needs_topology, "Topology must be non-null when (re-)joining."},
    };
    return first_broken(rules, COUNT_OF(rules));
}

static struct refused check_others(const struct draft *t, const heartbeat_request *r)
{
    bool active = r->active_tasks.len >= 0, standby = r->standby_tasks.len >= 0, warmup = r->warmup_tasks.len >= 0;
    const struct rule rules[] = {
        {r->member_epoch == -2 && str_is_null(r->instance_id), "InstanceId can't be null."},
        {active != standby || standby != warmup, "If one task-type is non-null, all must be non-null."},
        {r->topology != NULL, "Topology can only be provided when (re-)joining."},
    };
    if (r->member_epoch < -2) {
        return invalid(arena_printf(t->d->arena, "MemberEpoch is %d, but must be greater than or equal to -2.", (int)r->member_epoch));
    }
    return first_broken(rules, COUNT_OF(rules));
}

/* Kafka fails here with an internal error. */
static struct refused check_tags(const struct draft *t, const heartbeat_request *r)
{
    enum { MAX_TAGS = 256 };
    if (r->client_tags.len > MAX_TAGS) {
        return invalid(STR("ClientTags has too many entries."));
    }
    for (int32_t i = 0; i < r->client_tags.len; i++) {
        for (int32_t k = 0; k < i; k++) {
            if (str_eq(r->client_tags.v[i].key, r->client_tags.v[k].key)) {
                return invalid(arena_printf(t->d->arena, "ClientTags has the key %.*s twice.", STR_ARG(r->client_tags.v[i].key)));
            }
        }
    }
    return not_refused();
}

struct refused heartbeat_check(const struct draft *t, const heartbeat_request *r)
{
    struct refused refused = check_ids(r);
    if (refused.error == KAFKA_NONE) {
        refused = r->member_epoch == 0 ? check_join(t, r) : check_others(t, r);
    }
    return refused.error == KAFKA_NONE ? check_tags(t, r) : refused;
}

/* ---- tasks it says it has ------------------------------------------------------------------------------------------------------ */

static int subtopology_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct resolved_subtopology *)in)[place].id, *(const struct str *)key);
}

static const struct resolved_subtopology *find_subtopology(const struct resolved *resolved, struct str id)
{
    int32_t place = sorted_find(resolved->subtopologies, resolved->subtopology_count, subtopology_order, &id);
    return place >= 0 ? &resolved->subtopologies[place] : NULL;
}

static struct refused unknown_task(struct str text)
{
    return (struct refused){.error = KAFKA_INVALID_REQUEST, .text = text, .rule = RULE(UNKNOWN_TASK)};
}

static struct refused check_tasks(const struct draft *t, const struct streams_group_heartbeat_request_task_ids_array *tasks)
{
    for (int32_t i = 0; i < tasks->len; i++) {
        const struct streams_group_heartbeat_request_task_ids *one = &tasks->v[i];
        const struct resolved_subtopology *subtopology = find_subtopology(streams_part(t)->resolved, one->subtopology_id);
        if (subtopology == NULL) {
            return unknown_task(
                arena_printf(t->d->arena, "Subtopology %.*s does not exist in the topology.", STR_ARG(one->subtopology_id)));
        }
        for (int32_t k = 0; k < one->partitions.len; k++) {
            int32_t partition = one->partitions.v[k];
            if (partition < 0 || partition >= subtopology->tasks) {
                return unknown_task(arena_printf(t->d->arena,
                                                 "Task %d for subtopology %.*s is invalid. Number of tasks for this subtopology: %d",
                                                 (int)partition, STR_ARG(one->subtopology_id), (int)subtopology->tasks));
            }
        }
    }
    return not_refused();
}

/* What it was given is fine, whatever became of the topics since. While the topology cannot run nobody knows how many tasks there are, and who is behind has
 * tasks of another one. */
struct refused heartbeat_check_owned(struct draft *t, const heartbeat_request *r, const struct modern_slot *slot,
                                     const struct holding *owned)
{
    struct member_position p = modern_position(slot);
    const topology *own = draft_topology(t);
    bool given = true;
    for (int k = 0; owned != NULL && given && k < UNIT_KINDS; k++) {
        given = units_within(owned->kind[k], units_join(p.assigned.kind[k], p.revoking.kind[k], t->d->arena));
    }
    if (given || own == NULL || streams_is_behind(&streams_part(t)->configs, slot->member->topology_epoch, own->epoch) ||
        streams_draft_resolve(t)->problem != TOPOLOGY_FINE) {
        return not_refused();
    }
    struct refused refused = check_tasks(t, &r->active_tasks);
    refused = refused.error == KAFKA_NONE ? check_tasks(t, &r->standby_tasks) : refused;
    return refused.error == KAFKA_NONE ? check_tasks(t, &r->warmup_tasks) : refused;
}
