/* store.c: the state of a group of one of the new protocols: its life, its sharing between a set and an overlay, and finding things in it. */
#include "modern.h"

#include "../sorted.h"

#include <string.h>

/* ---- parts: immutable, counted -------------------------------------------------------------------------------------------------- */

static void member_put(struct pool *pool, struct modern_member *m)
{
    MUSTER_CHECK(m->references > 0);
    if (--m->references == 0) {
        pool_put_bytes(pool, m->raw);
        pool_put(pool, m, m->bytes);
    }
}

static void current_put(struct pool *pool, struct modern_current *c)
{
    MUSTER_CHECK(c->references > 0);
    if (--c->references == 0) {
        held_put(pool, c->assigned);
        held_put(pool, c->revoking);
        pool_put_bytes(pool, c->raw);
        pool_put(pool, c, sizeof *c);
    }
}

static void offsets_put(struct pool *pool, struct modern_offsets *o)
{
    MUSTER_CHECK(o->references > 0);
    if (--o->references == 0) {
        pool_put_bytes(pool, o->raw);
        pool_put(pool, o, o->bytes);
    }
}

void regex_put(struct pool *pool, struct modern_regex *r)
{
    MUSTER_CHECK(r->references > 0);
    if (--r->references == 0) {
        pool_put_bytes(pool, r->raw);
        pool_put(pool, r, r->bytes);
    }
}

void topology_put(struct pool *pool, struct streams_topology *t)
{
    if (t == NULL) {
        return;
    }
    MUSTER_CHECK(t->references > 0);
    if (--t->references == 0) {
        pool_put_bytes(pool, t->raw);
        pool_put(pool, t, t->bytes);
    }
}

void description_put(struct pool *pool, struct streams_description *d)
{
    if (d == NULL) {
        return;
    }
    MUSTER_CHECK(d->references > 0);
    if (--d->references == 0) {
        pool_put_bytes(pool, d->raw);
        pool_put(pool, d, sizeof *d);
    }
}

void configs_put(struct pool *pool, struct key_value *configs, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        pool_put_str(pool, configs[i].key);
        pool_put_str(pool, configs[i].value);
    }
    pool_put(pool, configs, count > 0 ? (size_t)count * sizeof *configs : 0);
}

struct key_value *configs_copy(struct pool *pool, const struct key_value *configs, int32_t count)
{
    struct key_value *copy = count <= 0 ? NULL : pool_get(pool, (size_t)count * sizeof *copy);
    for (int32_t i = 0; i < count; i++) {
        copy[i] = (struct key_value){pool_str(pool, configs[i].key), pool_str(pool, configs[i].value)};
    }
    return copy;
}

/* ---- slots ---------------------------------------------------------------------------------------------------------------------------- */

static int slot_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct modern_slot *)in)[place].member_id, *(const struct str *)key);
}

int32_t slots_place(const struct modern *s, struct str member_id, bool *ret_found)
{
    return sorted_place(s->slots, s->slot_count, slot_order, &member_id, ret_found);
}

struct modern_slot *slots_get(struct pool *pool, struct modern *s, struct str member_id)
{
    bool found;
    int32_t place = slots_place(s, member_id, &found);
    if (found) {
        return &s->slots[place];
    }
    if (s->slot_count == s->slot_capacity) {
        int32_t capacity = s->slot_capacity == 0 ? 4 : 2 * s->slot_capacity;
        s->slots = pool_resize(pool, s->slots, (size_t)s->slot_capacity * sizeof *s->slots, (size_t)capacity * sizeof *s->slots);
        s->slot_capacity = capacity;
    }
    memmove(&s->slots[place + 1], &s->slots[place], (size_t)(s->slot_count - place) * sizeof *s->slots);
    s->slot_count++;
    s->slots[place] = (struct modern_slot){.member_id = pool_str(pool, member_id), .target.raw = BYTES_NULL};
    return &s->slots[place];
}

bool slot_has(const struct modern_slot *slot, enum slot_part part)
{
    switch (part) {
    case SLOT_MEMBER:
        return slot->member != NULL;
    case SLOT_TARGET:
        return slot->target.held != NULL;
    case SLOT_CURRENT:
        return slot->current != NULL;
    case SLOT_OFFSETS:
        return slot->offsets != NULL;
    case SLOT_ID:
        break;
    }
    return true;
}

