/* apply.c: what the records of a streams group do to its state. Each record stands for itself, whatever else is live: in any order they come to the same
 * (KAFKA-20254), a target of an unknown member is kept until its own tombstone (KAFKA-19862), a tombstone for what is not there does nothing (KAFKA-17306). */
#include "store.h"

#include <string.h>

/* The state that a record changes; NULL when it is a tombstone for nothing. */
static struct streams *state_of(const struct apply_context *c, struct str group_id, bool tombstone, struct group **ret)
{
    struct group *g = tombstone ? group_find(c->set, group_id) : group_find_or_add(c->set, group_id);
    *ret = g;
    if (g == NULL || (tombstone && g->streams == NULL)) {
        return NULL;
    }
    if (g->streams == NULL) {
        g->streams = streams_new(c->set->pool);
    }
    return streams_own(c->set, g);
}

static void free_if_gone(const struct apply_context *c, struct group *g)
{
    if (streams_is_gone(g->streams)) {
        streams_free(c->set, g);
    }
}

/* The value as logged, when the one that would be written now differs from it; else null. */
static struct bytes raw_if_other(const struct apply_context *c, const struct wire_msg *msg, const void *again)
{
    struct bytes logged = {c->raw.value.ptr + 2, c->raw.value.len - 2};
    struct bytes written = wire_encode(msg, STREAMS_VALUE_VERSION, again, c->scratch);
    bool same = get_be16(c->raw.value.ptr) == STREAMS_VALUE_VERSION && bytes_eq(logged, written);
    return same ? BYTES_NULL : pool_bytes(c->set->pool, c->raw.value);
}

static void hash_replace(const struct apply_context *c, uint64_t *at)
{
    group_hash_replace(c->set, *at, c->record_hash);
    *at = c->record_hash;
}

static void replace_str(struct pool *pool, struct str *at, struct str with)
{
    struct str copy = pool_str(pool, with);
    pool_put_str(pool, *at);
    *at = copy;
}

static void replace_raw(struct pool *pool, struct bytes *at, struct bytes with)
{
    pool_put_bytes(pool, *at);
    *at = with;
}

/* ---- blocks: one piece of the pool for a part and its texts ------------------------------------------------------------------ */

static size_t text_size(struct str s)
{
    return s.len > 0 ? (size_t)s.len : 0;
}

static struct str text_put(char **at, struct str s)
{
    if (s.len <= 0) {
        return s.len < 0 ? STR_NULL : STR("");
    }
    memcpy(*at, s.ptr, (size_t)s.len);
    struct str copy = {*at, s.len};
    *at += s.len;
    return copy;
}

/* ---- StreamsGroupMetadata ------------------------------------------------------------------------------------------------------- */

static void configs_set(const struct apply_context *c, struct streams *s, const struct streams_group_metadata_value *v)
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
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
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
    hash_replace(c, &s->record_hash);
    if (s->exists != (value != NULL)) {
        s->exists = value != NULL;
        group_phase_move(c->set, g); /* another type: what waits for a classic group has an answer */
    }
    struct bytes raw = BYTES_NULL;
    if (value != NULL) {
        struct streams_group_metadata_value again = streams_group_value(s, c->scratch);
        raw = raw_if_other(c, &wire_streams_group_metadata_value, &again);
    }
    replace_raw(pool, &s->raw, raw);
    free_if_gone(c, g);
}

/* ---- StreamsGroupTargetAssignmentMetadata ------------------------------------------------------------------------------------------ */

void streams_apply_assignment(const struct apply_context *c, const struct streams_group_target_assignment_metadata_key *key,
                              const struct streams_group_target_assignment_metadata_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    if (s == NULL) {
        return;
    }
    s->has_assignment = value != NULL;
    s->assignment_epoch = value == NULL ? 0 : value->assignment_epoch;
    s->assignment_wall_ms = value == NULL ? 0 : value->assignment_timestamp;
    s->assignment_clock_ms = value == NULL ? 0 : value->assignment_clock_ms;
    hash_replace(c, &s->assignment_hash);
    struct bytes raw = value == NULL ? BYTES_NULL : raw_if_other(c, &wire_streams_group_target_assignment_metadata_value, value);
    replace_raw(c->set->pool, &s->assignment_raw, raw);
    free_if_gone(c, g);
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
    t->raw = raw_if_other(c, &wire_streams_group_topology_value, value);
    t->record_hash = c->record_hash;
    return t;
}

void streams_apply_topology(const struct apply_context *c, const struct streams_group_topology_key *key,
                            const struct streams_group_topology_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    if (s == NULL) {
        return;
    }
    group_hash_replace(c->set, s->topology == NULL ? 0 : s->topology->record_hash, c->record_hash);
    topology_put(c->set->pool, s->topology);
    s->topology = value == NULL ? NULL : topology_new(c, value);
    free_if_gone(c, g);
}

