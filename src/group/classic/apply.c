/* apply.c: what the records of a classic group do to its state. Lenient, as replay must be: a tombstone for what is not there does nothing, an
 * assignment of an unknown member is forgotten, a member's tombstone takes its assignment along. */
#include "members.h"

#include <string.h>

/* ---- members: made, shared, released ---------------------------------------------------------------------------------- */

static void member_release(struct pool *pool, struct classic_member *m)
{
    MUSTER_CHECK(m->references > 0);
    if (--m->references > 0) {
        return;
    }
    for (int32_t i = 0; i < m->protocol_count; i++) {
        pool_put_str(pool, m->protocols[i].name);
        pool_put_bytes(pool, m->protocols[i].metadata);
    }
    pool_put(pool, m->protocols, (size_t)m->protocol_count * sizeof *m->protocols);
    pool_put_str(pool, m->member_id);
    pool_put_str(pool, m->instance_id);
    pool_put_str(pool, m->client_id);
    pool_put_str(pool, m->client_host);
    pool_put_bytes(pool, m->assignment);
    pool_put(pool, m, sizeof *m);
}

static struct classic_member *member_new(struct pool *pool, struct str member_id, const struct classic_member_value *v)
{
    struct classic_member *m = pool_get(pool, sizeof *m);
    m->references = 1;
    m->member_id = pool_str(pool, member_id);
    m->instance_id = pool_str(pool, v->instance_id);
    m->client_id = pool_str(pool, v->client_id);
    m->client_host = pool_str(pool, v->client_host);
    m->session_timeout_ms = v->session_timeout_ms;
    m->rebalance_timeout_ms = v->rebalance_timeout_ms;
    m->join_generation = v->join_generation;
    m->id_delivered = v->id_delivered;
    m->protocol_count = v->protocols.len;
    m->protocols = m->protocol_count == 0 ? NULL : pool_get(pool, (size_t)m->protocol_count * sizeof *m->protocols);
    for (int32_t i = 0; i < m->protocol_count; i++) {
        m->protocols[i].name = pool_str(pool, v->protocols.v[i].name);
        m->protocols[i].metadata = pool_bytes(pool, v->protocols.v[i].metadata);
    }
    m->assignment = (struct bytes){(const uint8_t *)"", 0};
    return m;
}

static struct classic_member *member_copy(struct pool *pool, const struct classic_member *m)
{
    struct classic_member *copy = pool_get(pool, sizeof *copy);
    *copy = *m;
    copy->references = 1;
    copy->member_id = pool_str(pool, m->member_id);
    copy->instance_id = pool_str(pool, m->instance_id);
    copy->client_id = pool_str(pool, m->client_id);
    copy->client_host = pool_str(pool, m->client_host);
    copy->assignment = pool_bytes(pool, m->assignment);
    copy->protocols = m->protocol_count == 0 ? NULL : pool_get(pool, (size_t)m->protocol_count * sizeof *m->protocols);
    for (int32_t i = 0; i < m->protocol_count; i++) {
        copy->protocols[i].name = pool_str(pool, m->protocols[i].name);
        copy->protocols[i].metadata = pool_bytes(pool, m->protocols[i].metadata);
    }
    return copy;
}

/* ---- what is derived from the members ------------------------------------------------------------------------------------ */

static void use_change(struct pool *pool, struct classic *c, struct str name, int32_t by)
{
    int32_t i = 0;
    while (i < c->use_count && !str_eq(c->uses[i].name, name)) {
        i++;
    }
    if (i == c->use_count) {
        if (c->use_count == c->use_capacity) {
            int32_t capacity = c->use_capacity == 0 ? 4 : 2 * c->use_capacity;
            c->uses = pool_resize(pool, c->uses, (size_t)c->use_capacity * sizeof *c->uses, (size_t)capacity * sizeof *c->uses);
            c->use_capacity = capacity;
        }
        c->uses[c->use_count++] = (struct classic_protocol_use){.name = pool_str(pool, name)};
    }
    c->uses[i].members += by;
    MUSTER_CHECK(c->uses[i].members >= 0);
    if (c->uses[i].members == 0) {
        pool_put_str(pool, c->uses[i].name);
        c->uses[i] = c->uses[--c->use_count];
    }
}

