/* record.c: the state of a streams group as records again, byte for byte as they were logged, in an order of their own. */
#include "store.h"

/* ---- values ---------------------------------------------------------------------------------------------------------------------- */

struct streams_group_metadata_value streams_group_value(const struct streams *s, struct arena *arena)
{
    struct streams_group_metadata_value v;
    wire_init(&wire_streams_group_metadata_value, &v);
    if (s == NULL) {
        return v;
    }
    v.epoch = s->epoch;
    v.metadata_hash = s->metadata_hash;
    v.validated_topology_epoch = s->validated_topology_epoch;
    v.last_assignment_configs.len = s->config_count;
    v.last_assignment_configs.v =
        s->config_count <= 0 ? NULL : ARENA_NEW(arena, struct streams_group_metadata_value_last_assignment_config, s->config_count);
    for (int32_t i = 0; i < s->config_count; i++) {
        v.last_assignment_configs.v[i].key = s->configs[i].key;
        v.last_assignment_configs.v[i].value = s->configs[i].value;
    }
    v.stored_description_topology_epoch = s->stored_description_epoch;
    v.failed_description_topology_epoch = s->failed_description_epoch;
    v.endpoint_information_epoch = s->endpoint_epoch;
    v.shutdown_member_id = s->shutdown_member;
    v.topology_problem = s->problem;
    v.topology_problem_detail = s->problem_detail;
    v.assign_not_before_ms = s->assign_not_before_ms;
    v.empty_since_ms = s->empty_since_ms;
    v.initializing_member_id = s->initializing_member;
    v.initialize_until_ms = s->initialize_until_ms;
    return v;
}

struct streams_group_member_metadata_value streams_member_value(const struct modern_member *m, struct arena *arena)
{
    struct streams_group_member_metadata_value v;
    wire_init(&wire_streams_group_member_metadata_value, &v);
    v.instance_id = m->instance_id;
    v.rack_id = m->rack_id;
    v.client_id = m->client_id;
    v.client_host = m->client_host;
    v.rebalance_timeout_ms = m->rebalance_timeout_ms;
    v.topology_epoch = m->topology_epoch;
    v.process_id = m->process_id;
    if (!str_is_null(m->endpoint_host)) {
        v.user_endpoint = ARENA_NEW(arena, struct streams_group_member_metadata_value_endpoint, 1);
        v.user_endpoint->host = m->endpoint_host;
        v.user_endpoint->port = m->endpoint_port;
    }
    v.client_tags.len = m->tag_count;
    v.client_tags.v = ARENA_NEW(arena, struct streams_group_member_metadata_value_key_value, m->tag_count);
    for (int32_t i = 0; i < m->tag_count; i++) {
        v.client_tags.v[i].key = m->tags[i].key;
        v.client_tags.v[i].value = m->tags[i].value;
    }
    return v;
}

/* How many units from there on have the same name. */
static int32_t run_length(struct units u, int32_t at)
{
    int32_t end = at + 1;
    while (end < u.len && str_eq(u.v[end].name, u.v[at].name)) {
        end++;
    }
    return end - at;
}

static int32_t count_runs(struct units u)
{
    int32_t runs = 0;
    for (int32_t i = 0; i < u.len; i += run_length(u, i)) {
        runs++;
    }
    return runs;
}

static struct int32_array run_partitions(struct units u, int32_t at, int32_t len, struct arena *arena)
{
    struct int32_array partitions = {ARENA_NEW(arena, int32_t, len), len};
    for (int32_t i = 0; i < len; i++) {
        partitions.v[i] = u.v[at + i].partition;
    }
    return partitions;
}

/* Active tasks always carry the epochs they were given with; the others, which nobody commits for, only if they have any. */
static struct int32_array run_epochs(struct units u, int32_t at, int32_t len, bool active, struct arena *arena)
{
    struct int32_array epochs = {ARENA_NEW(arena, int32_t, len), len};
    bool some = active;
    for (int32_t i = 0; i < len; i++) {
        epochs.v[i] = u.v[at + i].epoch;
        some = some || epochs.v[i] != 0;
    }
    return some ? epochs : (struct int32_array){NULL, -1};
}

