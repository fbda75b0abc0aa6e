#include "modern_random.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

uint64_t modern_random_below(struct modern_random *r, uint64_t bound)
{
    return prng_below(&r->prng, bound);
}

int modern_random_number(const struct modern_random *r, const struct random_client *c)
{
    return (int)(c - r->client);
}

/* ---- bits ---------------------------------------------------------------------------------------------------------------------------- */

void bits_add(struct unit_bits *all, int name, int32_t partition)
{
    assert_true(name >= 0 && name < RANDOM_NAMES && partition >= 0 && partition < RANDOM_PARTITIONS);
    all->of[name] = (uint8_t)(all->of[name] | 1u << partition);
}

static void bits_join(struct unit_bits *all, const struct unit_bits *with)
{
    for (int i = 0; i < RANDOM_NAMES; i++) {
        all->of[i] |= with->of[i];
    }
}

bool bits_meet(const struct unit_bits *a, const struct unit_bits *b)
{
    bool meet = false;
    for (int i = 0; i < RANDOM_NAMES; i++) {
        meet = meet || (a->of[i] & b->of[i]) != 0;
    }
    return meet;
}

static bool bits_within(const struct unit_bits *inner, const struct unit_bits *outer)
{
    bool within = true;
    for (int i = 0; i < RANDOM_NAMES; i++) {
        within = within && (inner->of[i] & ~outer->of[i]) == 0;
    }
    return within;
}

static bool bits_equal(const struct unit_bits *a, const struct unit_bits *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* ---- answers --------------------------------------------------------------------------------------------------------------------------- */

static void forget(struct random_client *c)
{
    c->epoch = 0;
    memset(&c->working, 0, sizeof c->working);
    memset(c->has, 0, sizeof c->has);
    c->owes = false;
}

static void take(struct modern_random *r, struct random_client *c, const struct unit_bits told[UNIT_KINDS])
{
    c->owes = !bits_within(&c->working, &told[UNITS_ACTIVE]) || !bits_within(&c->has[UNITS_STANDBY], &told[UNITS_STANDBY]);
    r->given += bits_within(&told[UNITS_ACTIVE], &c->working) ? 0 : 1;
    bits_join(&c->working, &told[UNITS_ACTIVE]);
    memcpy(c->has, told, sizeof c->has);
}

static bool says_what_it_has(const struct modern_random *r, const void *request)
{
    if (r->kind->heartbeat == GROUP_STREAMS_HEARTBEAT) {
        return ((const struct streams_group_heartbeat_request *)request)->active_tasks.len >= 0;
    }
    return ((const struct consumer_group_heartbeat_request *)request)->topic_partitions.len >= 0;
}

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct modern_random *r = ctx;
    struct random_client *c = (struct random_client *)(uintptr_t)request->tag;
    struct unit_bits told[UNIT_KINDS] = {{{0}}};
    if (request->op.kind != r->kind->heartbeat) {
        return;
    }
    r->answers++;
    if (r->lossy && modern_random_below(r, 12) == 0) {
        r->lost++;
        return;
    }
    if (out->error != 0) {
        forget(c);
        return;
    }
    int32_t epoch = r->kind->epoch_of(out);
    if (epoch < 0) {
        return;
    }
    if (c->epoch == 0) { /* one of version 0 has its id from there */
        struct str id = r->kind->member_id(out);
        snprintf(c->member_id, sizeof c->member_id, "%.*s", STR_ARG(id));
    }
    c->owes = c->owes && !(says_what_it_has(r, request->op.request) && c->epoch > 0);
    c->epoch = epoch;
    if (r->kind->told(out, told)) {
        take(r, c, told);
    }
}

/* ---- life -------------------------------------------------------------------------------------------------------------------------------- */

void modern_random_init(struct modern_random *r, const struct random_kind *kind, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    r->kind = kind;
    prng_seed(&r->prng, seed);
    struct world_events events = {.ctx = r, .answer = on_answer};
    world_init(&r->world, &events);
    world_level(&r->world, prng_chance(&r->prng, 800000) ? 2 : 1);
    r->world.settings.history_max_entries = 1 + (int32_t)prng_below(&r->prng, 4);
    r->lossy = modern_random_below(r, 2) == 0;
    kind->init(r);
}