/* ---- StreamsTopologyDescription ------------------------------------------------------------------------------------------------------------ */

void streams_apply_description(const struct apply_context *c, const struct streams_topology_description_key *key,
                               const struct streams_topology_description_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
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
    free_if_gone(c, g);
}

/* ---- ConsumerGroupRegularExpression ---------------------------------------------------------------------------------------------------------- */

/* The topics in order of names, each once. */
static struct units topics_sorted(const struct str_array *topics, struct arena *arena)
{
    struct unit_list list;
    unit_list_init(&list, arena);
    for (int32_t i = 0; i < topics->len; i++) {
        unit_list_add(&list, topics->v[i], 0, 0);
    }
    return unit_list_finish(&list);
}

static struct modern_regex *regex_new(const struct apply_context *c, struct str regex,
                                      const struct consumer_group_regular_expression_value *v)
{
    struct units topics = topics_sorted(&v->topics, c->scratch);
    size_t bytes = sizeof(struct modern_regex) + (size_t)topics.len * sizeof(struct str) + text_size(regex);
    for (int32_t i = 0; i < topics.len; i++) {
        bytes += text_size(topics.v[i].name);
    }
    struct modern_regex *r = pool_get(c->set->pool, bytes);
    r->references = 1;
    r->bytes = bytes;
    r->topics = (struct str_array){(struct str *)(r + 1), topics.len};
    char *text = (char *)(r->topics.v + topics.len);
    r->regex = text_put(&text, regex);
    for (int32_t i = 0; i < topics.len; i++) {
        r->topics.v[i] = text_put(&text, topics.v[i].name);
    }
    r->version = v->version;
    r->timestamp = v->timestamp;
    struct consumer_group_regular_expression_value again = *v;
    again.topics = r->topics;
    r->raw = raw_if_other(c, &wire_consumer_group_regular_expression_value, &again);
    r->record_hash = c->record_hash;
    return r;
}

static void regexes_insert(struct pool *pool, struct streams *s, int32_t place, struct modern_regex *r)
{
    size_t size = sizeof(struct modern_regex *);
    if (s->regex_count == s->regex_capacity) {
        int32_t capacity = s->regex_capacity == 0 ? 4 : 2 * s->regex_capacity;
        s->regexes = pool_resize(pool, s->regexes, (size_t)s->regex_capacity * size, (size_t)capacity * size);
        s->regex_capacity = capacity;
    }
    memmove(&s->regexes[place + 1], &s->regexes[place], (size_t)(s->regex_count - place) * size);
    s->regexes[place] = r;
    s->regex_count++;
}

void streams_apply_regex(const struct apply_context *c, const struct consumer_group_regular_expression_key *key,
                         const struct consumer_group_regular_expression_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    bool found = false;
    int32_t place = s == NULL ? 0 : regexes_place(s, key->regular_expression, &found);
    if (s == NULL || (value == NULL && !found)) {
        return;
    }
    group_hash_replace(c->set, found ? s->regexes[place]->record_hash : 0, c->record_hash);
    if (found) {
        regex_put(c->set->pool, s->regexes[place]);
    }
    if (value == NULL) {
        s->regex_count--;
        memmove(&s->regexes[place], &s->regexes[place + 1], (size_t)(s->regex_count - place) * sizeof(struct modern_regex *));
    } else if (found) {
        s->regexes[place] = regex_new(c, key->regular_expression, value);
    } else {
        regexes_insert(c->set->pool, s, place, regex_new(c, key->regular_expression, value));
    }
    free_if_gone(c, g);
}

/* ---- parts of a slot ----------------------------------------------------------------------------------------------------------------------------- */

/* The slot whose part a record changes, emptied of it; its hash goes, too. NULL for a tombstone of nothing. */
static struct modern_slot *part_of(const struct apply_context *c, struct streams *s, struct str member_id, enum slot_part part,
                                   bool tombstone)
{
    bool found;
    int32_t place = slots_place(s, member_id, &found);
    if (tombstone && (!found || !slot_has(&s->slots[place], part))) {
        return NULL;
    }
    struct modern_slot *slot = found ? &s->slots[place] : slots_get(c->set->pool, s, member_id);
    uint64_t old = 0;
    if (slot_has(slot, part)) {
        old = part == SLOT_MEMBER    ? slot->member->record_hash
              : part == SLOT_TARGET  ? slot->target.record_hash
              : part == SLOT_CURRENT ? slot->current->record_hash
                                     : slot->offsets->record_hash;
    }
    group_hash_replace(c->set, old, c->record_hash);
    if (part == SLOT_MEMBER && slot->member != NULL) {
        instances_remove(s, slot);
        s->member_count--;
        c->set->counts.members--;
    }
    slot_drop(c->set->pool, slot, part);
    return slot;
}

