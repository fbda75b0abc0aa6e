/* Consumers that speak the classic protocol: they join, sync and heartbeat, whatever their group is: a classic one, which one of them leads and assigns, or a
 * consumer group, whose coordinator does. Eager ones close everything before they join again; cooperative ones keep what they have, and join once more when
 * they had to close something. */
#include "consumer.h"

#include <stdio.h>
#include <string.h>

enum {
    NONE = 0,
    ILLEGAL_GENERATION = 22,
    UNKNOWN_MEMBER_ID = 25,
    REBALANCE_IN_PROGRESS = 27,
    MEMBER_ID_REQUIRED = 79,
    JOIN_PATIENCE_US = 6000000
};
enum { STRAY_FAR = 1000 }; /* a downgrade may bring the group to a generation that is a little higher than the member's */

static bool is_cooperative(const struct consumer *c)
{
    return c->plan->cooperative;
}

/* ---- what it says ---- */

/* Its time is over by its own clock. A consumer group takes anybody as somebody new, and does not tell who was a member and is none any more. */
static void forget_has(struct member *m)
{
    share_clear(&m->has);
    share_clear(&m->told);
    m->closed_at_us = 0;
}

static void say_join(struct consumer *c)
{
    struct member *m = &c->member;
    if (!member_believes(m))
        forget_has(m);
    struct sim_request *r = member_request(m, GROUP_JOIN, 11, c->version);
    struct join_group_request *q = ARENA_NEW(&r->arena, struct join_group_request, 1);
    int16_t bytes_version = (int16_t)(is_cooperative(c) ? 1 + m->number % 3 : m->number % 4);
    wire_init(&wire_join_group_request, q);
    r->request.op.request = q;
    r->request.connection = 1000 + m->number;
    q->group_id = r->request.op.group_id;
    q->session_timeout_ms = SIM_SESSION_MS;
    q->rebalance_timeout_ms = MEMBER_REBALANCE_MS;
    q->member_id = member_text(r, m->member_id);
    q->group_instance_id = member_instance(m, r);
    q->protocol_type = STR("consumer");
    q->protocols.v = ARENA_NEW(&r->arena, struct join_group_request_protocol, 1);
    q->protocols.len = 1;
    q->protocols.v[0].name = is_cooperative(c) ? STR("cooperative-sticky") : STR("range");
    q->protocols.v[0].metadata = subscription_bytes(c, bytes_version, &r->arena);
    c->changed = false;
    share_copy(&c->said, &m->has);
    c->member.sim->totals.consumer_classic_joins++;
    member_send(m, r, JOIN_PATIENCE_US);
}

static void say_sync(struct consumer *c)
{
    struct member *m = &c->member;
    struct sim_request *r = member_request(m, GROUP_SYNC, 14, 5);
    struct sync_group_request *q = ARENA_NEW(&r->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, q);
    r->request.op.request = q;
    q->group_id = r->request.op.group_id;
    q->generation_id = m->epoch;
    q->member_id = member_text(r, m->member_id);
    q->group_instance_id = member_instance(m, r);
    q->protocol_type = STR("consumer");
    q->protocol_name = is_cooperative(c) ? STR("cooperative-sticky") : STR("range");
    q->assignments.v = ARENA_NEW(&r->arena, struct sync_group_request_assignment, PARTS_MAX);
    for (int32_t i = 0; i < c->part_count; i++)
        q->assignments.v[q->assignments.len++] =
            (struct sync_group_request_assignment){member_text(r, c->parts[i].member_id),
                                                   assignment_bytes(m->sim, m->crowd->number, &c->parts[i].units, &r->arena)};
    member_send(m, r, JOIN_PATIENCE_US);
}

static void say_heartbeat(struct consumer *c)
{
    struct member *m = &c->member;
    struct sim_request *r = member_request(m, GROUP_HEARTBEAT, 12, 4);
    struct heartbeat_request *q = ARENA_NEW(&r->arena, struct heartbeat_request, 1);
    m->confirms = false; /* a join does */
    wire_init(&wire_heartbeat_request, q);
    r->request.op.request = q;
    q->group_id = r->request.op.group_id;
    q->generation_id = m->stray != STRAY_NONE ? m->epoch + STRAY_FAR : m->epoch;
    q->member_id = member_text(r, m->member_id);
    q->group_instance_id = member_instance(m, r);
    member_send(m, r, 2 * MEMBER_HEARTBEAT_US);
}