void modern_random_fini(struct modern_random *r)
{
    group_job_free(r->job);
    world_fini(&r->world);
}

struct world_request *modern_random_new(struct modern_random *r, const struct random_client *c)
{
    struct world_request *q = world_request_new("r");
    q->tag = c;
    q->op.kind = r->kind->heartbeat;
    q->op.api_version = (int16_t)modern_random_below(r, 2);
    q->op.group_id = STR(RANDOM_GROUP);
    q->op.caller =
        (struct group_caller){.client_id = arena_printf(&q->arena, "c%d", modern_random_number(r, c)), .host = STR("/127.0.0.1")};
    return q;
}

struct world_request *modern_random_request(struct modern_random *r, int client)
{
    struct random_client *c = &r->client[client];
    if (c->epoch == 0 || c->dead || c->away) {
        bool anew = c->member_id[0] == '\0' || c->dead || (client >= RANDOM_STATIC && modern_random_below(r, 2) == 0);
        forget(c);
        c->dead = c->away = false;
        if (anew) {
            snprintf(c->member_id, sizeof c->member_id, "m%d-%d", client, c->lives++);
        }
        return r->kind->join(r, c);
    }
    bool says = c->owes || modern_random_below(r, 4) == 0;
    if (says) { /* it stops working on what it was not given before it says so */
        c->working = c->has[UNITS_ACTIVE];
    }
    return r->kind->beat(r, c, says);
}

void modern_random_beat(struct modern_random *r, int client)
{
    world_submit(&r->world, modern_random_request(r, client));
}

static void leave(struct modern_random *r, struct random_client *c)
{
    bool for_a_moment = modern_random_number(r, c) >= RANDOM_STATIC && modern_random_below(r, 2) == 0;
    struct world_request *q = r->kind->leave(r, c, for_a_moment ? -2 : -1);
    forget(c);
    c->away = true;
    world_submit(&r->world, q);
}

static void change_member(struct modern_random *r, struct random_client *c)
{
    if (c->epoch != 0 && !c->dead && !c->away) {
        world_submit(&r->world, r->kind->change(r, c));
    }
}

void modern_random_tell_topics(struct modern_random *r)
{
    struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = STR(RANDOM_GROUP)};
    world_run(&r->world, &op);
}

static void job_done(struct modern_random *r, struct group_job *job)
{
    struct group_op op = {.kind = GROUP_JOB_DONE, .api_key = -1, .group_id = STR(RANDOM_GROUP), .job = job};
    world_run(&r->world, &op);
    group_job_free(job);
}

/* It begins now and ends in a later step. */
static void run_job(struct modern_random *r)
{
    if (r->job == NULL) {
        r->job = world_job(&r->world, STR(RANDOM_GROUP), modern_random_below(r, 2) == 0 ? GROUP_JOB_ASSIGN : GROUP_JOB_RESOLVE);
        return;
    }
    job_done(r, r->job);
    r->job = NULL;
}

void modern_random_work(struct modern_random *r)
{
    static const enum group_job_kind kinds[] = {GROUP_JOB_RESOLVE, GROUP_JOB_ASSIGN};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct group_job *job = world_job(&r->world, STR(RANDOM_GROUP), kinds[i]);
        if (job != NULL) {
            job_done(r, job);
        }
    }
}

void modern_random_step(struct modern_random *r)
{
    int client = (int)modern_random_below(r, RANDOM_CLIENTS);
    struct random_client *c = &r->client[client];
    uint64_t what = modern_random_below(r, 1000);
    if (what < 550) {
        modern_random_beat(r, client);
    } else if (what < 790) {
        world_tick(&r->world, (int64_t)modern_random_below(r, 700));
    } else if (what < 840) {
        leave(r, c);
    } else if (what < 860) {
        c->dead = true;
    } else if (what < 890) {
        change_member(r, c);
    } else if (what < 910) {
        r->kind->change_topics(r);
    } else if (what < 935) {
        if (r->kind->mend_topics != NULL) {
            r->kind->mend_topics(r);
        }
    } else if (what < 975) {
        run_job(r);
    } else {
        world_failover(&r->world);
    }
}