static void part_gone(const struct apply_context *c, struct group *g, struct modern_slot *slot)
{
    slots_remove_if_empty(c->set->pool, g->streams, (int32_t)(slot - g->streams->slots));
    free_if_gone(c, g);
}

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
    m->references = 1;
    m->bytes = bytes;
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
    struct streams_group_member_metadata_value again = streams_member_value(m, c->scratch);
    m->raw = raw_if_other(c, &wire_streams_group_member_metadata_value, &again);
    m->record_hash = c->record_hash;
    return m;
}

void streams_apply_member(const struct apply_context *c, const struct streams_group_member_metadata_key *key,
                          const struct streams_group_member_metadata_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    struct modern_slot *slot = s == NULL ? NULL : part_of(c, s, key->member_id, SLOT_MEMBER, value == NULL);
    if (slot == NULL) {
        return;
    }
    if (value == NULL) {
        part_gone(c, g, slot);
        return;
    }
    slot->member = member_new(c, value);
    s->member_count++;
    c->set->counts.members++;
    instances_add(c->set->pool, s, slot);
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
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    struct modern_slot *slot = s == NULL ? NULL : part_of(c, s, key->member_id, SLOT_TARGET, value == NULL);
    if (slot == NULL) {
        return;
    }
    if (value == NULL) {
        part_gone(c, g, slot);
        return;
    }
    struct holding target = {{target_units(&value->active_tasks, c->scratch), target_units(&value->standby_tasks, c->scratch),
                              target_units(&value->warmup_tasks, c->scratch)}};
    struct streams_group_target_assignment_member_value again = streams_target_value(&target, c->scratch);
    slot->target.held = held_new(c->set->pool, &target);
    slot->target.raw = raw_if_other(c, &wire_streams_group_target_assignment_member_value, &again);
    slot->target.record_hash = c->record_hash;
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

static struct modern_current *current_new(const struct apply_context *c, const struct streams_group_current_member_assignment_value *v)
{
    struct arena *arena = c->scratch;
    struct member_position p = {.epoch = v->member_epoch,
                                .previous_epoch = v->previous_member_epoch,
                                .state = (enum member_state)v->state,
                                .assigned = {{current_units(&v->active_tasks, arena), current_units(&v->standby_tasks, arena),
                                              current_units(&v->warmup_tasks, arena)}},
                                .revoking = {{current_units(&v->active_tasks_pending_revocation, arena),
                                              current_units(&v->standby_tasks_pending_revocation, arena),
                                              current_units(&v->warmup_tasks_pending_revocation, arena)}}};
    struct modern_current *current = pool_get(c->set->pool, sizeof *current);
    current->references = 1;
    current->epoch = v->member_epoch;
    current->previous_epoch = v->previous_member_epoch;
    current->state = v->state;
    current->assigned = held_new(c->set->pool, &p.assigned);
    current->revoking = held_new(c->set->pool, &p.revoking);
    struct streams_group_current_member_assignment_value again = streams_current_value(&p, arena);
    current->raw = raw_if_other(c, &wire_streams_group_current_member_assignment_value, &again);
    current->record_hash = c->record_hash;
    return current;
}

void streams_apply_current(const struct apply_context *c, const struct streams_group_current_member_assignment_key *key,
                           const struct streams_group_current_member_assignment_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    struct modern_slot *slot = s == NULL ? NULL : part_of(c, s, key->member_id, SLOT_CURRENT, value == NULL);
    if (slot == NULL) {
        return;
    }
    if (value == NULL) {
        part_gone(c, g, slot);
        return;
    }
    slot->current = current_new(c, value);
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
    o->references = 1;
    o->bytes = bytes;
    o->offset_count = v->task_offsets.len;
    o->end_offset_count = v->task_end_offsets.len;
    o->offsets = (struct task_offset *)(o + 1);
    o->end_offsets = o->offsets + o->offset_count;
    char *text = (char *)(o->end_offsets + o->end_offset_count);
    offsets_fill(&v->task_offsets, o->offsets, &text);
    offsets_fill(&v->task_end_offsets, o->end_offsets, &text);
    o->raw = raw_if_other(c, &wire_streams_task_offsets_value, v);
    o->record_hash = c->record_hash;
    return o;
}

void streams_apply_task_offsets(const struct apply_context *c, const struct streams_task_offsets_key *key,
                                const struct streams_task_offsets_value *value)
{
    struct group *g;
    struct streams *s = state_of(c, key->group_id, value == NULL, &g);
    struct modern_slot *slot = s == NULL ? NULL : part_of(c, s, key->member_id, SLOT_OFFSETS, value == NULL);
    if (slot == NULL) {
        return;
    }
    if (value == NULL) {
        part_gone(c, g, slot);
        return;
    }
    slot->offsets = offsets_new(c, value);
}
