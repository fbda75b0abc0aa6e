/* record.c: the state of a group as records again, byte for byte as they were logged, in an order of their own. */
#include "modern.h"

/* ---- runs of units --------------------------------------------------------------------------------------------------------------- */

int32_t units_run_length(struct units u, int32_t at)
{
    int32_t end = at + 1;
    while (end < u.len && str_eq(u.v[end].name, u.v[at].name)) {
        end++;
    }
    return end - at;
}

int32_t units_runs(struct units u)
{
    int32_t runs = 0;
    for (int32_t i = 0; i < u.len; i += units_run_length(u, i)) {
        runs++;
    }
    return runs;
}

struct int32_array units_run_partitions(struct units u, int32_t at, int32_t len, struct arena *arena)
{
    struct int32_array partitions = {ARENA_NEW(arena, int32_t, len), len};
    for (int32_t i = 0; i < len; i++) {
        partitions.v[i] = u.v[at + i].partition;
    }
    return partitions;
}

struct int32_array units_run_epochs(struct units u, int32_t at, int32_t len, bool always, struct arena *arena)
{
    struct int32_array epochs = {ARENA_NEW(arena, int32_t, len), len};
    bool some = always;
    for (int32_t i = 0; i < len; i++) {
        epochs.v[i] = u.v[at + i].epoch;
        some = some || epochs.v[i] != 0;
    }
    return some ? epochs : (struct int32_array){NULL, -1};
}

/* ---- places: the order of a group's records ------------------------------------------------------------------------------------------- */

enum section { OF_GROUP, OF_REGEXES, OF_MEMBERS };
enum group_part { THE_GROUP, ITS_ASSIGNMENT, ITS_TOPOLOGY, ITS_DESCRIPTION, GROUP_PARTS };
static const enum slot_part slot_parts[] = {SLOT_MEMBER, SLOT_TARGET, SLOT_CURRENT, SLOT_OFFSETS};
enum { MEMBER_PARTS = COUNT_OF(slot_parts) };
struct place {
    enum section section;
    struct str name; /* the regular expression or the member id */
    int32_t part;    /* enum group_part, or a place in slot_parts */
};

static int16_t type_of(const struct modern_kind *k, const struct place *p)
{
    const int16_t of_group[GROUP_PARTS] = {k->group_record, k->assignment_record, k->topology_record, k->description_record};
    const int16_t of_member[MEMBER_PARTS] = {k->member_record, k->target_record, k->current_record, k->offsets_record};
    switch (p->section) {
    case OF_GROUP:
        return of_group[p->part];
    case OF_REGEXES:
        return k->regex_record;
    case OF_MEMBERS:
        return of_member[p->part];
    }
    return -1;
}

/* Its section and part; false for a type of another kind. */
static bool find_type(const struct modern_kind *k, int16_t type, struct place *ret)
{
    static const int32_t parts[] = {[OF_GROUP] = GROUP_PARTS, [OF_REGEXES] = 1, [OF_MEMBERS] = MEMBER_PARTS};
    for (int section = OF_GROUP; section <= OF_MEMBERS; section++) {
        for (int32_t part = 0; part < parts[section]; part++) {
            *ret = (struct place){.section = (enum section)section, .name = STR_NULL, .part = part};
            if (type_of(k, ret) == type) {
                return true;
            }
        }
    }
    return false;
}

/* A key is its type, the group's id, and the name of its section, each text behind its length. */
static struct place place_of(const struct modern_kind *k, struct bytes key)
{
    struct place p;
    MUSTER_CHECK(key.len >= 4 && find_type(k, (int16_t)get_be16(key.ptr), &p));
    if (p.section == OF_GROUP) {
        return p;
    }
    int32_t at = 4 + get_be16(key.ptr + 2);
    MUSTER_CHECK(key.len >= at + 2);
    p.name = (struct str){(const char *)key.ptr + at + 2, get_be16(key.ptr + at)};
    MUSTER_CHECK(key.len == at + 2 + p.name.len);
    return p;
}

int modern_key_cmp(const struct modern_kind *kind, struct bytes a, struct bytes b)
{
    struct place pa = place_of(kind, a), pb = place_of(kind, b);
    if (pa.section != pb.section) {
        return pa.section < pb.section ? -1 : 1;
    }
    int order = str_cmp(pa.name, pb.name);
    return order != 0 ? order : (pa.part > pb.part) - (pa.part < pb.part);
}

static bool group_part_is_live(const struct modern *s, int32_t part)
{
    switch ((enum group_part)part) {
    case THE_GROUP:
        return s->exists;
    case ITS_ASSIGNMENT:
        return s->has_assignment;
    case ITS_TOPOLOGY:
        return s->topology != NULL;
    case ITS_DESCRIPTION:
        return s->description != NULL;
    case GROUP_PARTS:
        break;
    }
    return false;
}

static bool next_of_group(const struct modern *s, int32_t part, struct place *ret)
{
    for (; part < GROUP_PARTS; part++) {
        if (group_part_is_live(s, part)) {
            *ret = (struct place){.section = OF_GROUP, .name = STR_NULL, .part = part};
            return true;
        }
    }
    return false;
}

static bool next_regex(const struct modern *s, const struct place *after, struct place *ret)
{
    bool found = false;
    int32_t i = after == NULL ? 0 : regexes_place(s, after->name, &found);
    i += found ? 1 : 0;
    if (i < s->regex_count) {
        *ret = (struct place){.section = OF_REGEXES, .name = s->regexes[i]->regex};
    }
    return i < s->regex_count;
}