static void say_leave(struct consumer *c)
{
    struct member *m = &c->member;
    struct sim_request *r = member_request(m, GROUP_LEAVE, 13, 5);
    struct leave_group_request *q = ARENA_NEW(&r->arena, struct leave_group_request, 1);
    wire_init(&wire_leave_group_request, q);
    r->request.op.request = q;
    q->group_id = r->request.op.group_id;
    q->members.v = ARENA_NEW(&r->arena, struct leave_group_request_member_identity, 1);
    q->members.len = 1;
    q->members.v[0] = (struct leave_group_request_member_identity){.member_id = member_text(r, m->member_id),
                                                                   .group_instance_id = member_instance(m, r),
                                                                   .reason = STR_NULL};
    member_send(m, r, MEMBER_PATIENCE_US);
}

static void say(struct member *m, enum speech what)
{
    struct consumer *c = consumer_of(m);
    if (what == SPEECH_BEAT && m->says == SAYS_HAS && m->stray == STRAY_NONE && m->closed_at_us == 0) { /* with a join it does */
        member_say(m, SPEECH_JOIN);
        return;
    }
    switch (what) {
    case SPEECH_JOIN:
        say_join(c);
        break;
    case SPEECH_SYNC:
        say_sync(c);
        break;
    case SPEECH_BEAT:
        say_heartbeat(c);
        break;
    case SPEECH_LEAVE:
        say_leave(c);
        break;
    }
}

/* ---- a leader's work ---- */

/* Of everything that the topics are, so that the leader sees when they change. */
static uint64_t layout_of(struct sim *sim, uint32_t group)
{
    uint64_t hash = 1;
    for (uint32_t t = 0; t < PLAN_TOPICS; t++) {
        struct catalog_topic topic;
        char name[SIM_ID_MAX];
        if (!topic_newest(sim, consumer_topic(group, t, name), &topic))
            continue;
        hash = hash_bytes(topic.id.b, sizeof(topic.id.b), hash);
        hash = hash_bytes(&topic.partitions, sizeof(topic.partitions), hash);
    }
    return hash;
}

struct candidate {
    uint32_t names;
    struct unit_set owned;
};

/* -1: nobody. */
static int32_t another_with(const struct candidate *v, int32_t count, int32_t taker, uint32_t unit)
{
    for (int32_t i = 0; i < count; i++) {
        if (i != taker && set_has(&v[i].owned, unit))
            return i;
    }
    return -1;
}

/* One after the other; what a cooperative one has is given to another in the round after that in which it was told to give it up. */
static void assign_topic(struct consumer *c, const struct candidate *v, uint32_t t, uint32_t number, int32_t partitions)
{
    int32_t taker = (int32_t)t;
    for (int32_t p = 0; p < partitions; p++) {
        int32_t tried = 0;
        do {
            taker = (taker + 1) % c->part_count;
            tried++;
        } while (tried <= c->part_count && (v[taker].names >> t & 1) == 0);
        if (tried > c->part_count)
            return;
        int32_t other = is_cooperative(c) ? another_with(v, c->part_count, taker, unit_of(number, p)) : -1;
        set_add(other < 0 ? &c->parts[taker].units : &c->parts[other].gives_up, unit_of(number, p));
    }
}

static void lead(struct consumer *c, const struct join_group_response *a)
{
    struct sim *sim = c->member.sim;
    uint32_t group = c->member.crowd->number;
    struct candidate v[PARTS_MAX] = {{0}};
    MUSTER_CHECK(a->members.len <= PARTS_MAX);
    c->part_count = a->members.len;
    topics_heard(sim, group); /* a topic may have come since the last one of them joined */
    c->layout = layout_of(sim, group);
    for (int32_t i = 0; i < a->members.len; i++) {
        snprintf(c->parts[i].member_id, SIM_ID_MAX, "%.*s", STR_ARG(a->members.v[i].member_id));
        set_clear(&c->parts[i].units);
        set_clear(&c->parts[i].gives_up);
        if (!subscription_read(sim, group, a->members.v[i].metadata, &v[i].names, &v[i].owned))
            sim_fail(sim, "%s: the subscription of %s cannot be read", c->member.name, c->parts[i].member_id);
        c->parts[i].names = v[i].names;
        c->parts[i].is_static = !str_is_null(a->members.v[i].group_instance_id);
    }
    for (uint32_t t = 0; t < PLAN_TOPICS && c->part_count > 0; t++) {
        struct catalog_topic topic;
        char name[SIM_ID_MAX];
        if (topic_newest(sim, consumer_topic(group, t, name), &topic))
            assign_topic(c, v, t, topic_number(sim, topic.id), topic.partitions);
    }
    for (int32_t i = 0; i < a->members.len; i++)
        set_free(&v[i].owned);
}