/* ---- what must hold -------------------------------------------------------------------------------------------------------------------------- */

static const struct modern *state(const struct modern_random *r)
{
    const struct group *g = group_find(r->world.set, STR(RANDOM_GROUP));
    return g == NULL ? NULL : r->kind->state(g);
}

/* What is active is at one member, told to give it up or not. */
static void check_owners(const struct modern_random *r, const struct modern *s)
{
    struct unit_bits all = {{0}};
    for (int32_t i = 0; i < s->slot_count; i++) {
        struct member_position p = modern_position(&s->slots[i]);
        struct unit_bits own = r->kind->bits(p.assigned.kind[UNITS_ACTIVE]), revoking = r->kind->bits(p.revoking.kind[UNITS_ACTIVE]);
        bits_join(&own, &revoking);
        assert_false(bits_meet(&all, &own));
        bits_join(&all, &own);
        for (int32_t k = i + 1; k < s->slot_count && r->kind->check != NULL; k++) {
            r->kind->check(&s->slots[i], &s->slots[k]);
        }
    }
}

static void check_slot(const struct modern *s, const struct modern_slot *slot)
{
    struct member_position p = modern_position(slot);
    assert_non_null(slot->member);
    assert_non_null(slot->current);
    assert_true(p.epoch <= assignment_epoch(s) && (p.epoch > 0 || p.epoch == -2));
    assert_true(p.state == MEMBER_UNREVOKED || holding_count(&p.revoking) == 0);
    assert_false(holding_meet(&p.assigned, &p.revoking));
}

/* What members work on, as they know it: those that are still members. */
static void check_work(const struct modern_random *r, const struct modern *s)
{
    struct unit_bits all = {{0}};
    for (int i = 0; i < RANDOM_CLIENTS; i++) {
        const struct random_client *c = &r->client[i];
        if (c->epoch > 0 && !c->dead && modern_find(s, str_of(c->member_id)) != NULL) {
            assert_false(bits_meet(&all, &c->working));
            bits_join(&all, &c->working);
        }
    }
}

void modern_random_check(struct modern_random *r)
{
    const struct modern *s = state(r);
    struct group_set_counts counts;
    group_set_counts(r->world.set, &counts);
    if (s == NULL) {
        assert_int_equal(counts.members, 0);
        return;
    }
    assert_int_equal(counts.members, s->member_count);
    assert_int_equal(s->slot_count, s->member_count);
    assert_true(s->epoch >= r->group_epoch);
    assert_true(assignment_epoch(s) <= s->epoch);
    assert_true((s->empty_since_ms < 0) == (s->member_count > 0));
    r->group_epoch = s->epoch;
    for (int32_t i = 0; i < s->slot_count; i++) {
        check_slot(s, &s->slots[i]);
    }
    check_owners(r, s);
    check_work(r, s);
}

bool modern_random_settled(const struct modern_random *r)
{
    const struct modern *s = state(r);
    struct unit_bits all = {{0}};
    bool settled = s != NULL && s->epoch == assignment_epoch(s);
    for (int32_t i = 0; settled && i < s->slot_count; i++) {
        struct member_position p = modern_position(&s->slots[i]);
        struct holding target = modern_target(&s->slots[i]);
        struct unit_bits own = r->kind->bits(p.assigned.kind[UNITS_ACTIVE]);
        settled = p.epoch == s->epoch && p.state == MEMBER_STABLE && holding_equal(&p.assigned, &target);
        bits_join(&all, &own);
    }
    for (int i = 0; settled && i < RANDOM_CLIENTS; i++) {
        const struct modern_slot *slot = modern_find(s, str_of(r->client[i].member_id));
        if (slot != NULL) {
            struct unit_bits own = r->kind->bits(modern_position(slot).assigned.kind[UNITS_ACTIVE]);
            settled = bits_equal(&r->client[i].working, &own);
        }
    }
    if (!settled) {
        return false;
    }
    struct unit_bits needed = r->kind->needed(r, s);
    return bits_equal(&all, &needed);
}