static bool named_before(const struct classic_member *m, int32_t at)
{
    for (int32_t i = 0; i < at; i++) {
        if (str_eq(m->protocols[i].name, m->protocols[at].name)) {
            return true;
        }
    }
    return false;
}

/* Counts a member in (1) or out (-1). A protocol that it names twice counts once. */
static void member_count(struct group_set *set, struct classic *c, const struct classic_member *m, int32_t by)
{
    set->counts.members += by;
    c->joined_count += member_joined(c, m) ? by : 0;
    MUSTER_CHECK(set->counts.members >= 0 && c->joined_count >= 0);
    for (int32_t i = 0; i < m->protocol_count; i++) {
        if (!named_before(m, i)) {
            use_change(set->pool, c, m->protocols[i].name, by);
        }
    }
}

static void recount_joined(struct classic *c)
{
    c->joined_count = 0;
    for (int32_t i = 0; i < c->member_count; i++) {
        c->joined_count += member_joined(c, c->members[i]) ? 1 : 0;
    }
}

/* ---- ClassicGroup ---------------------------------------------------------------------------------------------------------- */

static void replace_str(struct pool *pool, struct str *at, struct str with)
{
    struct str copy = pool_str(pool, with);
    pool_put_str(pool, *at);
    *at = copy;
}

void classic_apply_group(const struct apply_context *c, const struct classic_group_key *key, const struct classic_group_value *value)
{
    struct group *g = value == NULL ? group_find(c->set, key->group_id) : group_find_or_add(c->set, key->group_id);
    if (g == NULL) {
        return;
    }
    static const struct classic_group_value none = {.protocol_type = {"", 0}, .protocol_name = {NULL, -1}, .leader = {NULL, -1}};
    const struct classic_group_value *v = value == NULL ? &none : value;
    struct classic *classic = &g->classic;
    classic->exists = value != NULL;
    classic->state = v->state >= CLASSIC_EMPTY && v->state <= CLASSIC_STABLE ? (enum classic_state)v->state : CLASSIC_EMPTY;
    classic->generation = v->generation;
    replace_str(c->set->pool, &classic->protocol_type, v->protocol_type);
    replace_str(c->set->pool, &classic->protocol_name, v->protocol_name);
    replace_str(c->set->pool, &classic->leader, v->leader);
    classic->state_clock_ms = v->state_timestamp_ms;
    classic->state_wall_ms = v->state_wall_ms;
    classic->assignments_since = v->assignments_since;
    classic->topics_hash = v->topics_hash;
    group_hash_replace(c->set, classic->record_hash, c->record_hash);
    classic->record_hash = c->record_hash;
    recount_joined(classic);
    group_phase_move(c->set, g);
}

/* ---- ClassicMember ----------------------------------------------------------------------------------------------------------- */

static void members_insert(struct pool *pool, struct classic *c, int32_t place, struct classic_member *m)
{
    MUSTER_CHECK(place >= 0 && place <= c->member_count);
    if (c->member_count == c->member_capacity) {
        int32_t capacity = c->member_capacity == 0 ? 4 : 2 * c->member_capacity;
        c->members = pool_resize(pool, c->members, (size_t)c->member_capacity * sizeof *c->members, (size_t)capacity * sizeof *c->members);
        c->member_capacity = capacity;
    }
    memmove(&c->members[place + 1], &c->members[place], (size_t)(c->member_count - place) * sizeof *c->members);
    c->members[place] = m;
    c->member_count++;
}

