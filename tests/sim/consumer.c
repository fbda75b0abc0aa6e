/* Members of consumer groups of the new protocol: each says what it subscribes to and what it has. */
#include "consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGEXES = 3 };

const struct consumer_plan consumer_plans[SIM_CONSUMER_GROUPS] = {
    {.partitions = {6, 3, 4}},
    {.partitions = {6, 2, 3}, .regexes = true},
    {.partitions = {6, 80, 60}}, /* its assignments are made by jobs (SIM_INLINE_COST) */
    {.partitions = {7, 3, 2}, .mixed = true},
    {.partitions = {8, 3, 2}, .mixed = true, .regexes = true, .cooperative = true},
};

const char *consumer_topic(uint32_t group, uint32_t topic, char name[SIM_ID_MAX])
{
    static const char *const kinds[PLAN_TOPICS] = {"kept", "more", "third"};
    snprintf(name, SIM_ID_MAX, "c%u-%s", group, kinds[topic]);
    return name;
}

/* All topics of the group, the last one, the two that come and go. */
const char *consumer_regex(const struct consumer *c, char text[SIM_ID_MAX])
{
    static const char *const ends[REGEXES + 1] = {NULL, "[a-z]*", "(third|fourth)", "[^k].*"};
    text[0] = '\0';
    if (c->regex != 0)
        snprintf(text, SIM_ID_MAX, "c%u-%s", c->member.crowd->number, ends[c->regex]);
    return text;
}

bool consumer_reads(const struct consumer *c, uint32_t topic)
{
    static const uint32_t matches[REGEXES + 1] = {0, 7, 4, 6};
    return ((c->names | matches[c->regex]) >> topic & 1) != 0;
}

/* ---- a life begins ---- */

static void choose_topics(struct consumer *c)
{
    struct sim *sim = c->member.sim;
    bool by_regex = c->plan->regexes && !c->classic && c->version > 0 && sim_chance(sim, 500000);
    c->regex = by_regex ? 1 + (int)prng_below(&sim->random, REGEXES) : 0;
    c->names = (uint32_t)prng_below(&sim->random, 1u << PLAN_TOPICS);
    if (!by_regex && c->names == 0 && (c->classic || !sim_chance(sim, 200000))) /* now and then one wants nothing at all */
        c->names = 1 + (uint32_t)prng_below(&sim->random, (1u << PLAN_TOPICS) - 1);
}

static void new_id(struct consumer *c)
{
    struct member *m = &c->member;
    bool makes_its_own = !c->classic && c->version > 0;
    if (makes_its_own)
        snprintf(m->member_id, SIM_ID_MAX, "%s-%llu", m->name, (unsigned long long)m->lives);
    else
        m->member_id[0] = '\0'; /* its coordinator gives it one */
}

static void born(struct member *m)
{
    struct consumer *c = consumer_of(m);
    struct sim *sim = m->sim;
    uint32_t fashion = c->plan->mixed ? sim->consumers->fashion[m->crowd->number] : 0;
    bool was_classic = c->classic, kept_id = m->member_id[0] != '\0' && m->instance_id[0] == '\0';
    c->classic = m->may_rise = fashion > 0 && sim_chance(sim, fashion);
    c->version = c->classic ? 9 : 1;
    if (m->instance_id[0] == '\0' && sim_chance(sim, 200000)) /* what a static one leaves out of version 0 is as it was */
        c->version = c->classic ? 3 : 0;
    m->protocol = !c->classic ? &consumer_protocol : c->plan->cooperative ? &consumer_classic_cooperative : &consumer_classic_eager;
    m->interval_ms = MEMBER_HEARTBEAT_US / 1000;
    c->part_count = -1;
    c->calm_sent_us = 0;
    /* Whoever changes his protocol may do so under his id: that member is then of the other kind. */
    if (!(c->classic != was_classic && kept_id && sim_chance(sim, 200000)))
        new_id(c);
    choose_topics(c);
}

/* ---- what it says ---- */

typedef struct consumer_group_heartbeat_request request;
typedef struct consumer_group_heartbeat_request_topic_partitions topic_partitions;

static void say_subscription(struct consumer *c, request *q, struct sim_request *r)
{
    char text[SIM_ID_MAX];
    q->subscribed_topic_names = (struct str_array){ARENA_NEW(&r->arena, struct str, PLAN_TOPICS), 0};
    for (uint32_t t = 0; t < PLAN_TOPICS; t++) {
        if ((c->names >> t & 1) != 0)
            q->subscribed_topic_names.v[q->subscribed_topic_names.len++] = member_text(r, consumer_topic(c->member.crowd->number, t, text));
    }
    if (c->version > 0)
        q->subscribed_topic_regex = member_text(r, consumer_regex(c, text));
    c->changed = false;
}

