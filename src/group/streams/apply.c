/* apply.c: what the records of a streams group say. ../modern/apply.c has what they do to its state. */
#include "streams.h"

static void replace_str(struct pool *pool, struct str *at, struct str with)
{
    struct str copy = pool_str(pool, with);
    pool_put_str(pool, *at);
    *at = copy;
}

/* ---- StreamsGroupMetadata ------------------------------------------------------------------------------------------------------- */

static void configs_set(const struct apply_context *c, struct modern *s, const struct streams_group_metadata_value *v)
{
    struct pool *pool = c->set->pool;
    int32_t count = v->last_assignment_configs.len;
    struct key_value *configs = ARENA_NEW(c->scratch, struct key_value, count > 0 ? count : 0);
    for (int32_t i = 0; i < count; i++) {
        configs[i] = (struct key_value){v->last_assignment_configs.v[i].key, v->last_assignment_configs.v[i].value};
    }
    configs_put(pool, s->configs, s->config_count);
    s->configs = configs_copy(pool, configs, count);
    s->config_count = count;
}

void streams_apply_group(const struct apply_context *c, const struct streams_group_metadata_key *key,
                         const struct streams_group_metadata_value *value)
{
    struct group *g;
    struct modern *s = modern_state(c, &streams_kind, key->group_id, &g);
    if (s == NULL) {
        return;
    }
    struct pool *pool = c->set->pool;
    struct streams_group_metadata_value none;
    wire_init(&wire_streams_group_metadata_value, &none);
    const struct streams_group_metadata_value *v = value == NULL ? &none : value;
    s->epoch = v->epoch;
    s->metadata_hash = v->metadata_hash;
    s->validated_topology_epoch = v->validated_topology_epoch;
    configs_set(c, s, v);
    s->stored_description_epoch = v->stored_description_topology_epoch;
    s->failed_description_epoch = v->failed_description_topology_epoch;
    s->endpoint_epoch = v->endpoint_information_epoch;
    replace_str(pool, &s->shutdown_member, v->shutdown_member_id);
    s->problem = v->topology_problem;
    replace_str(pool, &s->problem_detail, v->topology_problem_detail);
    s->assign_not_before_ms = v->assign_not_before_ms;
    s->empty_since_ms = v->empty_since_ms;
    replace_str(pool, &s->initializing_member, v->initializing_member_id);
    s->initialize_until_ms = v->initialize_until_ms;
    group_beat_phase_move(c->set, g); /* much of it is told with heartbeats */
    modern_applied_group(c, &streams_kind, g);
}

/* ---- StreamsGroupTargetAssignmentMetadata ------------------------------------------------------------------------------------------ */

void streams_apply_assignment(const struct apply_context *c, const struct streams_group_target_assignment_metadata_key *key,
                              const struct streams_group_target_assignment_metadata_value *value)
{
    struct modern_assigned said = {0};
    if (value != NULL) {
        said = (struct modern_assigned){value->assignment_epoch, value->assignment_timestamp, value->assignment_clock_ms};
    }
    modern_apply_assignment(c, &streams_kind, key->group_id, value == NULL ? NULL : &said);
}

/* ---- StreamsGroupTopology -------------------------------------------------------------------------------------------------------------- */

static struct streams_topology *topology_new(const struct apply_context *c, const struct streams_group_topology_value *value)
{
    struct pool *pool = c->set->pool;
    const struct wire_type *type = wire_streams_group_topology_value.type;
    size_t head = (sizeof(struct streams_topology) + 7) / 8 * 8;
    size_t bytes = head + wire_copy_size(type, value);
    struct streams_topology *t = pool_get(pool, bytes);
    t->references = 1;
    t->bytes = bytes;
    t->value = wire_copy(type, value, (uint8_t *)t + head);
    t->raw = modern_raw(c, value);
    t->record_hash = c->record_hash;
    return t;
}

void streams_apply_topology(const struct apply_context *c, const struct streams_group_topology_key *key,
                            const struct streams_group_topology_value *value)
{
    struct group *g;
    struct modern *s = modern_state(c, &streams_kind, key->group_id, &g);
    if (s == NULL) {
        return;
    }
    group_hash_replace(c->set, s->topology == NULL ? 0 : s->topology->record_hash, c->record_hash);
    topology_put(c->set->pool, s->topology);
    s->topology = value == NULL ? NULL : topology_new(c, value);
    group_beat_phase_move(c->set, g);
    modern_free_if_gone(c, &streams_kind, g);
}

