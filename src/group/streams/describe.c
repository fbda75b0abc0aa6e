/* describe.c: what people are shown of a streams group: StreamsGroupDescribe, and StreamsGroupTopology of our own.
 *
 * Names within a subtopology are shown in order, whatever the order they were sent in; partition counts as derived once the topology runs, and as sent until
 * then; regular expressions as the topics they matched. Both as Kafka 4.4.0 has it. A topic that has changed since the last heartbeat shows in the counts at
 * once, in the state with the next heartbeat. */
#include "draft.h"
#include "outside.h"

/* ---- the topology ---------------------------------------------------------------------------------------------------------- */

/* For both kinds of answer: topology.h's names, sorted. Equal ones are one. */
static struct str_array sorted_names(struct unit_list *names, struct arena *arena)
{
    struct units sorted = unit_list_finish(names);
    struct str_array ret = {ARENA_NEW(arena, struct str, sorted.len), sorted.len};
    for (int32_t i = 0; i < sorted.len; i++) {
        ret.v[i] = sorted.v[i].name;
    }
    return ret;
}

static bool has_topic(const struct resolved_topics *topics, struct str name)
{
    for (int32_t i = 0; i < topics->len; i++) {
        if (str_eq(topics->v[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Those that were named, and those that regular expressions matched. */
static struct str_array source_topics(const struct resolved_subtopology *s, struct arena *arena)
{
    struct unit_list names;
    unit_list_init(&names, arena);
    for (int32_t i = 0; i < s->as_sent->source_topics.len; i++) {
        unit_list_add(&names, s->as_sent->source_topics.v[i], 0, 0);
    }
    for (int32_t i = 0; s->as_sent->source_topic_regex.len > 0 && i < s->sources.len; i++) {
        if (!has_topic(&s->repartition_sources, s->sources.v[i].name)) {
            unit_list_add(&names, s->sources.v[i].name, 0, 0);
        }
    }
    return sorted_names(&names, arena);
}

static struct str_array sink_topics(const struct resolved_subtopology *s, struct arena *arena)
{
    struct unit_list names;
    unit_list_init(&names, arena);
    for (int32_t i = 0; i < s->as_sent->repartition_sink_topics.len; i++) {
        unit_list_add(&names, s->as_sent->repartition_sink_topics.v[i], 0, 0);
    }
    return sorted_names(&names, arena);
}

static struct streams_group_describe_response_key_value_array configs_of(const struct streams_group_topology_value_topic_info *topic,
                                                                         bool in_order, struct arena *arena)
{
    struct unit_list keys;
    unit_list_init(&keys, arena);
    for (int32_t i = 0; i < topic->topic_configs.len; i++) {
        unit_list_add(&keys, in_order ? topic->topic_configs.v[i].key : STR(""), i, 0);
    }
    struct units sorted = unit_list_finish(&keys);
    struct streams_group_describe_response_key_value_array ret = {ARENA_NEW(arena, struct streams_group_describe_response_key_value,
                                                                            sorted.len),
                                                                  sorted.len};
    for (int32_t i = 0; i < sorted.len; i++) {
        int32_t at = sorted.v[i].partition;
        ret.v[i].key = topic->topic_configs.v[at].key;
        ret.v[i].value = topic->topic_configs.v[at].value;
    }
    return ret;
}

/* counts: in the order of sent; NULL: the topology does not run, and partitions and configs are shown as they were sent. */
static struct streams_group_describe_response_topic_info_array topic_infos(struct streams_group_topology_value_topic_info_array sent,
                                                                           const struct resolved_topics *counts, struct arena *arena)
{
    struct unit_list names;
    unit_list_init(&names, arena);
    for (int32_t i = 0; i < sent.len; i++) {
        unit_list_add(&names, sent.v[i].name, i, 0);
    }
    struct units sorted = unit_list_finish(&names);
    struct streams_group_describe_response_topic_info_array ret = {ARENA_NEW(arena, struct streams_group_describe_response_topic_info,
                                                                             sorted.len),
                                                                   sorted.len};
    for (int32_t i = 0; i < sorted.len; i++) {
        int32_t at = sorted.v[i].partition;
        const struct streams_group_topology_value_topic_info *topic = &sent.v[at];
        ret.v[i] =
            (struct streams_group_describe_response_topic_info){.name = topic->name,
                                                                .partitions = counts == NULL ? topic->partitions : counts->v[at].partitions,
                                                                .replication_factor = topic->replication_factor,
                                                                .topic_configs = configs_of(topic, counts != NULL, arena)};
    }
    return ret;
}

/* A group that has none shows an empty one: the clients of Kafka 4.4.0 fail without. */
static struct streams_group_describe_response_topology *describe_topology(struct decision *d, const struct modern *s)
{
    struct streams_group_describe_response_topology *ret = ARENA_NEW(d->arena, struct streams_group_describe_response_topology, 1);
    if (s->topology == NULL) {
        ret->epoch = -1;
        return ret;
    }
    struct regex_table regexes = modern_regexes(s, d->arena);
    struct resolved resolved;
    topology_resolve(s->topology->value, &regexes, d->op->topics, d->arena, &resolved);
    bool runs = s->problem == TOPOLOGY_FINE;
    ret->epoch = s->topology->value->epoch;
    ret->subtopologies.len = resolved.subtopology_count;
    ret->subtopologies.v = ARENA_NEW(d->arena, struct streams_group_describe_response_subtopology, resolved.subtopology_count);
    for (int32_t i = 0; i < resolved.subtopology_count; i++) {
        const struct resolved_subtopology *from = &resolved.subtopologies[i];
        ret->subtopologies.v[i] = (struct streams_group_describe_response_subtopology){
            .subtopology_id = from->id,
            .source_topics = source_topics(from, d->arena),
            .repartition_sink_topics = sink_topics(from, d->arena),
            .state_changelog_topics = topic_infos(from->as_sent->state_changelog_topics, runs ? &from->changelogs : NULL, d->arena),
            .repartition_source_topics =
                topic_infos(from->as_sent->repartition_source_topics, runs ? &from->repartition_sources : NULL, d->arena)};
    }
    return ret;
}

/* ---- members --------------------------------------------------------------------------------------------------------------- */

static struct streams_group_describe_response_task_ids_array tasks_of(struct units units, struct arena *arena)
{
    struct streams_group_describe_response_task_ids_array ret = {ARENA_NEW(arena, struct streams_group_describe_response_task_ids,
                                                                           units.len),
                                                                 0};
    int32_t *partitions = ARENA_NEW(arena, int32_t, units.len);
    for (int32_t i = 0; i < units.len; i++) {
        partitions[i] = units.v[i].partition;
        if (i == 0 || !str_eq(units.v[i].name, units.v[i - 1].name)) {
            ret.v[ret.len].subtopology_id = units.v[i].name;
            ret.v[ret.len].partitions.v = &partitions[i];
            ret.len++;
        }
        ret.v[ret.len - 1].partitions.len++;
    }
    return ret;
}

static struct streams_group_describe_response_assignment assignment_of(const struct holding *h, struct arena *arena)
{
    return (struct streams_group_describe_response_assignment){.active_tasks = tasks_of(h->kind[UNITS_ACTIVE], arena),
                                                               .standby_tasks = tasks_of(h->kind[UNITS_STANDBY], arena),
                                                               .warmup_tasks = tasks_of(h->kind[UNITS_WARMUP], arena)};
}

/* By task; of one that was told twice the last. */
static struct streams_group_describe_response_task_offset_array offsets_of(const struct task_offset *offsets, int32_t count,
                                                                           struct arena *arena)
{
    struct unit_list tasks;
    unit_list_init(&tasks, arena);
    for (int32_t i = count - 1; i >= 0; i--) {
        unit_list_add(&tasks, offsets[i].subtopology, offsets[i].partition, i); /* where it stands, in place of an epoch */
    }
    struct units sorted = unit_list_finish(&tasks);
    struct streams_group_describe_response_task_offset_array ret = {ARENA_NEW(arena, struct streams_group_describe_response_task_offset,
                                                                              sorted.len),
                                                                    sorted.len};
    for (int32_t i = 0; i < sorted.len; i++) {
        const struct task_offset *from = &offsets[sorted.v[i].epoch];
        ret.v[i] = (struct streams_group_describe_response_task_offset){from->subtopology, from->partition, from->offset};
    }
    return ret;
}

static void describe_member(const struct modern_slot *slot, struct arena *arena, struct streams_group_describe_response_member *ret)
{
    const struct modern_member *m = slot->member;
    struct member_position position = modern_position(slot);
    struct holding target = modern_target(slot);
    *ret = (struct streams_group_describe_response_member){.member_id = slot->member_id,
                                                           .member_epoch = position.epoch,
                                                           .instance_id = m->instance_id,
                                                           .rack_id = m->rack_id,
                                                           .client_id = m->client_id,
                                                           .client_host = m->client_host,
                                                           .topology_epoch = m->topology_epoch,
                                                           .process_id = m->process_id,
                                                           .assignment = assignment_of(&position.assigned, arena),
                                                           .target_assignment = assignment_of(&target, arena)};
    if (!str_is_null(m->endpoint_host)) {
        ret->user_endpoint = ARENA_NEW(arena, struct streams_group_describe_response_endpoint, 1);
        *ret->user_endpoint = (struct streams_group_describe_response_endpoint){m->endpoint_host, m->endpoint_port};
    }
    ret->client_tags.len = m->tag_count;
    ret->client_tags.v = ARENA_NEW(arena, struct streams_group_describe_response_key_value, m->tag_count);
    for (int32_t i = 0; i < m->tag_count; i++) {
        ret->client_tags.v[i] = (struct streams_group_describe_response_key_value){m->tags[i].key, m->tags[i].value};
    }
    if (slot->offsets != NULL) {
        ret->task_offsets = offsets_of(slot->offsets->offsets, slot->offsets->offset_count, arena);
        ret->task_end_offsets = offsets_of(slot->offsets->end_offsets, slot->offsets->end_offset_count, arena);
    }
}

static void describe_members(const struct modern *s, struct arena *arena, struct streams_group_describe_response_member_array *ret)
{
    ret->v = ARENA_NEW(arena, struct streams_group_describe_response_member, s->member_count);
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL) {
            describe_member(&s->slots[i], arena, &ret->v[ret->len++]);
        }
    }
}

/* ---- StreamsGroupDescribe ------------------------------------------------------------------------------------------------------ */

enum description_status { DESCRIPTION_NOT_REQUESTED = 0, DESCRIPTION_NOT_STORED = 1, DESCRIPTION_AVAILABLE = 3 }; /* KIP-1331 */

static void describe_description(struct decision *d, const struct modern *s, struct streams_group_describe_response_described_group *ret)
{
    const struct streams_group_describe_request *request = d->op->request;
    if (!request->include_topology_description) {
        ret->topology_description_status = DESCRIPTION_NOT_REQUESTED;
        return;
    }
    ret->topology_description = streams_description_shown(s, d->arena);
    ret->topology_description_status = ret->topology_description == NULL ? DESCRIPTION_NOT_STORED : DESCRIPTION_AVAILABLE;
}

static void describe_group(struct decision *d, const struct group *g, struct streams_group_describe_response_described_group *ret)
{
    const struct modern *s = g->streams;
    ret->group_state = str_of(streams_state_name(g, true));
    ret->group_epoch = s->epoch;
    ret->assignment_epoch = assignment_epoch(s);
    ret->topology = describe_topology(d, s);
    ret->assignor_name = STR("sticky");
    describe_members(s, d->arena, &ret->members);
    describe_description(d, s, ret);
}

/* Null when there is a streams group of that id. */
static const char *missing(struct decision *d, const struct group *g, struct streams_group_describe_response_described_group *ret)
{
    if (str_is_empty(d->op->group_id)) {
        ret->error_code = KAFKA_INVALID_GROUP_ID;
        return RULE(DESCRIBE_NO_GROUP_ID);
    }
    if (g != NULL && group_type(g) == GROUP_STREAMS) {
        return NULL;
    }
    ret->error_code = KAFKA_GROUP_ID_NOT_FOUND;
    ret->error_message = streams_not_found(d, g);
    return g == NULL ? RULE(DESCRIBE_NO_GROUP) : RULE(DESCRIBE_OTHER_TYPE);
}

struct str streams_not_found(struct decision *d, const struct group *g)
{
    return arena_printf(d->arena, g == NULL ? "Group %.*s not found." : "Group %.*s is not a streams group.", STR_ARG(d->op->group_id));
}

void streams_decide_describe(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    struct streams_group_describe_response_described_group *answer =
        ARENA_NEW(d->arena, struct streams_group_describe_response_described_group, 1);
    wire_init_type(wire_streams_group_describe_response.type->fields[1].type, answer);
    answer->group_id = d->op->group_id;
    const char *rule = missing(d, g, answer);
    if (rule == NULL) {
        describe_group(d, g, answer);
        rule = RULE(DESCRIBE);
    }
    out_answer(d, rule, answer->error_code, answer);
}

/* ---- StreamsGroupTopology --------------------------------------------------------------------------------------------------------- */

static void show_topology(const topology *t, struct arena *arena, struct streams_group_topology_response *ret)
{
    struct shape from = shape_of((struct shape){wire_streams_group_topology_value.type, 0}, "Subtopologies");
    struct shape to = shape_of((struct shape){wire_streams_group_topology_response.type, 0}, "Subtopologies");
    ret->topology_epoch = t->epoch;
    ret->topology_id = t->topology_id;
    ret->subtopologies.len = t->subtopologies.len;
    ret->subtopologies.v = reshape(from, t->subtopologies.v, t->subtopologies.len, to, arena);
}

static void show_group(struct decision *d, const struct group *g, struct streams_group_topology_response *ret)
{
    const struct modern *s = g->streams;
    ret->group_state = str_of(streams_state_name(g, false));
    ret->group_epoch = s->epoch;
    ret->problem = s->problem_detail;
    if (s->topology != NULL) {
        show_topology(s->topology->value, d->arena, ret);
    }
}

void streams_decide_topology(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    struct streams_group_topology_response *answer = ARENA_NEW(d->arena, struct streams_group_topology_response, 1);
    wire_init(&wire_streams_group_topology_response, answer);
    const char *rule = RULE(TOPOLOGY);
    if (str_is_empty(d->op->group_id)) {
        answer->error_code = KAFKA_INVALID_GROUP_ID;
        rule = RULE(TOPOLOGY_NO_GROUP_ID);
    } else if (g == NULL || group_type(g) != GROUP_STREAMS) {
        answer->error_code = KAFKA_GROUP_ID_NOT_FOUND;
        answer->error_message = streams_not_found(d, g);
        rule = g == NULL ? RULE(TOPOLOGY_NO_GROUP) : RULE(TOPOLOGY_OTHER_TYPE);
    } else {
        show_group(d, g, answer);
    }
    out_answer(d, rule, answer->error_code, answer);
}