static void say_has(const struct member *m, request *q, struct arena *arena)
{
    const struct unit_set *has = &m->has.role[ACTIVE];
    topic_partitions *topics = ARENA_NEW(arena, topic_partitions, has->len + 1);
    q->topic_partitions.v = topics;
    q->topic_partitions.len = 0;
    for (int32_t i = 0; i < has->len; i++) {
        struct uuid id = topic_id(m->sim, unit_name(has->v[i]));
        if (i == 0 || unit_name(has->v[i]) != unit_name(has->v[i - 1]))
            topics[q->topic_partitions.len++] = (topic_partitions){id, {ARENA_NEW(arena, int32_t, has->len), 0}};
        struct int32_array *partitions = &topics[q->topic_partitions.len - 1].partitions;
        partitions->v[partitions->len++] = unit_partition(has->v[i]);
    }
    if (m->stray == STRAY_LARGER) { /* of a topic that never was */
        topics[q->topic_partitions.len] = (topic_partitions){{{0}}, {ARENA_NEW(arena, int32_t, 1), 1}};
        memset(topics[q->topic_partitions.len++].topic_id.b, 0x5a, sizeof(struct uuid));
    }
}

static void say_join(struct consumer *c, request *q, struct sim_request *r)
{
    static const char *const assignors[] = {"uniform", "range"};
    struct sim *sim = c->member.sim;
    q->rebalance_timeout_ms = MEMBER_REBALANCE_MS;
    q->topic_partitions.len = 0;
    if (sim_chance(sim, 400000))
        q->server_assignor = member_text(r, assignors[prng_below(&sim->random, COUNT_OF(assignors))]);
    if (sim_chance(sim, 300000))
        q->rack_id = STR("rack");
    say_subscription(c, q, r);
}

static void say_beat(struct consumer *c, request *q, struct sim_request *r)
{
    struct member *m = &c->member;
    if (m->says != SAYS_NOTHING)
        say_has(m, q, &r->arena);
    if (m->says == SAYS_ALL) {
        q->rebalance_timeout_ms = MEMBER_REBALANCE_MS;
        say_subscription(c, q, r);
        m->sim->totals.consumer_full++;
    } else if (c->changed && m->stray == STRAY_NONE) {
        say_subscription(c, q, r);
    }
    c->leaves_nothing = m->says == SAYS_ALL;
}

static void say(struct member *m, enum speech what)
{
    struct consumer *c = consumer_of(m);
    struct sim_request *r = member_request(m, GROUP_CONSUMER_HEARTBEAT, 68, c->version);
    request *q = ARENA_NEW(&r->arena, request, 1);
    wire_init(&wire_consumer_group_heartbeat_request, q);
    r->request.op.request = q;
    q->group_id = r->request.op.group_id;
    q->member_id = member_text(r, m->member_id);
    q->member_epoch = member_epoch_to_say(m);
    q->instance_id = member_instance(m, r);
    c->leaves_nothing = false;
    switch (what) {
    case SPEECH_JOIN:
        say_join(c, q, r);
        break;
    case SPEECH_BEAT:
        say_beat(c, q, r);
        break;
    case SPEECH_LEAVE:
        q->member_epoch = m->instance_id[0] != '\0' && sim_chance(m->sim, 500000) ? -2 : -1;
        break;
    case SPEECH_SYNC:
        break;
    }
    member_send(m, r, MEMBER_PATIENCE_US);
}

/* ---- what it is told ---- */

void consumer_given(struct consumer *c, const struct unit_set *before, int32_t epoch)
{
    const struct unit_set *has = &c->member.has.role[ACTIVE];
    for (int32_t i = 0; i < has->len; i++) {
        size_t k = 0;
        if (set_has(before, has->v[i]))
            continue;
        while (k < c->given_count && c->given[k].unit != has->v[i])
            k++;
        if (k == c->given_cap) {
            c->given_cap = c->given_cap == 0 ? 32 : 2 * c->given_cap;
            c->given = realloc(c->given, c->given_cap * sizeof(*c->given));
            MUSTER_CHECK(c->given != NULL);
        }
        c->given_count += k == c->given_count;
        c->given[k] = (struct given){has->v[i], epoch};
    }
}