static bool next_of_members(const struct modern *s, const struct place *after, struct place *ret)
{
    bool found = false;
    int32_t i = after == NULL ? 0 : slots_place(s, after->name, &found);
    for (int32_t part = found ? after->part + 1 : 0; i < s->slot_count; i++, part = 0) {
        for (; part < MEMBER_PARTS; part++) {
            if (slot_has(&s->slots[i], slot_parts[part])) {
                *ret = (struct place){.section = OF_MEMBERS, .name = s->slots[i].member_id, .part = part};
                return true;
            }
        }
    }
    return false;
}

/* ---- the record of a place ------------------------------------------------------------------------------------------------------------------ */

/* What stands there: its value as it would be written now, and as it was logged, if that is something else. */
struct found {
    const void *value;
    struct bytes raw;
};

static struct found find_of_group(const struct modern_kind *k, const struct modern *s, int32_t part, struct arena *arena)
{
    switch ((enum group_part)part) {
    case THE_GROUP:
        return (struct found){k->group_value(s, arena), s->raw};
    case ITS_ASSIGNMENT:
        return (struct found){k->assignment_value(s, arena), s->assignment_raw};
    case ITS_TOPOLOGY:
        return (struct found){s->topology->value, s->topology->raw};
    case ITS_DESCRIPTION:
        return (struct found){NULL, s->description->raw};
    case GROUP_PARTS:
        break;
    }
    return (struct found){NULL, BYTES_NULL};
}

static struct found find_of_member(const struct modern_kind *k, const struct modern_slot *slot, int32_t part, struct arena *arena)
{
    switch (slot_parts[part]) {
    case SLOT_MEMBER:
        return (struct found){k->member_value(slot->member, arena), slot->member->raw};
    case SLOT_TARGET:
        return (struct found){k->target_value(&slot->target.held->holding, arena), slot->target.raw};
    case SLOT_CURRENT: {
        struct member_position position = modern_position(slot);
        return (struct found){k->current_value(&position, arena), slot->current->raw};
    }
    case SLOT_OFFSETS:
        return (struct found){k->offsets_value(slot->offsets, arena), slot->offsets->raw};
    case SLOT_ID:
        break;
    }
    return (struct found){NULL, BYTES_NULL};
}

/* False when nothing is live there. */
static bool find(const struct modern_kind *k, const struct modern *s, const struct place *p, struct arena *arena, struct found *ret)
{
    bool found = false;
    int32_t i;
    switch (p->section) {
    case OF_GROUP:
        found = group_part_is_live(s, p->part);
        if (found) {
            *ret = find_of_group(k, s, p->part, arena);
        }
        return found;
    case OF_REGEXES:
        i = regexes_place(s, p->name, &found);
        if (found) {
            *ret = (struct found){k->regex_value(s->regexes[i], arena), s->regexes[i]->raw};
        }
        return found;
    case OF_MEMBERS:
        i = slots_place(s, p->name, &found);
        found = found && slot_has(&s->slots[i], slot_parts[p->part]);
        if (found) {
            *ret = find_of_member(k, &s->slots[i], p->part, arena);
        }
        return found;
    }
    return false;
}

/* value NULL: the key alone counts. */
static struct record encode(const struct modern_kind *k, const struct group *g, const struct place *p, const void *value,
                            struct arena *arena)
{
    struct consumer_group_regular_expression_key key = {.group_id = g->id, .regular_expression = p->name}; /* the others' are the same */
    return wire_record_encode(type_of(k, p), &key, MODERN_VALUE_VERSION, value, arena);
}

static const struct modern *state_of(const struct modern_kind *kind, const struct group *g)
{
    return g == NULL ? NULL : kind->type == GROUP_STREAMS ? g->streams : g->consumer;
}

bool modern_key_after(const struct modern_kind *kind, const struct group *g, struct bytes key, struct arena *arena, struct bytes *ret)
{
    const struct modern *s = state_of(kind, g);
    if (s == NULL) {
        return false;
    }
    struct place after = {.section = OF_GROUP, .part = -1}, next;
    if (key.len >= 0) {
        after = place_of(kind, key);
    }
    bool more = (after.section == OF_GROUP && next_of_group(s, after.part + 1, &next)) ||
                (after.section <= OF_REGEXES && next_regex(s, after.section == OF_REGEXES ? &after : NULL, &next)) ||
                next_of_members(s, after.section == OF_MEMBERS ? &after : NULL, &next);
    if (more) {
        *ret = encode(kind, g, &next, NULL, arena).key;
    }
    return more;
}

bool modern_record(const struct modern_kind *kind, const struct group *g, struct bytes key, struct arena *arena, struct record *ret)
{
    const struct modern *s = state_of(kind, g);
    struct place p;
    struct found found = {NULL, BYTES_NULL};
    if (s == NULL) {
        return false;
    }
    p = place_of(kind, key);
    if (!find(kind, s, &p, arena, &found)) {
        return false;
    }
    *ret = encode(kind, g, &p, found.raw.len < 0 ? found.value : NULL, arena);
    if (found.raw.len >= 0) {
        ret->value = arena_bytes(arena, found.raw);
    }
    return true;
}
