/* convert.c: a classic group with members becomes a consumer group that they stay in, because a member of the new protocol joins it (KIP-848).
 *
 * Its generation becomes the epoch of the group, of its assignment and of all members; what each was assigned last is what it has and what it is to have. The
 * joins and syncs that wait are told to come again by classic/join.c and sync.c, once the group's type has changed. */
#include "classic.h"

#include "../classic/members.h"
#include "../names.h"

struct conversion {
    struct draft *t;
    struct decision *d;
    const struct classic *c;
    struct str protocol_name;
    struct modern *to;
    bool all_assigned;
};

/* ---- what does not become one ------------------------------------------------------------------------------------------------------- */

static struct refused refuse(const struct conversion *v, const char *rule, const char *why)
{
    struct str text =
        arena_printf(v->d->arena, "Cannot upgrade classic group %.*s to consumer group because %s", STR_ARG(v->d->op->group_id), why);
    return (struct refused){.error = KAFKA_GROUP_ID_NOT_FOUND, .text = text, .rule = rule};
}

static struct refused check(const struct conversion *v)
{
    const struct consumer_settings *s = &v->d->op->settings->consumer;
    if (!s->upgrade) {
        return refuse(v, RULE(UPGRADE_DISABLED), "online upgrade is disabled.");
    }
    if (!str_eq(v->c->protocol_type, STR("consumer"))) {
        return refuse(v, RULE(UPGRADE_TYPE), "the group does not use the consumer embedded protocol.");
    }
    if (s->max_size > 0 && v->c->member_count > s->max_size) {
        return refuse(v, RULE(UPGRADE_SIZE), "the group size exceeds the consumer group maximum size.");
    }
    return not_refused();
}

static struct refused malformed(const struct conversion *v)
{
    return refuse(v, RULE(UPGRADE_MALFORMED), "the embedded consumer protocol is malformed.");
}

/* ---- its members --------------------------------------------------------------------------------------------------------------------- */

/* The group's protocol, or, while none is chosen that all support, the one that they would choose. */
static struct str chosen_protocol(const struct decision *d, const struct classic *c)
{
    bool all = !str_is_null(c->protocol_name);
    if (c->member_count == 0) { /* as records may have it, in a state with members */
        return STR("");
    }
    for (int32_t i = 0; all && i < c->member_count; i++) {
        all = member_supports(c->members[i], c->protocol_name);
    }
    return all ? c->protocol_name : classic_vote((const struct classic_member *const *)c->members, c->member_count, d->arena);
}

static struct modern_member *member_of(const struct conversion *v, const struct classic_member *from,
                                       const struct consumer_protocol_subscription *s)
{
    struct modern_member *m = ARENA_NEW(v->d->arena, struct modern_member, 1);
    *m = consumer_nobody;
    m->instance_id = from->instance_id;
    m->rack_id = s->rack_id;
    m->client_id = from->client_id;
    m->client_host = from->client_host;
    m->rebalance_timeout_ms = from->rebalance_timeout_ms;
    m->topics = classic_topics(v->d, s);
    m->is_classic = true;
    m->classic_session_timeout_ms = from->session_timeout_ms;
    m->protocols = from->protocols;
    m->protocol_count = from->protocol_count;
    return m;
}

static struct held *held_of(const struct conversion *v, struct units units)
{
    struct held *held = ARENA_NEW(v->d->arena, struct held, 1);
    held->holding.kind[UNITS_ACTIVE] = units;
    return held;
}

static struct refused add_member(const struct conversion *v, const struct group *g, const struct classic_member *m)
{
    struct consumer_protocol_subscription s;
    struct consumer_protocol_assignment a;
    wire_init(&wire_consumer_protocol_assignment, &a);
    struct bytes assignment = classic_assignment(g, m);
#ifdef MUSTER_FAULT_CONVERSION_LOSES_ASSIGNMENT
    assignment = BYTES_NULL;
#endif
    if (!embedded_subscription(member_metadata(m, v->protocol_name), v->d->arena, &s) ||
        (assignment.len > 0 && !embedded_assignment(assignment, v->d->arena, &a))) {
        return malformed(v);
    }
    if (a.user_data.len > 0) {
        return refuse(v, RULE(UPGRADE_ASSIGNOR),
                      "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default assignor "
                      "before re-attempting the upgrade.");
    }
    struct modern_current *current = ARENA_NEW(v->d->arena, struct modern_current, 1);
    current->epoch = current->previous_epoch = v->to->epoch;
    current->state = MEMBER_STABLE;
    current->assigned = held_of(v, classic_units(v->d, &a, v->to->epoch));
    current->revoking = held_of(v, classic_owned(v->d, &s)); /* set_revoking() leaves what is nobody's */
    v->to->slots[v->to->slot_count++] =
        (struct modern_slot){.member_id = m->member_id, .member = member_of(v, m, &s), .target = {.raw = BYTES_NULL}, .current = current};
    return not_refused();
}