static void member_remove(struct group_set *set, struct group *g, int32_t place)
{
    struct classic *c = &g->classic;
    MUSTER_CHECK(place >= 0 && place < c->member_count);
    struct classic_member *m = c->members[place];
    group_hash_replace(set, m->record_hash + m->assignment_hash, 0);
    member_count(set, c, m, -1);
    c->member_count--;
    memmove(&c->members[place], &c->members[place + 1], (size_t)(c->member_count - place) * sizeof *c->members);
    member_release(set->pool, m);
    group_phase_move(set, g); /* its waiting join or sync is answered */
}

/* A member's new record leaves its assignment as it was. */
static void assignment_move(struct pool *pool, struct classic_member *to, struct classic_member *from)
{
    MUSTER_CHECK(to->references == 1 && !to->has_assignment);
    to->has_assignment = from->has_assignment;
    to->assignment_generation = from->assignment_generation;
    to->assignment_hash = from->assignment_hash;
    if (from->references > 1) {
        to->assignment = pool_bytes(pool, from->assignment);
    } else {
        to->assignment = from->assignment;
        from->assignment = BYTES_NULL;
    }
}

void classic_apply_member(const struct apply_context *c, const struct classic_member_key *key, const struct classic_member_value *value)
{
    struct group_set *set = c->set;
    struct group *g = value == NULL ? group_find(set, key->group_id) : group_find_or_add(set, key->group_id);
    bool found = false;
    int32_t place = g == NULL ? 0 : members_place(&g->classic, key->member_id, &found);
    if (value == NULL) {
        if (found) {
            member_remove(set, g, place);
        }
        return;
    }
    struct classic_member *m = member_new(set->pool, key->member_id, value);
    m->record_hash = c->record_hash;
    if (found) {
        struct classic_member *old = g->classic.members[place];
        group_hash_replace(set, old->record_hash, m->record_hash);
        member_count(set, &g->classic, old, -1);
        assignment_move(set->pool, m, old);
        member_release(set->pool, old);
        g->classic.members[place] = m;
    } else {
        group_hash_replace(set, 0, m->record_hash);
        members_insert(set->pool, &g->classic, place, m);
    }
    member_count(set, &g->classic, m, 1);
}

/* ---- ClassicAssignment --------------------------------------------------------------------------------------------------------- */

void classic_apply_assignment(const struct apply_context *c, const struct classic_assignment_key *key,
                              const struct classic_assignment_value *value)
{
    struct group_set *set = c->set;
    struct group *g = group_find(set, key->group_id);
    bool found = false;
    int32_t place = g == NULL ? 0 : members_place(&g->classic, key->member_id, &found);
    if (!found) {
        return;
    }
    struct classic_member *m = g->classic.members[place];
    if (m->references > 1) { /* an overlay or its base shares it */
        struct classic_member *own = member_copy(set->pool, m);
        member_release(set->pool, m);
        g->classic.members[place] = own;
        m = own;
    }
    pool_put_bytes(set->pool, m->assignment);
    m->assignment = value == NULL ? (struct bytes){(const uint8_t *)"", 0} : pool_bytes(set->pool, value->assignment);
    m->assignment_generation = value == NULL ? 0 : value->generation;
    m->has_assignment = value != NULL;
    group_hash_replace(set, m->assignment_hash, c->record_hash);
    m->assignment_hash = c->record_hash;
}

/* ---- ClassicPendingId ------------------------------------------------------------------------------------------------------------ */

static void pending_insert(struct pool *pool, struct classic *c, int32_t place, struct str member_id)
{
    MUSTER_CHECK(place >= 0 && place <= c->pending_count);
    if (c->pending_count == c->pending_capacity) {
        int32_t capacity = c->pending_capacity == 0 ? 4 : 2 * c->pending_capacity;
        c->pending = pool_resize(pool, c->pending, (size_t)c->pending_capacity * sizeof *c->pending, (size_t)capacity * sizeof *c->pending);
        c->pending_capacity = capacity;
    }
    memmove(&c->pending[place + 1], &c->pending[place], (size_t)(c->pending_count - place) * sizeof *c->pending);
    c->pending[place] = (struct classic_pending_id){.member_id = pool_str(pool, member_id)};
    c->pending_count++;
}