static struct streams_group_target_assignment_member_value_task_ids_array target_tasks(struct units u, struct arena *arena)
{
    struct streams_group_target_assignment_member_value_task_ids_array tasks = {NULL, 0};
    tasks.v = ARENA_NEW(arena, struct streams_group_target_assignment_member_value_task_ids, count_runs(u));
    for (int32_t i = 0, len; i < u.len; i += len) {
        len = run_length(u, i);
        tasks.v[tasks.len].subtopology_id = u.v[i].name;
        tasks.v[tasks.len++].partitions = run_partitions(u, i, len, arena);
    }
    return tasks;
}

struct streams_group_target_assignment_member_value streams_target_value(const struct holding *target, struct arena *arena)
{
    return (struct streams_group_target_assignment_member_value){.active_tasks = target_tasks(target->kind[UNITS_ACTIVE], arena),
                                                                 .standby_tasks = target_tasks(target->kind[UNITS_STANDBY], arena),
                                                                 .warmup_tasks = target_tasks(target->kind[UNITS_WARMUP], arena)};
}

static struct streams_group_current_member_assignment_value_task_ids_array current_tasks(const struct holding *h, enum unit_kind kind,
                                                                                         struct arena *arena)
{
    struct units u = h->kind[kind];
    struct streams_group_current_member_assignment_value_task_ids_array tasks = {NULL, 0};
    tasks.v = ARENA_NEW(arena, struct streams_group_current_member_assignment_value_task_ids, count_runs(u));
    for (int32_t i = 0, len; i < u.len; i += len) {
        len = run_length(u, i);
        tasks.v[tasks.len].subtopology_id = u.v[i].name;
        tasks.v[tasks.len].partitions = run_partitions(u, i, len, arena);
        tasks.v[tasks.len++].assignment_epochs = run_epochs(u, i, len, kind == UNITS_ACTIVE, arena);
    }
    return tasks;
}

struct streams_group_current_member_assignment_value streams_current_value(const struct member_position *p, struct arena *arena)
{
    struct streams_group_current_member_assignment_value v;
    wire_init(&wire_streams_group_current_member_assignment_value, &v);
    v.member_epoch = p->epoch;
    v.previous_member_epoch = p->previous_epoch;
    v.state = (int8_t)p->state;
    v.active_tasks = current_tasks(&p->assigned, UNITS_ACTIVE, arena);
    v.standby_tasks = current_tasks(&p->assigned, UNITS_STANDBY, arena);
    v.warmup_tasks = current_tasks(&p->assigned, UNITS_WARMUP, arena);
    v.active_tasks_pending_revocation = current_tasks(&p->revoking, UNITS_ACTIVE, arena);
    v.standby_tasks_pending_revocation = current_tasks(&p->revoking, UNITS_STANDBY, arena);
    v.warmup_tasks_pending_revocation = current_tasks(&p->revoking, UNITS_WARMUP, arena);
    return v;
}

static struct streams_task_offsets_value_task_offset_array task_offsets(const struct task_offset *from, int32_t count, struct arena *arena)
{
    struct streams_task_offsets_value_task_offset_array offsets = {NULL, count};
    offsets.v = ARENA_NEW(arena, struct streams_task_offsets_value_task_offset, count);
    for (int32_t i = 0; i < count; i++) {
        offsets.v[i].subtopology_id = from[i].subtopology;
        offsets.v[i].partition = from[i].partition;
        offsets.v[i].offset = from[i].offset;
    }
    return offsets;
}

/* ---- places: the order of a group's records ------------------------------------------------------------------------------------------- */

enum section { OF_GROUP, OF_REGEXES, OF_MEMBERS };
struct place {
    enum section section;
    struct str name; /* the regular expression or the member id */
    int32_t part;    /* in parts_of_group or parts_of_member */
};
static const int16_t parts_of_group[] = {RECORD_STREAMS_GROUP_METADATA, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA,
                                         RECORD_STREAMS_GROUP_TOPOLOGY, RECORD_STREAMS_TOPOLOGY_DESCRIPTION};
static const int16_t parts_of_member[] = {RECORD_STREAMS_GROUP_MEMBER_METADATA, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
                                          RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, RECORD_STREAMS_TASK_OFFSETS};
static const enum slot_part slot_parts[] = {SLOT_MEMBER, SLOT_TARGET, SLOT_CURRENT, SLOT_OFFSETS};