/* ---- what it hears ---- */

static void join_again(struct member *m)
{
    m->life = LIFE_JOINING;
    m->next_says = SAYS_NOTHING;
}

/* What it has may be somebody else's by now. */
static void lose_all(struct member *m, bool id_too)
{
    member_drop_all(m);
    join_again(m);
    if (id_too)
        m->member_id[0] = '\0';
}

static void refused(struct member *m, int16_t error, const char *what)
{
    if (request_elsewhere(error)) {
        member_elsewhere(m);
    } else if (error == REBALANCE_IN_PROGRESS) {
        join_again(m);
    } else if (error == ILLEGAL_GENERATION) {
        lose_all(m, false);
    } else {
        sim_say(m->sim, "%s: a %s is answered with error %d", m->name, what, error);
        member_refused(m, error, str_of(what));
        if (m->protocol == &consumer_classic_eager || m->protocol == &consumer_classic_cooperative)
            m->member_id[0] = '\0';
    }
}

static void joined(struct consumer *c, const struct join_group_response *a)
{
    struct member *m = &c->member;
    if (a->error_code == MEMBER_ID_REQUIRED) {
        snprintf(m->member_id, SIM_ID_MAX, "%.*s", STR_ARG(a->member_id));
        return;
    }
    if (a->error_code != NONE) {
        refused(m, a->error_code, "join");
        return;
    }
    snprintf(m->member_id, SIM_ID_MAX, "%.*s", STR_ARG(a->member_id));
    c->part_count = -1;
    c->in_classic_group = !str_is_empty(a->leader);
    if (!member_believes(m) && !c->in_classic_group)
        forget_has(m);
    int64_t good_sent_us = m->good_sent_us;
    bool nothing_new = c->in_classic_group && a->generation_id == m->epoch; /* it is told where it is, and its session is as it was */
    member_good(m, a->generation_id, false);
    m->good_sent_us = nothing_new ? good_sent_us : m->good_sent_us;
    m->confirm_by_us = m->sent_us + SIM_LEAST_US(MEMBER_REBALANCE_MS); /* to sync */
    m->life = LIFE_SYNCING;
    sim_say(m->sim, "%s group=%s joined member=%s generation=%d%s", m->name, m->crowd->id, m->member_id, m->epoch,
            str_eq(a->leader, a->member_id) ? " leads" : "");
    if (!str_eq(a->leader, a->member_id))
        return;
    if (!a->skip_assignment) {
        lead(c, a);
    } else { /* what was assigned is known, but not for which topics */
        c->part_count = 0;
        c->layout = 0;
    }
}

/* It has to join again: an eager one closes everything first, a cooperative one what it is closing already. */
static void rejoin(struct consumer *c)
{
    static const struct share nothing = {0};
    struct member *m = &c->member;
    if (m->confirm_by_us == 0)
        m->confirm_by_us = c->calm_sent_us + SIM_LEAST_US(MEMBER_REBALANCE_MS);
    if (!is_cooperative(c) && m->told.role[ACTIVE].len > 0)
        member_take(m, &nothing);
    else if (m->closed_at_us == 0)
        m->next_says = SAYS_HAS;
}

/* It is of a topic that it does not want: its group's leader has not heard that it wants other ones since it was started anew as the same static member. Clients join
 * again then; one that is eager says the same as before and is told the same, until the group rebalances for something else. Once in a generation is enough of that. */
static bool has_unwanted(const struct consumer *c)
{
    struct sim *sim = c->member.sim;
    const struct unit_set *told = &c->member.told.role[ACTIVE];
    for (int32_t i = 0; i < told->len; i++) {
        for (uint32_t t = 0; t < PLAN_TOPICS; t++) {
            const struct known_topic *known = &sim->consumers->known[c->member.crowd->number][t];
            if (known->there && known->number == unit_name(told->v[i]) && !consumer_reads(c, t))
                return true;
        }
    }
    return false;
}