void classic_apply_pending_id(const struct apply_context *c, const struct classic_pending_id_key *key,
                              const struct classic_pending_id_value *value)
{
    struct group_set *set = c->set;
    struct group *g = value == NULL ? group_find(set, key->group_id) : group_find_or_add(set, key->group_id);
    bool found = false;
    int32_t place = g == NULL ? 0 : pending_place(&g->classic, key->member_id, &found);
    if (value == NULL && !found) {
        return;
    }
    struct classic *classic = &g->classic;
    if (!found) {
        pending_insert(set->pool, classic, place, key->member_id);
        set->counts.pending++;
    }
    struct classic_pending_id *p = &classic->pending[place];
    group_hash_replace(set, p->record_hash, c->record_hash);
    p->record_hash = c->record_hash;
    if (value != NULL) {
        p->session_timeout_ms = value->session_timeout_ms;
        return;
    }
    pool_put_str(set->pool, p->member_id);
    classic->pending_count--;
    set->counts.pending--;
    memmove(p, p + 1, (size_t)(classic->pending_count - place) * sizeof *p);
}

/* ---- life ---------------------------------------------------------------------------------------------------------------------------- */

void classic_free(struct group_set *set, struct group *g)
{
    struct classic *c = &g->classic;
    struct pool *pool = set->pool;
    set->counts.members -= c->member_count;
    set->counts.pending -= c->pending_count;
    for (int32_t i = 0; i < c->member_count; i++) {
        member_release(pool, c->members[i]);
    }
    for (int32_t i = 0; i < c->pending_count; i++) {
        pool_put_str(pool, c->pending[i].member_id);
    }
    for (int32_t i = 0; i < c->use_count; i++) {
        pool_put_str(pool, c->uses[i].name);
    }
    pool_put(pool, c->members, (size_t)c->member_capacity * sizeof *c->members);
    pool_put(pool, c->pending, (size_t)c->pending_capacity * sizeof *c->pending);
    pool_put(pool, c->uses, (size_t)c->use_capacity * sizeof *c->uses);
    pool_put_str(pool, c->protocol_type);
    pool_put_str(pool, c->protocol_name);
    pool_put_str(pool, c->leader);
}

static void *array_copy(struct pool *pool, const void *array, int32_t capacity, size_t size)
{
    if (capacity == 0) {
        return NULL;
    }
    void *copy = pool_get(pool, (size_t)capacity * size);
    memcpy(copy, array, (size_t)capacity * size);
    return copy;
}

void classic_clone(struct group_set *to, struct group *copy, const struct group *g)
{
    struct classic *c = &copy->classic;
    const struct classic *from = &g->classic;
    MUSTER_CHECK(c->member_count == 0 && c->pending_count == 0 && c->use_count == 0);
    *c = *from;
    c->protocol_type = pool_str(to->pool, from->protocol_type);
    c->protocol_name = pool_str(to->pool, from->protocol_name);
    c->leader = pool_str(to->pool, from->leader);
    c->members = array_copy(to->pool, from->members, from->member_capacity, sizeof *c->members);
    c->pending = array_copy(to->pool, from->pending, from->pending_capacity, sizeof *c->pending);
    c->uses = array_copy(to->pool, from->uses, from->use_capacity, sizeof *c->uses);
    for (int32_t i = 0; i < c->member_count; i++) {
        c->members[i]->references++;
    }
    for (int32_t i = 0; i < c->pending_count; i++) {
        c->pending[i].member_id = pool_str(to->pool, from->pending[i].member_id);
    }
    for (int32_t i = 0; i < c->use_count; i++) {
        c->uses[i].name = pool_str(to->pool, from->uses[i].name);
    }
}