/* Owners of units: each with the number of its member, the first one that names it, in place of an epoch. */
static void add_owner(struct unit_list *owners, struct units units, int32_t member)
{
    for (int32_t i = 0; i < units.len; i++) {
        unit_list_add(owners, units.v[i].name, units.v[i].partition, member);
    }
}

static struct units owned_by(const struct conversion *v, struct units owners, struct units units, int32_t member, int32_t epoch)
{
    struct unit *mine = ARENA_NEW(v->d->arena, struct unit, units.len);
    int32_t len = 0;
    for (int32_t i = 0; i < units.len; i++) {
        const struct unit *owner = units_find(owners, units.v[i].name, units.v[i].partition);
        mine[len] = (struct unit){.name = units.v[i].name, .partition = units.v[i].partition, .epoch = epoch};
        len += owner != NULL && owner->epoch == member ? 1 : 0;
    }
    return (struct units){mine, len};
}

/* Who was assigned what. A leader may have given a partition to two: it is to be the first one's. */
static struct units set_targets(const struct conversion *v)
{
    struct unit_list all;
    unit_list_init(&all, v->d->arena);
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        add_owner(&all, v->to->slots[i].current->assigned->holding.kind[UNITS_ACTIVE], i);
    }
    struct units owners = unit_list_finish(&all);
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        struct units has = v->to->slots[i].current->assigned->holding.kind[UNITS_ACTIVE];
        v->to->slots[i].target.held = held_of(v, owned_by(v, owners, has, i, 0));
    }
    return owners;
}

/* A cooperative member that was assigned less than it said that it owned gives the rest up before it joins again: until then nobody else gets it. */
static void set_revoking(const struct conversion *v, struct units assigned)
{
    struct unit_list all;
    unit_list_init(&all, v->d->arena);
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        struct units says = v->to->slots[i].current->revoking->holding.kind[UNITS_ACTIVE];
        for (int32_t k = 0; k < says.len; k++) {
            if (units_find(assigned, says.v[k].name, says.v[k].partition) == NULL) {
                unit_list_add(&all, says.v[k].name, says.v[k].partition, i);
            }
        }
    }
    struct units owners = unit_list_finish(&all);
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        struct modern_current *current = v->to->slots[i].current;
        struct units left = owned_by(v, owners, current->revoking->holding.kind[UNITS_ACTIVE], i, v->to->epoch);
#ifdef MUSTER_FAULT_CONVERSION_FREES_OWNED
        left.len = 0;
#endif
        current->revoking = held_of(v, left);
        current->state = left.len > 0 ? MEMBER_UNREVOKED : MEMBER_STABLE;
    }
}

/* ---- what is derived from them -------------------------------------------------------------------------------------------------------- */

static void set_instances(const struct conversion *v)
{
    struct modern *to = v->to;
    struct str *ids = ARENA_NEW(v->d->arena, struct str, to->slot_count);
    struct str *members = ARENA_NEW(v->d->arena, struct str, to->slot_count);
    for (int32_t i = 0; i < to->slot_count; i++) {
        if (!str_is_null(to->slots[i].member->instance_id)) {
            members[to->instance_count] = to->slots[i].member_id;
            ids[to->instance_count++] = to->slots[i].member->instance_id;
        }
    }
    const int32_t *order = names_sort(ids, to->instance_count, v->d->arena);
    to->instances = ARENA_NEW(v->d->arena, struct instance_ref, to->instance_count);
    for (int32_t i = 0; i < to->instance_count; i++) {
        to->instances[i] = (struct instance_ref){ids[order[i]], members[order[i]]};
    }
}

static void set_uses(const struct conversion *v)
{
    int32_t most = 0, len = 0;
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        most += v->to->slots[i].member->topics.len;
    }
    struct str *names = ARENA_NEW(v->d->arena, struct str, most);
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        for (int32_t k = 0; k < v->to->slots[i].member->topics.len; k++) {
            names[len++] = v->to->slots[i].member->topics.v[k];
        }
    }
    const int32_t *order = names_sort(names, len, v->d->arena);
    struct topic_uses *uses = ARENA_NEW(v->d->arena, struct topic_uses, 1);
    uses->v = ARENA_NEW(v->d->arena, struct topic_use, len);
    for (int32_t i = 0; i < len; i++) {
        if (i == 0 || !str_eq(names[order[i]], names[order[i - 1]])) {
            uses->v[uses->count++].name = names[order[i]];
        }
        uses->v[uses->count - 1].members++;
    }
    v->to->uses = uses;
}

/* Whether somebody is to have every partition that the members subscribe to. */
static bool all_assigned(const struct conversion *v, struct units owners)
{
    const struct topics *topics = v->d->op->topics;
    bool all = true;
    for (int32_t i = 0; all && i < v->to->uses->count; i++) {
        struct topic_view view;
        if (topics->by_name(topics->ctx, v->to->uses->v[i].name, &view)) {
            for (int32_t p = 0; all && p < view.partitions; p++) {
                all = units_find(owners, unit_of_topic(&view.id), p) != NULL;
            }
        }
    }
    return all;
}

