/* apply.c: what the records of a group do to its state. Each record stands for itself, whatever else is live: in any order they come to the same (KAFKA-20254),
 * a target of an unknown member is kept until its own tombstone (KAFKA-19862), a tombstone for what is not there does nothing (KAFKA-17306). */
#include "modern.h"

#include <string.h>

static bool is_tombstone(const struct apply_context *c)
{
    return c->raw.value.len < 0;
}

struct modern *modern_state(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct group **ret)
{
    struct group *g = is_tombstone(c) ? group_find(c->set, group_id) : group_find_or_add(c->set, group_id);
    *ret = g;
    struct modern **at = g == NULL ? NULL : modern_at(g, kind);
    if (at == NULL || (*at == NULL && is_tombstone(c))) {
        return NULL;
    }
    if (*at == NULL) {
        *at = modern_new(c->set->pool);
        (*at)->indexed = kind->type == GROUP_CONSUMER;
    }
    return modern_own(c->set, at);
}

void modern_free_if_gone(const struct apply_context *c, const struct modern_kind *kind, struct group *g)
{
    struct modern **at = modern_at(g, kind);
    if (modern_is_gone(*at)) {
        modern_free(c->set, at);
    }
}

struct bytes modern_raw(const struct apply_context *c, const void *again)
{
    struct bytes logged = {c->raw.value.ptr + 2, c->raw.value.len - 2};
    struct bytes written = wire_encode(c->schema->value, MODERN_VALUE_VERSION, again, c->scratch);
    bool same = get_be16(c->raw.value.ptr) == MODERN_VALUE_VERSION && bytes_eq(logged, written);
    return same ? BYTES_NULL : pool_bytes(c->set->pool, c->raw.value);
}

void modern_hash_replace(const struct apply_context *c, uint64_t *at)
{
    group_hash_replace(c->set, *at, c->record_hash);
    *at = c->record_hash;
}

/* ---- blocks: one piece of the pool for a part and its texts ------------------------------------------------------------------ */

size_t text_size(struct str s)
{
    return s.len > 0 ? (size_t)s.len : 0;
}

struct str text_put(char **at, struct str s)
{
    if (s.len <= 0) {
        return s.len < 0 ? STR_NULL : STR("");
    }
    memcpy(*at, s.ptr, (size_t)s.len);
    struct str copy = {*at, s.len};
    *at += s.len;
    return copy;
}

struct bytes bytes_put(char **at, struct bytes b)
{
    return bytes_of_str(text_put(at, (struct str){(const char *)b.ptr, b.len}));
}

struct str_array names_sorted(const struct str_array *names, struct arena *arena)
{
    struct unit_list list;
    unit_list_init(&list, arena);
    for (int32_t i = 0; i < names->len; i++) {
        unit_list_add(&list, names->v[i], 0, 0);
    }
    struct units sorted = unit_list_finish(&list);
    struct str_array ret = {ARENA_NEW(arena, struct str, sorted.len), sorted.len};
    for (int32_t i = 0; i < sorted.len; i++) {
        ret.v[i] = sorted.v[i].name;
    }
    return ret;
}

/* ---- of the group ------------------------------------------------------------------------------------------------------------------- */

static void replace_raw(struct pool *pool, struct bytes *at, struct bytes with)
{
    pool_put_bytes(pool, *at);
    *at = with;
}

void modern_applied_group(const struct apply_context *c, const struct modern_kind *kind, struct group *g)
{
    struct modern *s = *modern_at(g, kind);
    bool exists = !is_tombstone(c);
    modern_hash_replace(c, &s->record_hash);
    group_work_phase_move(c->set, g);
    if (s->exists != exists) {
        group_beat_phase_move(c->set, g);
        s->exists = exists;
        group_phase_move(c->set, g); /* another type: what waits for a classic group has an answer */
    }
    replace_raw(c->set->pool, &s->raw, exists ? modern_raw(c, kind->group_value(s, c->scratch)) : BYTES_NULL);
    modern_free_if_gone(c, kind, g);
}