static void part_put(struct pool *pool, struct modern_slot *slot, enum slot_part part)
{
    switch (part) {
    case SLOT_MEMBER:
        member_put(pool, slot->member);
        return;
    case SLOT_TARGET:
        held_put(pool, slot->target.held);
        pool_put_bytes(pool, slot->target.raw);
        return;
    case SLOT_CURRENT:
        current_put(pool, slot->current);
        return;
    case SLOT_OFFSETS:
        offsets_put(pool, slot->offsets);
        return;
    case SLOT_ID:
        pool_put_str(pool, slot->member_id);
        return;
    }
}

void slot_drop(struct pool *pool, struct modern_slot *slot, enum slot_part part)
{
    if (slot_has(slot, part) && (slot->borrowed & part) == 0) {
        part_put(pool, slot, part);
    }
    slot->borrowed &= (uint8_t)~part;
    switch (part) {
    case SLOT_MEMBER:
        slot->member = NULL;
        return;
    case SLOT_TARGET:
        slot->target = (struct modern_target){.raw = BYTES_NULL};
        return;
    case SLOT_CURRENT:
        slot->current = NULL;
        return;
    case SLOT_OFFSETS:
        slot->offsets = NULL;
        return;
    case SLOT_ID:
        slot->member_id = STR_NULL;
        return;
    }
}

static void slot_empty(struct pool *pool, struct modern_slot *slot)
{
    for (int part = SLOT_MEMBER; part <= SLOT_ID; part *= 2) {
        slot_drop(pool, slot, (enum slot_part)part);
    }
}

void slots_remove_if_empty(struct pool *pool, struct modern *s, int32_t place)
{
    struct modern_slot *slot = &s->slots[place];
    if (slot->member != NULL || slot->target.held != NULL || slot->current != NULL || slot->offsets != NULL) {
        return;
    }
    slot_empty(pool, slot);
    s->slot_count--;
    memmove(slot, slot + 1, (size_t)(s->slot_count - place) * sizeof *slot);
}

/* What a slot borrows becomes its own. */
static void slot_take(struct pool *pool, struct modern_slot *slot)
{
    slot->member_id = pool_str(pool, slot->member_id);
    slot->target.raw = pool_bytes(pool, slot->target.raw);
    if (slot->member != NULL) {
        slot->member->references++;
    }
    if (slot->target.held != NULL) {
        slot->target.held->references++;
    }
    if (slot->current != NULL) {
        slot->current->references++;
    }
    if (slot->offsets != NULL) {
        slot->offsets->references++;
    }
    slot->borrowed = 0;
}

/* ---- members with an instance id ---------------------------------------------------------------------------------------------------------- */