/* ---- StreamsTopologyDescription ------------------------------------------------------------------------------------------------------------ */

void streams_apply_description(const struct apply_context *c, const struct streams_topology_description_key *key,
                               const struct streams_topology_description_value *value)
{
    struct group *g;
    struct modern *s = modern_state(c, &streams_kind, key->group_id, &g);
    if (s == NULL) {
        return;
    }
    struct pool *pool = c->set->pool;
    group_hash_replace(c->set, s->description == NULL ? 0 : s->description->record_hash, c->record_hash);
    description_put(pool, s->description);
    s->description = NULL;
    if (value != NULL) {
        struct streams_description *d = pool_get(pool, sizeof *d);
        d->references = 1;
        d->raw = pool_bytes(pool, c->raw.value);
        d->value = (struct bytes){d->raw.ptr + 2, d->raw.len - 2};
        d->topology_epoch = value->topology_epoch;
        d->record_hash = c->record_hash;
        s->description = d;
    }
    modern_free_if_gone(c, &streams_kind, g);
}

/* ---- StreamsRegularExpression ---------------------------------------------------------------------------------------------------------------- */

void streams_apply_regex(const struct apply_context *c, const struct streams_regular_expression_key *key,
                         const struct streams_regular_expression_value *value)
{
    struct modern_regex said = {0};
    if (value != NULL) {
        said = (struct modern_regex){.topics = value->topics, .version = value->version, .timestamp = value->timestamp};
    }
    modern_apply_regex(c, &streams_kind, key->group_id, key->regular_expression, value == NULL ? NULL : &said);
}

/* ---- StreamsGroupMemberMetadata -------------------------------------------------------------------------------------------------------------- */

static struct modern_member *member_new(const struct apply_context *c, const struct streams_group_member_metadata_value *v)
{
    struct str host = v->user_endpoint == NULL ? STR_NULL : v->user_endpoint->host;
    int32_t tags = v->client_tags.len;
    size_t bytes = sizeof(struct modern_member) + (size_t)tags * sizeof(struct key_value) + text_size(v->instance_id) +
                   text_size(v->rack_id) + text_size(v->client_id) + text_size(v->client_host) + text_size(v->process_id) + text_size(host);
    for (int32_t i = 0; i < tags; i++) {
        bytes += text_size(v->client_tags.v[i].key) + text_size(v->client_tags.v[i].value);
    }
    struct modern_member *m = pool_get(c->set->pool, bytes);
    m->bytes = bytes;
    m->regex = STR_NULL;
    m->assignor = STR_NULL;
    m->tags = (struct key_value *)(m + 1);
    m->tag_count = tags;
    char *text = (char *)(m->tags + tags);
    m->instance_id = text_put(&text, v->instance_id);
    m->rack_id = text_put(&text, v->rack_id);
    m->client_id = text_put(&text, v->client_id);
    m->client_host = text_put(&text, v->client_host);
    m->process_id = text_put(&text, v->process_id);
    m->endpoint_host = text_put(&text, host);
    for (int32_t i = 0; i < tags; i++) {
        m->tags[i].key = text_put(&text, v->client_tags.v[i].key);
        m->tags[i].value = text_put(&text, v->client_tags.v[i].value);
    }
    m->rebalance_timeout_ms = v->rebalance_timeout_ms;
    m->topology_epoch = v->topology_epoch;
    m->endpoint_port = v->user_endpoint == NULL ? 0 : v->user_endpoint->port;
    return m;
}

void streams_apply_member(const struct apply_context *c, const struct streams_group_member_metadata_key *key,
                          const struct streams_group_member_metadata_value *value)
{
    modern_apply_member(c, &streams_kind, key->group_id, key->member_id, value == NULL ? NULL : member_new(c, value));
}

/* ---- StreamsGroupTargetAssignmentMember, StreamsGroupCurrentMemberAssignment ---------------------------------------------------------------------- */

static struct units target_units(const struct streams_group_target_assignment_member_value_task_ids_array *tasks, struct arena *arena)
{
    struct unit_list list;
    unit_list_init(&list, arena);
    for (int32_t i = 0; i < tasks->len; i++) {
        for (int32_t k = 0; k < tasks->v[i].partitions.len; k++) {
            unit_list_add(&list, tasks->v[i].subtopology_id, tasks->v[i].partitions.v[k], 0);
        }
    }
    return unit_list_finish(&list);
}