static void synced(struct consumer *c, const struct sync_group_response *a)
{
    struct member *m = &c->member;
    struct share share = {0};
    struct unit_set before = {0};
    if (a->error_code != NONE) {
        refused(m, a->error_code, "sync");
        return;
    }
    if (!assignment_read(m->sim, m->crowd->number, a->assignment, &share.role[ACTIVE]))
        sim_fail(m->sim, "%s (%s): an assignment cannot be read", m->name, m->member_id);
    set_copy(&before, &m->has.role[ACTIVE]);
    m->life = LIFE_MEMBER;
    m->confirm_by_us = 0;
    if (!c->in_classic_group) /* there a sync is no sign of life */
        member_good(m, m->epoch, false);
    c->calm_sent_us = m->sent_us;
    member_take(m, &share);
    /* Nothing that anybody has to be told of. What it said to have and has lost since, by its clock, the coordinator waits for until it hears of that. */
    if (m->closed_at_us == 0 && share_within(&c->said, &share)) {
        m->confirm_by_us = 0;
        m->next_says = SAYS_NOTHING;
    }
    m->next_beat_us = m->sim->now_us + (c->in_classic_group ? 0 : MEMBER_HEARTBEAT_US);
    consumer_given(c, &before, 0);
    if (c->in_classic_group && has_unwanted(c) && c->complained != m->epoch) {
        c->complained = m->epoch;
        rejoin(c);
    }
    share_free(&share);
    set_free(&before);
}

static void heartbeat_heard(struct consumer *c, int16_t error)
{
    struct member *m = &c->member;
    bool stray = m->stray != STRAY_NONE;
    m->stray = STRAY_NONE;
    if (stray && (error == NONE || error == REBALANCE_IN_PROGRESS)) {
        sim_fail(m->sim, "%s (%s): a heartbeat of generation %d is answered with error %d in generation %d", m->name, m->member_id,
                 m->epoch + STRAY_FAR, error, m->epoch);
    } else if (stray && error == ILLEGAL_GENERATION) {
        MEMBER_COUNT(m, strays);
    } else if (error == REBALANCE_IN_PROGRESS) {
        m->good_sent_us = m->sent_us;
        rejoin(c);
    } else if (error == NONE) {
        if (m->confirm_by_us == 0)
            c->calm_sent_us = m->sent_us;
        member_good(m, m->epoch, false);
    } else {
        refused(m, error, "heartbeat");
    }
}

static void hear(struct member *m, struct sim_request *r)
{
    struct consumer *c = consumer_of(m);
    if (consumer_hears_offsets(c, r))
        return;
    switch (r->request.op.kind) {
    case GROUP_JOIN:
        joined(c, r->answer);
        break;
    case GROUP_SYNC:
        synced(c, r->answer);
        break;
    default:
        heartbeat_heard(c, ((const struct heartbeat_response *)r->answer)->error_code);
        break;
    }
}

/* A leader whose topics have changed, and whoever wants other ones, joins again. */
static bool act_besides(struct member *m)
{
    struct consumer *c = consumer_of(m);
    bool changes = !m->sim->healing && sim_chance(m->sim, 15000);
    if (changes) {
        c->names = 1 + (uint32_t)prng_below(&m->sim->random, (1u << PLAN_TOPICS) - 1);
        m->sim->totals.consumer_changes++;
    }
    if ((changes || (c->part_count >= 0 && c->layout != layout_of(m->sim, m->crowd->number))) && m->next_says == SAYS_NOTHING &&
        m->closed_at_us == 0) {
        rejoin(c);
        bool ready = m->closed_at_us == 0;
        if (ready)
            member_say(m, SPEECH_JOIN);
        return ready;
    }
    return consumer_asks_offsets(c);
}

static void born(struct member *m)
{
    consumer_protocol.born(m);
}

const struct protocol consumer_classic_eager = {.keeps = true, .born = born, .say = say, .hear = hear, .act = act_besides};
const struct protocol consumer_classic_cooperative = {.keeps = true, .born = born, .say = say, .hear = hear, .act = act_besides};