static int32_t instances_place(const struct modern *s, struct str instance_id, struct str member_id)
{
    int32_t low = 0, high = s->instance_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        const struct instance_ref *ref = &s->instances[middle];
        int order = str_cmp(ref->instance_id, instance_id);
        if (order == 0) {
            order = str_cmp(ref->member_id, member_id);
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void instances_add(struct pool *pool, struct modern *s, const struct modern_slot *slot)
{
    struct str instance_id = slot->member->instance_id;
    if (str_is_null(instance_id)) {
        return;
    }
    if (s->instance_count == s->instance_capacity) {
        int32_t capacity = s->instance_capacity == 0 ? 4 : 2 * s->instance_capacity;
        s->instances =
            pool_resize(pool, s->instances, (size_t)s->instance_capacity * sizeof *s->instances, (size_t)capacity * sizeof *s->instances);
        s->instance_capacity = capacity;
    }
    int32_t place = instances_place(s, instance_id, slot->member_id);
    struct instance_ref *ref = &s->instances[place];
    memmove(ref + 1, ref, (size_t)(s->instance_count - place) * sizeof *ref);
    *ref = (struct instance_ref){instance_id, slot->member_id};
    s->instance_count++;
}

void instances_remove(struct modern *s, const struct modern_slot *slot)
{
    struct str instance_id = slot->member->instance_id;
    if (str_is_null(instance_id)) {
        return;
    }
    int32_t place = instances_place(s, instance_id, slot->member_id);
    MUSTER_CHECK(place < s->instance_count && str_eq(s->instances[place].member_id, slot->member_id));
    struct instance_ref *ref = &s->instances[place];
    s->instance_count--;
    memmove(ref, ref + 1, (size_t)(s->instance_count - place) * sizeof *ref);
}

/* ---- life ------------------------------------------------------------------------------------------------------------------------------------ */

struct modern *modern_new(struct pool *pool)
{
    struct modern *s = pool_get(pool, sizeof *s);
    s->references = 1;
    s->validated_topology_epoch = -1;
    s->config_count = -1;
    s->stored_description_epoch = -1;
    s->failed_description_epoch = -1;
    s->shutdown_member = STR_NULL;
    s->problem = -1;
    s->problem_detail = STR_NULL;
    s->empty_since_ms = -1;
    s->initializing_member = STR_NULL;
    s->raw = BYTES_NULL;
    s->assignment_raw = BYTES_NULL;
    return s;
}

void modern_put(struct pool *pool, struct modern *s)
{
    MUSTER_CHECK(s->references > 0);
    if (--s->references > 0) {
        return;
    }
    for (int32_t i = 0; i < s->slot_count; i++) {
        slot_empty(pool, &s->slots[i]);
    }
    for (int32_t i = 0; i < s->regex_count; i++) {
        regex_put(pool, s->regexes[i]);
    }
    pool_put(pool, s->slots, (size_t)s->slot_capacity * sizeof *s->slots);
    pool_put(pool, s->instances, (size_t)s->instance_capacity * sizeof *s->instances);
    pool_put(pool, s->regexes, (size_t)s->regex_capacity * sizeof(struct modern_regex *));
    configs_put(pool, s->configs, s->config_count);
    pool_put_str(pool, s->shutdown_member);
    pool_put_str(pool, s->problem_detail);
    pool_put_str(pool, s->initializing_member);
    pool_put_bytes(pool, s->raw);
    pool_put_bytes(pool, s->assignment_raw);
    topology_put(pool, s->topology);
    description_put(pool, s->description);
    uses_put(pool, s->uses);
    owners_put(pool, s->owners);
    struct modern *origin = s->origin;
    pool_put(pool, s, sizeof *s);
    if (origin != NULL) {
        modern_put(pool, origin);
    }
}

void modern_free(struct group_set *set, struct modern **at)
{
    if (*at == NULL) {
        return;
    }
    set->counts.members -= (*at)->member_count;
    modern_put(set->pool, *at);
    *at = NULL;
}

struct modern *modern_share(struct modern *s)
{
    if (s != NULL) {
        s->references++;
    }
    return s;
}

/* With as much room as it needs. */
static void *array_copy(struct pool *pool, const void *array, int32_t count, size_t size, int32_t *ret_capacity)
{
    enum { SPARE = 4 };
    *ret_capacity = count == 0 ? 0 : count + SPARE;
    if (count == 0) {
        return NULL;
    }
    void *copy = pool_get(pool, (size_t)*ret_capacity * size);
    memcpy(copy, array, (size_t)count * size);
    return copy;
}

/* A copy whose slots borrow everything. */
static struct modern *copy_borrowing(struct pool *pool, const struct modern *from)
{
    struct modern *s = pool_get(pool, sizeof *s);
    *s = *from;
    s->references = 1;
    s->configs = configs_copy(pool, from->configs, from->config_count);
    s->shutdown_member = pool_str(pool, from->shutdown_member);
    s->problem_detail = pool_str(pool, from->problem_detail);
    s->initializing_member = pool_str(pool, from->initializing_member);
    s->raw = pool_bytes(pool, from->raw);
    s->assignment_raw = pool_bytes(pool, from->assignment_raw);
    s->slots = array_copy(pool, from->slots, from->slot_count, sizeof *s->slots, &s->slot_capacity);
    s->instances = array_copy(pool, from->instances, from->instance_count, sizeof *s->instances, &s->instance_capacity);
    s->regexes = array_copy(pool, from->regexes, from->regex_count, sizeof(struct modern_regex *), &s->regex_capacity);
    for (int32_t i = 0; i < s->slot_count; i++) {
        s->slots[i].borrowed = SLOT_EVERYTHING;
    }
    for (int32_t i = 0; i < s->regex_count; i++) {
        s->regexes[i]->references++;
    }
    if (s->uses != NULL) {
        s->uses->references++;
    }
    if (s->owners != NULL) {
        s->owners->references++;
    }
    if (s->topology != NULL) {
        s->topology->references++;
    }
    if (s->description != NULL) {
        s->description->references++;
    }
    return s;
}

/* A set that changes while an overlay looks at it leaves the overlay what it had, and borrows nothing: overlays go, sets stay. */
static void take_all(struct pool *pool, struct modern *s)
{
    for (int32_t i = 0; i < s->slot_count; i++) {
        slot_take(pool, &s->slots[i]);
    }
    for (int32_t i = 0; i < s->instance_count; i++) {
        bool found;
        int32_t place = slots_place(s, s->instances[i].member_id, &found);
        MUSTER_CHECK(found);
        s->instances[i].member_id = s->slots[place].member_id;
    }
}

struct modern *modern_own(struct group_set *set, struct modern **at)
{
    struct modern *from = *at;
    if (from->references == 1) {
        return from;
    }
    MUSTER_CHECK(from->origin == NULL);
    struct modern *s = copy_borrowing(set->pool, from);
    if (set->base != NULL) {
        s->origin = from;
    } else {
        take_all(set->pool, s);
        modern_put(set->pool, from);
    }
    *at = s;
    return s;
}

bool modern_is_gone(const struct modern *s)
{
    return !s->exists && !s->has_assignment && s->topology == NULL && s->description == NULL && s->slot_count == 0 && s->regex_count == 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------------------------ */

struct modern *group_modern(const struct group *g)
{
    if (g == NULL) {
        return NULL;
    }
    switch (group_type(g)) {
    case GROUP_CLASSIC:
        return NULL;
    case GROUP_CONSUMER:
        return g->consumer;
    case GROUP_STREAMS:
        return g->streams;
    }
    return NULL;
}

const struct modern_slot *modern_find(const struct modern *s, struct str member_id)
{
    bool found = false;
    int32_t place = s == NULL ? 0 : slots_place(s, member_id, &found);
    return found && s->slots[place].member != NULL ? &s->slots[place] : NULL;
}

const struct modern_slot *modern_by_instance(const struct modern *s, struct str instance_id)
{
    if (s == NULL || str_is_null(instance_id)) {
        return NULL;
    }
    int32_t place = instances_place(s, instance_id, STR_NULL);
    bool found = place < s->instance_count && str_eq(s->instances[place].instance_id, instance_id);
    return found ? modern_find(s, s->instances[place].member_id) : NULL;
}

struct member_position modern_position(const struct modern_slot *slot)
{
    const struct modern_current *c = slot->current;
    if (c == NULL) {
        return (struct member_position){.state = MEMBER_STABLE};
    }
    return (struct member_position){.epoch = c->epoch,
                                    .previous_epoch = c->previous_epoch,
                                    .state = (enum member_state)c->state,
                                    .assigned = c->assigned->holding,
                                    .revoking = c->revoking->holding};
}

struct holding modern_target(const struct modern_slot *slot)
{
    return slot->target.held == NULL ? (struct holding){0} : slot->target.held->holding;
}

void modern_report_init(struct unit_report *report, const struct member_position *p, enum unit_kind kind, struct arena *arena)
{
    unit_report_init(report, units_join(p->assigned.kind[kind], p->revoking.kind[kind], arena), arena);
}

static int regex_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((struct modern_regex *const *)in)[place]->regex, *(const struct str *)key);
}

int32_t regexes_place(const struct modern *s, struct str regex, bool *ret_found)
{
    return sorted_place(s->regexes, s->regex_count, regex_order, &regex, ret_found);
}

struct regex_table modern_regexes(const struct modern *s, struct arena *arena)
{
    int32_t count = s == NULL ? 0 : s->regex_count;
    struct regex_topics *v = ARENA_NEW(arena, struct regex_topics, count);
    for (int32_t i = 0; i < count; i++) {
        v[i] = (struct regex_topics){s->regexes[i]->regex, s->regexes[i]->topics};
    }
    return (struct regex_table){v, count};
}

const struct regex_topics *regex_table_find(const struct regex_table *table, struct str regex)
{
    int32_t low = 0, high = table->len;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = str_cmp(table->v[middle].regex, regex);
        if (order == 0) {
            return &table->v[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

bool modern_all_settled(const struct modern *s)
{
    int32_t epoch =
        s->has_assignment ? s->assignment_epoch : 1; /* a group begins with that, as if its members' having nothing had been computed */
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_slot *slot = &s->slots[i];
        if (slot->member == NULL) {
            continue;
        }
        if (slot->current == NULL || slot->current->state != MEMBER_STABLE || slot->current->epoch != epoch) {
            return false;
        }
    }
    return true;
}