static void check_answer(const struct consumer *c, const struct consumer_group_heartbeat_response *a, const struct share *told, bool joins)
{
    const struct member *m = &c->member;
    if (!joins && m->sure && a->assignment != NULL && a->member_epoch != m->epoch && !share_within(&m->has, told))
        sim_fail(m->sim, "%s (%s) has come from epoch %d to %d, but has not given up what it is told to", m->name, m->member_id, m->epoch,
                 a->member_epoch);
    if ((joins || c->leaves_nothing) && a->assignment == NULL)
        sim_fail(m->sim, "%s (%s) said everything in epoch %d and was not told what it has", m->name, m->member_id, m->epoch);
    if (a->heartbeat_interval_ms < SIM_BEAT_FLOOR_MS || a->heartbeat_interval_ms > MEMBER_HEARTBEAT_US / 1000)
        sim_fail(m->sim, "%s (%s) shall heartbeat every %d ms", m->name, m->member_id, a->heartbeat_interval_ms);
}

static void hear(struct member *m, struct sim_request *r)
{
    struct consumer *c = consumer_of(m);
    const struct consumer_group_heartbeat_response *a = r->answer;
    bool joins = m->life == LIFE_JOINING, stray = m->stray != STRAY_NONE, sure = m->sure;
    struct share share = {0};
    struct unit_set before = {0};
    if (consumer_hears_offsets(c, r))
        return;
    for (int32_t i = 0; a->assignment != NULL && i < a->assignment->topic_partitions.len; i++) {
        const struct consumer_group_heartbeat_response_topic_partitions *t = &a->assignment->topic_partitions.v[i];
        for (int32_t k = 0; k < t->partitions.len; k++)
            set_add(&share.role[ACTIVE], unit_of(topic_number(m->sim, t->topic_id), t->partitions.v[k]));
    }
    set_copy(&before, &m->has.role[ACTIVE]);
    if (a->error_code == 0 && !stray) {
        snprintf(m->member_id, SIM_ID_MAX, "%.*s", STR_ARG(a->member_id));
        check_answer(c, a, &share, joins);
    }
    struct reply reply = {.error = a->error_code,
                          .text = a->error_message,
                          .epoch = a->member_epoch,
                          .interval_ms = a->heartbeat_interval_ms,
                          .tells = a->assignment != NULL,
                          .share = &share};
    member_heard(m, &reply);
    if (a->error_code == 0 && !stray)
        consumer_given(c, &before, sure && !joins ? a->member_epoch : 0);
    set_free(&before);
    share_free(&share);
}

/* Now and then it wants something else, or works on what it has. */
static bool act_besides(struct member *m)
{
    struct consumer *c = consumer_of(m);
    if (!m->sim->healing && sim_chance(m->sim, 15000)) {
        choose_topics(c);
        c->changed = true;
        sim_say(m->sim, "%s group=%s subscribes names=%x regex=%d", m->name, m->crowd->id, c->names, c->regex);
        m->sim->totals.consumer_changes++;
        member_say(m, SPEECH_BEAT);
        return true;
    }
    return consumer_asks_offsets(c);
}

const struct protocol consumer_protocol = {
    .heals = true, .born = born, .say = say, .hear = hear, .act = act_besides, .beside = consumer_commits_beside};

/* One member of each group is a static one. */
void consumers_start(struct sim *sim)
{
    struct sim_consumers *s = sim->consumers = calloc(1, sizeof(*s));
    MUSTER_CHECK(s != NULL);
    for (uint32_t i = 0; i < SIM_CONSUMER_GROUPS; i++) {
        crowd_begin(&s->crowds[i], sim, CROWD_CONSUMER, "consumer", i);
        s->crowds[i].restarts = consumer_plans[i].mixed;
        s->fashion[i] = 500000;
    }
    for (uint32_t i = 0; i < SIM_CONSUMER_MEMBERS; i++) {
        struct consumer *c = &s->consumers[i];
        uint32_t group = i % SIM_CONSUMER_GROUPS;
        c->plan = &consumer_plans[group];
        member_begin(&c->member, &s->crowds[group], &consumer_protocol, "consumer", i);
        if (i / SIM_CONSUMER_GROUPS == 3)
            snprintf(c->member.instance_id, SIM_ID_MAX, "instance-c%u", group);
    }
    consumer_admin_start(sim);
}

void consumers_fini(struct sim *sim)
{
    if (sim->consumers == NULL)
        return;
    for (uint32_t i = 0; i < SIM_CONSUMER_MEMBERS; i++) {
        struct consumer *c = &sim->consumers->consumers[i];
        for (int k = 0; k < PARTS_MAX; k++) {
            set_free(&c->parts[k].units);
            set_free(&c->parts[k].gives_up);
        }
        share_free(&c->said);
        free(c->given);
    }
    for (uint32_t i = 0; i < SIM_CONSUMER_GROUPS; i++)
        crowd_fini(&sim->consumers->crowds[i]);
    free(sim->consumers);
}