void streams_apply_target(const struct apply_context *c, const struct streams_group_target_assignment_member_key *key,
                          const struct streams_group_target_assignment_member_value *value)
{
    struct holding target = {0};
    if (value != NULL) {
        target = (struct holding){{target_units(&value->active_tasks, c->scratch), target_units(&value->standby_tasks, c->scratch),
                                   target_units(&value->warmup_tasks, c->scratch)}};
    }
    modern_apply_target(c, &streams_kind, key->group_id, key->member_id, value == NULL ? NULL : &target);
}

static struct units current_units(const struct streams_group_current_member_assignment_value_task_ids_array *tasks, struct arena *arena)
{
    struct unit_list list;
    unit_list_init(&list, arena);
    for (int32_t i = 0; i < tasks->len; i++) {
        const struct streams_group_current_member_assignment_value_task_ids *ids = &tasks->v[i];
        for (int32_t k = 0; k < ids->partitions.len; k++) {
            int32_t epoch = k < ids->assignment_epochs.len ? ids->assignment_epochs.v[k] : 0;
            unit_list_add(&list, ids->subtopology_id, ids->partitions.v[k], epoch);
        }
    }
    return unit_list_finish(&list);
}

static struct member_position position_of(const struct streams_group_current_member_assignment_value *v, struct arena *arena)
{
    return (struct member_position){.epoch = v->member_epoch,
                                    .previous_epoch = v->previous_member_epoch,
                                    .state = (enum member_state)v->state,
                                    .assigned = {{current_units(&v->active_tasks, arena), current_units(&v->standby_tasks, arena),
                                                  current_units(&v->warmup_tasks, arena)}},
                                    .revoking = {{current_units(&v->active_tasks_pending_revocation, arena),
                                                  current_units(&v->standby_tasks_pending_revocation, arena),
                                                  current_units(&v->warmup_tasks_pending_revocation, arena)}}};
}

void streams_apply_current(const struct apply_context *c, const struct streams_group_current_member_assignment_key *key,
                           const struct streams_group_current_member_assignment_value *value)
{
    struct member_position p = {.state = MEMBER_STABLE};
    if (value != NULL) {
        p = position_of(value, c->scratch);
    }
    modern_apply_current(c, &streams_kind, key->group_id, key->member_id, value == NULL ? NULL : &p);
}

/* ---- StreamsTaskOffsets -------------------------------------------------------------------------------------------------------------------------------- */

static size_t offsets_size(const struct streams_task_offsets_value_task_offset_array *offsets)
{
    size_t bytes = (size_t)offsets->len * sizeof(struct task_offset);
    for (int32_t i = 0; i < offsets->len; i++) {
        bytes += text_size(offsets->v[i].subtopology_id);
    }
    return bytes;
}

static void offsets_fill(const struct streams_task_offsets_value_task_offset_array *from, struct task_offset *to, char **text)
{
    for (int32_t i = 0; i < from->len; i++) {
        to[i] = (struct task_offset){text_put(text, from->v[i].subtopology_id), from->v[i].partition, from->v[i].offset};
    }
}

static struct modern_offsets *offsets_new(const struct apply_context *c, const struct streams_task_offsets_value *v)
{
    size_t bytes = sizeof(struct modern_offsets) + offsets_size(&v->task_offsets) + offsets_size(&v->task_end_offsets);
    struct modern_offsets *o = pool_get(c->set->pool, bytes);
    o->bytes = bytes;
    o->offset_count = v->task_offsets.len;
    o->end_offset_count = v->task_end_offsets.len;
    o->offsets = (struct task_offset *)(o + 1);
    o->end_offsets = o->offsets + o->offset_count;
    char *text = (char *)(o->end_offsets + o->end_offset_count);
    offsets_fill(&v->task_offsets, o->offsets, &text);
    offsets_fill(&v->task_end_offsets, o->end_offsets, &text);
    return o;
}

void streams_apply_task_offsets(const struct apply_context *c, const struct streams_task_offsets_key *key,
                                const struct streams_task_offsets_value *value)
{
    modern_apply_offsets(c, &streams_kind, key->group_id, key->member_id, value == NULL ? NULL : offsets_new(c, value));
}