void modern_apply_assignment(const struct apply_context *c, const struct modern_kind *kind, struct str group_id,
                             const struct modern_assigned *said)
{
    struct group *g;
    struct modern *s = modern_state(c, kind, group_id, &g);
    if (s == NULL) {
        return;
    }
    s->has_assignment = said != NULL;
    s->assignment_epoch = said == NULL ? 0 : said->epoch;
    s->assignment_wall_ms = said == NULL ? 0 : said->wall_ms;
    s->assignment_clock_ms = said == NULL ? 0 : said->clock_ms;
    modern_hash_replace(c, &s->assignment_hash);
    group_beat_phase_move(c->set, g);
    replace_raw(c->set->pool, &s->assignment_raw, said == NULL ? BYTES_NULL : modern_raw(c, kind->assignment_value(s, c->scratch)));
    modern_free_if_gone(c, kind, g);
}

/* ---- regular expressions ------------------------------------------------------------------------------------------------------------- */

static struct modern_regex *regex_new(const struct apply_context *c, const struct modern_kind *kind, struct str regex,
                                      const struct modern_regex *said)
{
    struct str_array topics = names_sorted(&said->topics, c->scratch);
    size_t bytes = sizeof(struct modern_regex) + (size_t)topics.len * sizeof(struct str) + text_size(regex);
    for (int32_t i = 0; i < topics.len; i++) {
        bytes += text_size(topics.v[i]);
    }
    struct modern_regex *r = pool_get(c->set->pool, bytes);
    r->references = 1;
    r->bytes = bytes;
    r->topics = (struct str_array){(struct str *)(r + 1), topics.len};
    char *text = (char *)(r->topics.v + topics.len);
    r->regex = text_put(&text, regex);
    for (int32_t i = 0; i < topics.len; i++) {
        r->topics.v[i] = text_put(&text, topics.v[i]);
    }
    r->version = said->version;
    r->timestamp = said->timestamp;
    r->raw = modern_raw(c, kind->regex_value(r, c->scratch));
    r->record_hash = c->record_hash;
    return r;
}

static void regexes_insert(struct pool *pool, struct modern *s, int32_t place, struct modern_regex *r)
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

static void regexes_remove(struct modern *s, int32_t place)
{
    s->regex_count--;
    memmove(&s->regexes[place], &s->regexes[place + 1], (size_t)(s->regex_count - place) * sizeof(struct modern_regex *));
}

void modern_apply_regex(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str regex,
                        const struct modern_regex *said)
{
    struct group *g;
    struct modern *s = modern_state(c, kind, group_id, &g);
    bool found = false;
    int32_t place = s == NULL ? 0 : regexes_place(s, regex, &found);
    if (s == NULL || (said == NULL && !found)) {
        return;
    }
    group_hash_replace(c->set, found ? s->regexes[place]->record_hash : 0, c->record_hash);
    if (found) {
        regex_put(c->set->pool, s->regexes[place]);
    }
    if (said == NULL) {
        regexes_remove(s, place);
    } else if (found) {
        s->regexes[place] = regex_new(c, kind, regex, said);
    } else {
        regexes_insert(c->set->pool, s, place, regex_new(c, kind, regex, said));
    }
    modern_free_if_gone(c, kind, g);
}

/* ---- parts of a slot -------------------------------------------------------------------------------------------------------------------- */

static uint64_t part_hash(const struct modern_slot *slot, enum slot_part part)
{
    if (!slot_has(slot, part)) {
        return 0;
    }
    switch (part) {
    case SLOT_MEMBER:
        return slot->member->record_hash;
    case SLOT_TARGET:
        return slot->target.record_hash;
    case SLOT_CURRENT:
        return slot->current->record_hash;
    case SLOT_OFFSETS:
        return slot->offsets->record_hash;
    case SLOT_ID:
        break;
    }
    return 0;
}