/* ---- after the faults ---- */

bool consumers_idle(const struct sim *sim)
{
    return sim->consumers->admin.count == 0;
}

/* A static member whose place a new process has taken in a stable group is told what the old one had, and nobody assigns anew (KIP-345): if the new one wants
 * something else, the leader does not hear of it before the next generation; and what the old one was to give up, and had not yet when it died, is nobody's before
 * that. That old one, as the leader of its classic group knows it; NULL: there is none. */
static const struct part *replaced_by(const struct crowd *crowd, const struct consumer *c)
{
    for (uint32_t i = 0; c->classic && c->in_classic_group && c->member.instance_id[0] != '\0' && i < crowd->count; i++) {
        const struct consumer *leader = const_consumer_of(crowd->members[i]);
        bool leads = leader->classic && leader->in_classic_group && leader->member.epoch == c->member.epoch;
        const struct part *place = NULL;
        for (int32_t k = 0; leads && k < leader->part_count; k++) {
            if (strcmp(leader->parts[k].member_id, c->member.member_id) == 0)
                return NULL;
            place = leader->parts[k].is_static ? &leader->parts[k] : place; /* there is one a group */
        }
        if (place != NULL)
            return place;
    }
    return NULL;
}

/* What the members of a group share, and whether each has only what it asked for. */
static bool expected_of(struct sim *sim, struct crowd *crowd, struct unit_set *expected, char *why, size_t why_len)
{
    char text[SET_TEXT_MAX];
    struct unit_set nobodys = {0};
    bool fine = true;
    for (uint32_t i = 0; i < crowd->count; i++) {
        struct consumer *c = consumer_of(crowd->members[i]);
        struct unit_set own = {0}, has = {0}, led = {0};
        const struct part *old = replaced_by(crowd, c);
        uint32_t names = old == NULL ? c->names : old->names;
        if (old != NULL)
            set_join(&nobodys, &old->gives_up);
        for (uint32_t t = 0; t < PLAN_TOPICS; t++) {
            struct catalog_topic topic;
            char name[SIM_ID_MAX];
            bool reads = consumer_reads(c, t), assigned = names == c->names ? reads : (names >> t & 1) != 0;
            if ((!reads && !assigned) || !topic_newest(sim, consumer_topic(crowd->number, t, name), &topic))
                continue;
            for (int32_t p = 0; p < topic.partitions; p++) {
                uint32_t unit = unit_of(topic_number(sim, topic.id), p);
                if (reads)
                    set_add(&own, unit);
                if (assigned)
                    set_add(&led, unit);
            }
        }
        set_join(expected, &led);
        set_copy(&has, &c->member.has.role[ACTIVE]);
        set_drop(&has, &own);
        if (old != NULL)
            set_drop(&has, &led);
        if (has.len > 0)
            snprintf(why, why_len, "%s of %s has %s, which it does not subscribe to", c->member.name, crowd->id, set_text(&has, text));
        fine = fine && has.len == 0;
        set_free(&own);
        set_free(&led);
        set_free(&has);
    }
    set_drop(expected, &nobodys);
    set_free(&nobodys);
    return fine;
}

bool consumers_settled(struct sim *sim, char *why, size_t why_len)
{
    bool settled = true;
    for (uint32_t group = 0; settled && group < SIM_CONSUMER_GROUPS; group++) {
        struct crowd *crowd = &sim->consumers->crowds[group];
        struct unit_set expected = {0};
        struct settling s = {.expected = &expected, .healed_at_us = sim->healed_at_us, .beats = SETTLE_BEATS};
        settled = expected_of(sim, crowd, &expected, why, why_len);
        settled = crowd_settled(crowd, &s, why, why_len) && settled;
        set_free(&expected);
    }
    return settled;
}

/* Whoever has settled heartbeats seldom. */
bool consumers_calm(struct sim *sim, char *why, size_t why_len)
{
    for (uint32_t i = 0; i < SIM_CONSUMER_MEMBERS; i++) {
        const struct member *m = &sim->consumers->consumers[i].member;
        if (m->interval_ms < SIM_HOLD_INTERVAL_MS) {
            snprintf(why, why_len, "%s of %s has settled and heartbeats every %d ms", m->name, m->crowd->id, m->interval_ms);
            return false;
        }
    }
    return true;
}

void consumers_gone(struct sim *sim, struct str group_id)
{
    for (uint32_t i = 0; i < SIM_CONSUMER_GROUPS; i++) {
        if (str_eq(str_of(sim->consumers->crowds[i].id), group_id))
            crowd_forget(&sim->consumers->crowds[i]);
    }
}