static int32_t part_of_type(const int16_t *types, size_t count, int16_t type)
{
    for (size_t i = 0; i < count; i++) {
        if (types[i] == type) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* A key is its type, the group's id, and the name of its section, each text behind its length. */
static struct place place_of(struct bytes key)
{
    MUSTER_CHECK(key.len >= 4);
    int16_t type = (int16_t)get_be16(key.ptr);
    struct place p = {.section = OF_GROUP, .name = STR_NULL, .part = part_of_type(parts_of_group, COUNT_OF(parts_of_group), type)};
    if (p.part >= 0) {
        return p;
    }
    int32_t at = 4 + get_be16(key.ptr + 2);
    MUSTER_CHECK(key.len >= at + 2);
    p.name = (struct str){(const char *)key.ptr + at + 2, get_be16(key.ptr + at)};
    MUSTER_CHECK(key.len == at + 2 + p.name.len);
    p.part = part_of_type(parts_of_member, COUNT_OF(parts_of_member), type);
    MUSTER_CHECK(p.part >= 0 || type == RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION);
    p.section = p.part >= 0 ? OF_MEMBERS : OF_REGEXES;
    return p;
}

int streams_key_cmp(struct bytes a, struct bytes b)
{
    struct place pa = place_of(a), pb = place_of(b);
    if (pa.section != pb.section) {
        return pa.section < pb.section ? -1 : 1;
    }
    int order = str_cmp(pa.name, pb.name);
    return order != 0 ? order : (pa.part > pb.part) - (pa.part < pb.part);
}

static bool group_part_is_live(const struct streams *s, int16_t type)
{
    switch (type) {
    case RECORD_STREAMS_GROUP_METADATA:
        return s->exists;
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA:
        return s->has_assignment;
    case RECORD_STREAMS_GROUP_TOPOLOGY:
        return s->topology != NULL;
    default:
        return s->description != NULL;
    }
}

static bool next_of_group(const struct streams *s, int32_t part, struct place *ret)
{
    for (; part < (int32_t)COUNT_OF(parts_of_group); part++) {
        if (group_part_is_live(s, parts_of_group[part])) {
            *ret = (struct place){.section = OF_GROUP, .name = STR_NULL, .part = part};
            return true;
        }
    }
    return false;
}

static bool next_regex(const struct streams *s, const struct place *after, struct place *ret)
{
    bool found = false;
    int32_t i = after == NULL ? 0 : regexes_place(s, after->name, &found);
    i += found ? 1 : 0;
    if (i < s->regex_count) {
        *ret = (struct place){.section = OF_REGEXES, .name = s->regexes[i]->regex};
    }
    return i < s->regex_count;
}

static bool next_of_members(const struct streams *s, const struct place *after, struct place *ret)
{
    bool found = false;
    int32_t i = after == NULL ? 0 : slots_place(s, after->name, &found);
    for (int32_t part = found ? after->part + 1 : 0; i < s->slot_count; i++, part = 0) {
        for (; part < (int32_t)COUNT_OF(slot_parts); part++) {
            if (slot_has(&s->slots[i], slot_parts[part])) {
                *ret = (struct place){.section = OF_MEMBERS, .name = s->slots[i].member_id, .part = part};
                return true;
            }
        }
    }
    return false;
}

/* ---- the record of a place ------------------------------------------------------------------------------------------------------------------ */

/* The value as it was logged goes before the one that would be written. */
static struct record record_with(int16_t type, const void *key, const void *value, struct bytes raw, struct arena *arena)
{
    if (raw.len < 0) {
        return wire_record_encode(type, key, STREAMS_VALUE_VERSION, value, arena);
    }
    struct record record = wire_record_encode(type, key, STREAMS_VALUE_VERSION, NULL, arena);
    record.value = arena_bytes(arena, raw);
    return record;
}

static struct record record_of_group(const struct group *g, int32_t part, struct arena *arena)
{
    const struct streams *s = g->streams;
    struct streams_group_metadata_key key = {.group_id = g->id}; /* the others' are the same */
    int16_t type = parts_of_group[part];
    switch (type) {
    case RECORD_STREAMS_GROUP_METADATA: {
        struct streams_group_metadata_value value = streams_group_value(s, arena);
        return record_with(type, &key, &value, s->raw, arena);
    }
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: {
        struct streams_group_target_assignment_metadata_value value = {.assignment_epoch = s->assignment_epoch,
                                                                       .assignment_timestamp = s->assignment_wall_ms,
                                                                       .assignment_clock_ms = s->assignment_clock_ms};
        return record_with(type, &key, &value, s->assignment_raw, arena);
    }
    case RECORD_STREAMS_GROUP_TOPOLOGY:
        return record_with(type, &key, s->topology->value, s->topology->raw, arena);
    default:
        return record_with(type, &key, NULL, s->description->raw, arena);
    }
}

static struct record regex_record(const struct group *g, const struct modern_regex *r, struct arena *arena)
{
    struct consumer_group_regular_expression_key key = {.group_id = g->id, .regular_expression = r->regex};
    struct consumer_group_regular_expression_value value = {.topics = r->topics, .version = r->version, .timestamp = r->timestamp};
    return record_with(RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION, &key, &value, r->raw, arena);
}

static struct record record_of_member(const struct group *g, const struct modern_slot *slot, int32_t part, struct arena *arena)
{
    struct streams_group_member_metadata_key key = {.group_id = g->id, .member_id = slot->member_id}; /* the others' are the same */
    int16_t type = parts_of_member[part];
    switch (type) {
    case RECORD_STREAMS_GROUP_MEMBER_METADATA: {
        struct streams_group_member_metadata_value value = streams_member_value(slot->member, arena);
        return record_with(type, &key, &value, slot->member->raw, arena);
    }
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: {
        struct streams_group_target_assignment_member_value value = streams_target_value(&slot->target.held->holding, arena);
        return record_with(type, &key, &value, slot->target.raw, arena);
    }
    case RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: {
        struct member_position position = streams_position(slot);
        struct streams_group_current_member_assignment_value value = streams_current_value(&position, arena);
        return record_with(type, &key, &value, slot->current->raw, arena);
    }
    default: {
        const struct modern_offsets *o = slot->offsets;
        struct streams_task_offsets_value value = {.task_offsets = task_offsets(o->offsets, o->offset_count, arena),
                                                   .task_end_offsets = task_offsets(o->end_offsets, o->end_offset_count, arena)};
        return record_with(type, &key, &value, o->raw, arena);
    }
    }
}

/* The live record of that place; false when there is none. */
static bool record_at(const struct group *g, const struct place *p, struct arena *arena, struct record *ret)
{
    const struct streams *s = g->streams;
    bool found = false;
    int32_t i;
    switch (p->section) {
    case OF_GROUP:
        found = group_part_is_live(s, parts_of_group[p->part]);
        if (found) {
            *ret = record_of_group(g, p->part, arena);
        }
        return found;
    case OF_REGEXES:
        i = regexes_place(s, p->name, &found);
        if (found) {
            *ret = regex_record(g, s->regexes[i], arena);
        }
        return found;
    case OF_MEMBERS:
        i = slots_place(s, p->name, &found);
        found = found && slot_has(&s->slots[i], slot_parts[p->part]);
        if (found) {
            *ret = record_of_member(g, &s->slots[i], p->part, arena);
        }
        return found;
    }
    return false;
}

/* A key alone, without the value that belongs to it. */
static struct bytes key_of(const struct group *g, const struct place *p, struct arena *arena)
{
    struct consumer_group_regular_expression_key key = {.group_id = g->id, .regular_expression = p->name}; /* the others' are the same */
    int16_t type = p->section == OF_GROUP     ? parts_of_group[p->part]
                   : p->section == OF_REGEXES ? RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION
                                              : parts_of_member[p->part];
    return wire_record_encode(type, &key, STREAMS_VALUE_VERSION, NULL, arena).key;
}

bool streams_key_after(const struct group *g, struct bytes key, struct arena *arena, struct bytes *ret)
{
    const struct streams *s = g == NULL ? NULL : g->streams;
    if (s == NULL) {
        return false;
    }
    struct place after = {.section = OF_GROUP, .part = -1}, next;
    if (key.len >= 0) {
        after = place_of(key);
    }
    bool more = (after.section == OF_GROUP && next_of_group(s, after.part + 1, &next)) ||
                (after.section <= OF_REGEXES && next_regex(s, after.section == OF_REGEXES ? &after : NULL, &next)) ||
                next_of_members(s, after.section == OF_MEMBERS ? &after : NULL, &next);
    if (more) {
        *ret = key_of(g, &next, arena);
    }
    return more;
}

bool streams_record(const struct group *g, struct bytes key, struct arena *arena, struct record *ret)
{
    if (g == NULL || g->streams == NULL) {
        return false;
    }
    struct place p = place_of(key);
    return record_at(g, &p, arena, ret);
}