static void count_member(const struct apply_context *c, struct modern *s, const struct modern_member *m, int32_t by)
{
    s->member_count += by;
    s->classic_count += m->is_classic ? by : 0;
    uses_change(c->set->pool, s, m, by);
    c->set->counts.members += by;
}

static void part_empty(const struct apply_context *c, struct modern *s, struct modern_slot *slot, enum slot_part part)
{
    group_hash_replace(c->set, part_hash(slot, part), c->record_hash);
    if (part == SLOT_MEMBER || part == SLOT_CURRENT) {
        owners_change(c->set->pool, s, slot, -1);
    }
    if (part == SLOT_MEMBER && slot->member != NULL) {
        instances_remove(s, slot);
        count_member(c, s, slot->member, -1);
    }
    slot_drop(c->set->pool, slot, part);
}

/* The slot whose part the record makes, emptied of it; *ret_state has it. NULL: the record was a tombstone, and all is done. */
static struct modern_slot *part_of(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                                   enum slot_part part, struct modern **ret_state)
{
    struct group *g;
    struct modern *s = modern_state(c, kind, group_id, &g);
    if (s == NULL) {
        return NULL;
    }
    *ret_state = s;
    if (!is_tombstone(c)) {
        struct modern_slot *slot = slots_get(c->set->pool, s, member_id);
        part_empty(c, s, slot, part);
        return slot;
    }
    bool found;
    int32_t place = slots_place(s, member_id, &found);
    if (found && slot_has(&s->slots[place], part)) {
        part_empty(c, s, &s->slots[place], part);
        slots_remove_if_empty(c->set->pool, s, place);
        modern_free_if_gone(c, kind, g);
    }
    return NULL;
}

void modern_apply_member(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                         struct modern_member *m)
{
    struct modern *s;
    struct modern_slot *slot = part_of(c, kind, group_id, member_id, SLOT_MEMBER, &s);
    if (slot == NULL) {
        return;
    }
    m->references = 1;
    m->raw = modern_raw(c, kind->member_value(m, c->scratch));
    m->record_hash = c->record_hash;
    slot->member = m;
    count_member(c, s, m, 1);
    instances_add(c->set->pool, s, slot);
    owners_change(c->set->pool, s, slot, 1);
}

void modern_apply_target(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                         const struct holding *target)
{
    struct modern *s;
    struct modern_slot *slot = part_of(c, kind, group_id, member_id, SLOT_TARGET, &s);
    if (slot == NULL) {
        return;
    }
    slot->target.held = held_new(c->set->pool, target);
    slot->target.raw = modern_raw(c, kind->target_value(target, c->scratch));
    slot->target.record_hash = c->record_hash;
}

void modern_apply_current(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                          const struct member_position *p)
{
    struct modern *s;
    struct modern_slot *slot = part_of(c, kind, group_id, member_id, SLOT_CURRENT, &s);
    if (slot == NULL) {
        return;
    }
    struct modern_current *current = pool_get(c->set->pool, sizeof *current);
    current->references = 1;
    current->epoch = p->epoch;
    current->previous_epoch = p->previous_epoch;
    current->state = (int8_t)p->state;
    current->assigned = held_new(c->set->pool, &p->assigned);
    current->revoking = held_new(c->set->pool, &p->revoking);
    current->raw = modern_raw(c, kind->current_value(p, c->scratch));
    current->record_hash = c->record_hash;
    slot->current = current;
    owners_change(c->set->pool, s, slot, 1);
}

void modern_apply_offsets(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                          struct modern_offsets *o)
{
    struct modern *s;
    struct modern_slot *slot = part_of(c, kind, group_id, member_id, SLOT_OFFSETS, &s);
    if (slot == NULL) {
        return;
    }
    o->references = 1;
    o->raw = modern_raw(c, kind->offsets_value(o, c->scratch));
    o->record_hash = c->record_hash;
    slot->offsets = o;
}