static struct refused make(struct conversion *v, const struct group *g)
{
    v->protocol_name = chosen_protocol(v->d, v->c);
    v->to = ARENA_NEW(v->d->arena, struct modern, 1);
    *v->to = v->t->kind->nothing;
    v->to->epoch = v->to->assignment_epoch = v->c->generation > 0 ? v->c->generation : 1; /* epoch 0 is that of who joins */
    v->to->has_assignment = true;                                                         /* at no time: no interval runs */
    v->to->slots = ARENA_NEW(v->d->arena, struct modern_slot, v->c->member_count);
    struct refused refused = not_refused();
    for (int32_t i = 0; refused.error == KAFKA_NONE && i < v->c->member_count; i++) {
        refused = add_member(v, g, v->c->members[i]);
    }
    if (refused.error == KAFKA_NONE) {
        v->to->member_count = v->to->classic_count = v->to->slot_count;
        struct units owners = set_targets(v);
        set_revoking(v, owners);
        set_instances(v);
        set_uses(v);
        v->all_assigned = all_assigned(v, owners);
    }
    return refused;
}

/* ---- records and timers ----------------------------------------------------------------------------------------------------------------- */

typedef struct consumer_group_member_metadata_key member_key; /* all of members are laid out alike; so are those of the group */
typedef struct consumer_group_metadata_key group_key;

enum part { PART_MEMBER, PART_TARGET, PART_CURRENT };

static void write_parts(const struct conversion *v, enum part part)
{
    const struct modern_kind *kind = v->t->kind->records;
    for (int32_t i = 0; i < v->to->slot_count; i++) {
        const struct modern_slot *slot = &v->to->slots[i];
        member_key key = {.group_id = v->d->op->group_id, .member_id = slot->member_id};
        struct holding target = modern_target(slot);
        struct member_position position = modern_position(slot);
        switch (part) {
        case PART_MEMBER:
            out_record(v->d, kind->member_record, &key, MODERN_VALUE_VERSION, kind->member_value(slot->member, v->d->arena));
            break;
        case PART_TARGET:
            out_record(v->d, kind->target_record, &key, MODERN_VALUE_VERSION, kind->target_value(&target, v->d->arena));
            break;
        case PART_CURRENT:
            out_record(v->d, kind->current_record, &key, MODERN_VALUE_VERSION, kind->current_value(&position, v->d->arena));
            break;
        }
    }
}

static void write(const struct conversion *v)
{
    const struct modern_kind *kind = v->t->kind->records;
    group_key key = {.group_id = v->d->op->group_id};
    write_parts(v, PART_MEMBER);
    out_record(v->d, kind->group_record, &key, MODERN_VALUE_VERSION, kind->group_value(v->to, v->d->arena));
    write_parts(v, PART_TARGET);
    out_record(v->d, kind->assignment_record, &key, MODERN_VALUE_VERSION, kind->assignment_value(v->to, v->d->arena));
    write_parts(v, PART_CURRENT);
    classic_tombstones(v->d, v->t->g); /* the group is a consumer group by then, so that it never seems to be gone */
}

/* What the classic group waited for is moot; its members keep their sessions, those too that stood still while a join or a sync waited. */
static void set_timers(const struct conversion *v)
{
    out_timer(v->d, GROUP_TIMER_REBALANCE, STR(""), 0, -1);
    out_timer(v->d, GROUP_TIMER_INITIAL_DELAY, STR(""), 0, -1);
    for (int32_t i = 0; i < v->c->member_count; i++) {
        const struct classic_member *m = v->c->members[i];
        out_timer(v->d, GROUP_TIMER_SYNC, m->member_id, 0, -1);
        out_timer(v->d, GROUP_TIMER_SESSION, m->member_id, 0, m->session_timeout_ms);
    }
}

struct refused consumer_convert(struct draft *t)
{
    struct conversion v = {.t = t, .d = t->d, .c = &t->g->classic};
    struct refused refused = check(&v);
    refused = refused.error == KAFKA_NONE ? make(&v, t->g) : refused;
    if (refused.error != KAFKA_NONE) {
        return refused;
    }
    t->was = v.to;
    t->next = *v.to;
    t->is_new = false;
    consumer_part(t)->converted = true;
    v.to->metadata_hash = t->next.metadata_hash = consumer_draft_hash(t);
    write(&v);
    set_timers(&v);
    history_event(t->d, &(struct history_event){.cause = GROUP_CAUSE_CONVERTED,
                                                .member_id = STR_NULL,
                                                .instance_id = STR_NULL,
                                                .client_id = STR_NULL,
                                                .host = STR_NULL,
                                                .reason = STR_NULL,
                                                .timeout_ms = -1});
    if (!v.all_assigned) { /* the classic group's leader would have assigned the rest: nobody else does, if the joining member moves no epoch */
        draft_bump(t, GROUP_CAUSE_CONVERTED);
    }
    return not_refused();
}
