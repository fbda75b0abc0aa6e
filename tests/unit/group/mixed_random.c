#include "mixed_random.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "consumer/draft.h"
#include "embedded.h"

static const char group_name[] = "g";
enum { CLASSIC_SESSION_MS = 6000, CLASSIC_REBALANCE_MS = 30000, CONSUMER_SESSION_MS = 8000 };

static uint64_t below(struct mixed_random *r, uint64_t bound)
{
    return prng_below(&r->prng, bound);
}

static int number_of(const struct mixed_random *r, const struct mixed_client *c)
{
    return (int)(c - r->client);
}

static bool is_static(const struct mixed_random *r, const struct mixed_client *c)
{
    return number_of(r, c) >= MIXED_STATIC;
}

/* ---- partitions of the one topic, as bits ------------------------------------------------------------------------------------------- */

static uint32_t bit_of(int32_t partition)
{
    assert_true(partition >= 0 && partition < MIXED_PARTITIONS);
    return 1u << partition;
}

static uint32_t bits_of(const struct int32_array *partitions)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < partitions->len; i++) {
        bits |= bit_of(partitions->v[i]);
    }
    return bits;
}

static uint32_t bits_of_units(struct units units)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < units.len; i++) {
        bits |= bit_of(units.v[i].partition);
    }
    return bits;
}

static struct int32_array partitions_of(struct arena *arena, uint32_t bits)
{
    struct int32_array all = {ARENA_NEW(arena, int32_t, MIXED_PARTITIONS), 0};
    for (int32_t p = 0; p < MIXED_PARTITIONS; p++) {
        if ((bits >> p & 1) != 0) {
            all.v[all.len++] = p;
        }
    }
    return all;
}

static struct bytes versioned(const struct wire_msg *msg, int16_t version, const void *value, struct arena *arena)
{
    struct bytes body = wire_encode(msg, version, value, arena);
    uint8_t *v = ARENA_NEW(arena, uint8_t, body.len + 2);
    put_be16(v, (uint16_t)version);
    memcpy(v + 2, body.ptr, (size_t)body.len);
    return (struct bytes){v, body.len + 2};
}

static struct bytes subscription(struct arena *arena, int16_t version, uint32_t owned)
{
    struct consumer_protocol_subscription s;
    wire_init(&wire_consumer_protocol_subscription, &s);
    s.topics.v = ARENA_NEW(arena, struct str, 1);
    s.topics.v[s.topics.len++] = STR("in");
    s.owned_partitions.v = ARENA_NEW(arena, struct consumer_protocol_subscription_topic_partition, 1);
    s.owned_partitions.v[0] = (struct consumer_protocol_subscription_topic_partition){STR("in"), partitions_of(arena, owned)};
    s.owned_partitions.len = owned != 0 ? 1 : 0;
    return versioned(&wire_consumer_protocol_subscription, version, &s, arena);
}

static uint32_t owned_of(struct bytes metadata, struct arena *arena)
{
    struct consumer_protocol_subscription s;
    uint32_t bits = 0;
    assert_true(embedded_subscription(metadata, arena, &s));
    for (int32_t i = 0; i < s.owned_partitions.len; i++) {
        bits |= bits_of(&s.owned_partitions.v[i].partitions);
    }
    return bits;
}

static struct bytes assignment(struct arena *arena, uint32_t bits)
{
    struct consumer_protocol_assignment a;
    wire_init(&wire_consumer_protocol_assignment, &a);
    a.assigned_partitions.v = ARENA_NEW(arena, struct consumer_protocol_assignment_topic_partition, 1);
    a.assigned_partitions.v[0] = (struct consumer_protocol_assignment_topic_partition){STR("in"), partitions_of(arena, bits)};
    a.assigned_partitions.len = 1;
    return versioned(&wire_consumer_protocol_assignment, 1, &a, arena);
}

static uint32_t assigned_of(struct bytes bytes, struct arena *arena)
{
    struct consumer_protocol_assignment a;
    uint32_t bits = 0;
    if (bytes.len == 0) {
        return 0;
    }
    assert_true(embedded_assignment(bytes, arena, &a));
    for (int32_t i = 0; i < a.assigned_partitions.len; i++) {
        bits |= bits_of(&a.assigned_partitions.v[i].partitions);
    }
    return bits;
}

static int32_t partition_count(const struct mixed_random *r)
{
    struct topic_view view;
    return r->world.topics.by_name(r->world.topics.ctx, STR("in"), &view) ? view.partitions : 0;
}

/* ---- answers ---------------------------------------------------------------------------------------------------------------------------- */

static void forget(struct mixed_client *c)
{
    c->epoch = 0;
    c->has = c->working = 0;
    c->owes = c->joined = c->rejoin = false;
    c->led = 0;
}

static void lose_id(struct mixed_client *c)
{
    forget(c);
    c->member_id[0] = '\0';
}

static void keep_id(struct mixed_client *c, struct str id)
{
    snprintf(c->member_id, sizeof c->member_id, "%.*s", STR_ARG(id));
}

/* Its session began anew: not every answer says so. */
static void hear(const struct mixed_random *r, struct mixed_client *c)
{
    c->heard_ms = r->world.now_ms;
}

static void on_heartbeat_of_consumer(struct mixed_random *r, struct mixed_client *c, const struct world_request *request,
                                     const struct consumer_group_heartbeat_response *answer)
{
    const struct consumer_group_heartbeat_request *q = request->op.request;
    if (answer->error_code != 0) {
        forget(c);
        return;
    }
    hear(r, c);
    if (q->member_epoch < 0) {
        return;
    }
    c->owes = c->owes && (q->topic_partitions.len < 0 || q->member_epoch == 0);
    c->epoch = answer->member_epoch;
    if (answer->assignment == NULL) {
        return;
    }
    uint32_t now = 0;
    for (int32_t i = 0; i < answer->assignment->topic_partitions.len; i++) {
        now |= bits_of(&answer->assignment->topic_partitions.v[i].partitions);
    }
    c->owes = (c->working & ~now) != 0;
    r->given += (now & ~c->working) != 0 ? 1 : 0;
    c->working |= now;
    c->has = now;
}

static void on_classic_error(struct mixed_client *c, int16_t error)
{
    switch (error) {
    case KAFKA_REBALANCE_IN_PROGRESS:
        c->rejoin = true;
        c->joined = false;
        break;
    case KAFKA_ILLEGAL_GENERATION:
        forget(c);
        break;
    case KAFKA_NOT_COORDINATOR:
    case KAFKA_COORDINATOR_NOT_AVAILABLE:
        break;
    default:
        lose_id(c);
        break;
    }
}

static void on_join(struct mixed_random *r, struct mixed_client *c, const struct join_group_response *answer)
{
    if (answer->error_code == KAFKA_MEMBER_ID_REQUIRED) {
        keep_id(c, answer->member_id);
        return;
    }
    if (answer->error_code != 0) {
        on_classic_error(c, answer->error_code);
        return;
    }
    hear(r, c);
    keep_id(c, answer->member_id);
    c->epoch = answer->generation_id;
    c->joined = true;
    c->rejoin = false;
    c->led = 0;
    assert_true(answer->members.len <= MIXED_LED);
    for (int32_t i = 0; i < answer->members.len; i++) {
        snprintf(c->led_id[c->led], sizeof c->led_id[0], "%.*s", STR_ARG(answer->members.v[i].member_id));
        c->led_owned[c->led++] = owned_of(answer->members.v[i].metadata, &r->world.scratch);
    }
}

/* What it has no more it gives up at once, and comes again so that others can have it. */
static void on_sync(struct mixed_random *r, struct mixed_client *c, const struct sync_group_response *answer)
{
    if (answer->error_code != 0) {
        on_classic_error(c, answer->error_code);
        return;
    }
    hear(r, c);
    uint32_t now = assigned_of(answer->assignment, &r->world.scratch);
    c->rejoin = (c->working & ~now) != 0;
    r->given += (now & ~c->working) != 0 ? 1 : 0;
    c->has = c->working = now;
    c->joined = false;
}

static void on_beat(const struct mixed_random *r, struct mixed_client *c, const struct heartbeat_response *answer)
{
    if (answer->error_code == 0 || answer->error_code == KAFKA_REBALANCE_IN_PROGRESS) {
        hear(r, c);
    }
    if (answer->error_code != 0) {
        on_classic_error(c, answer->error_code);
    }
}

/* A life ends with the last request of it: an answer to an earlier one is nobody's. */
struct letter {
    struct mixed_client *client;
    int life;
};

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct mixed_random *r = ctx;
    const struct letter *letter = request->tag;
    struct mixed_client *c = letter->client;
    r->answers++;
    if (letter->life != c->lives) {
        return;
    }
    c->waiting = false;
    c->unsure = c->dead || (r->lossy && below(r, 14) == 0);
    if (c->unsure) {
        return;
    }
    switch (request->op.kind) {
    case GROUP_CONSUMER_HEARTBEAT:
        on_heartbeat_of_consumer(r, c, request, out->answer);
        break;
    case GROUP_JOIN:
        on_join(r, c, out->answer);
        break;
    case GROUP_SYNC:
        on_sync(r, c, out->answer);
        break;
    case GROUP_HEARTBEAT:
        on_beat(r, c, out->answer);
        break;
    default:
        break;
    }
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------------------ */

static struct world_request *request_new(struct mixed_random *r, struct mixed_client *c, enum group_op_kind kind, int16_t version)
{
    struct world_request *q = world_request_new("c");
    struct letter *letter = ARENA_NEW(&q->arena, struct letter, 1);
    *letter = (struct letter){c, c->lives};
    q->tag = letter;
    q->op.kind = kind;
    q->op.api_version = version;
    q->op.group_id = STR(group_name);
    q->op.caller = (struct group_caller){.client_id = arena_printf(&q->arena, "c%d", number_of(r, c)), .host = STR("/127.0.0.1")};
    return q;
}

static struct str instance_of(const struct mixed_random *r, const struct mixed_client *c, struct arena *arena)
{
    return is_static(r, c) ? arena_printf(arena, "i%d", number_of(r, c)) : STR_NULL;
}

static struct str id_of(const struct mixed_client *c, struct arena *arena)
{
    return arena_str(arena, str_of(c->member_id));
}

static void submit(struct mixed_random *r, struct mixed_client *c, struct world_request *q)
{
    c->waiting = true;
    world_submit(&r->world, q);
}

static void consumer_beat(struct mixed_random *r, struct mixed_client *c, int32_t epoch)
{
    struct world_request *q = request_new(r, c, GROUP_CONSUMER_HEARTBEAT, 1);
    struct consumer_group_heartbeat_request *h = ARENA_NEW(&q->arena, struct consumer_group_heartbeat_request, 1);
    wire_init(&wire_consumer_group_heartbeat_request, h);
    if (epoch == 0) {
        forget(c);
        h->topic_partitions.len = 0;
        if (c->member_id[0] == '\0') {
            snprintf(c->member_id, sizeof c->member_id, "m%d-%d", number_of(r, c), c->lives);
        }
    }
    if (epoch == 0 || (epoch > 0 && c->unsure)) {
        h->rebalance_timeout_ms = (int32_t)(1000 + below(r, 4) * 2000);
        h->subscribed_topic_names = (struct str_array){ARENA_NEW(&q->arena, struct str, 1), 1};
        h->subscribed_topic_names.v[0] = STR("in");
    }
    if (epoch > 0 && (c->owes || c->unsure || below(r, 4) == 0)) {
        c->working = c->has;
        struct topic_view view;
        h->topic_partitions.v = ARENA_NEW(&q->arena, struct consumer_group_heartbeat_request_topic_partitions, 1);
        h->topic_partitions.len = r->world.topics.by_name(r->world.topics.ctx, STR("in"), &view) ? 1 : 0;
        h->topic_partitions.v[0].topic_id = view.id;
        h->topic_partitions.v[0].partitions = partitions_of(&q->arena, c->has);
    }
    h->group_id = q->op.group_id;
    h->member_id = id_of(c, &q->arena);
    h->member_epoch = epoch;
    h->instance_id = instance_of(r, c, &q->arena);
    q->op.request = h;
    submit(r, c, q);
}

static void classic_join(struct mixed_random *r, struct mixed_client *c)
{
    static const int16_t versions[] = {2, 5, 9};
    int16_t version = versions[is_static(r, c) ? 1 + below(r, 2) : below(r, 3)];
    struct world_request *q = request_new(r, c, GROUP_JOIN, version);
    struct join_group_request *j = ARENA_NEW(&q->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, j);
    if (c->eager) {
        c->has = c->working = 0;
    }
    j->group_id = q->op.group_id;
    j->member_id = id_of(c, &q->arena);
    j->group_instance_id = instance_of(r, c, &q->arena);
    j->session_timeout_ms = CLASSIC_SESSION_MS;
    j->rebalance_timeout_ms = CLASSIC_REBALANCE_MS;
    j->protocol_type = STR("consumer");
    j->protocols.v = ARENA_NEW(&q->arena, struct join_group_request_protocol, 1);
    j->protocols.len = 1;
    j->protocols.v[0].name = STR("range");
    j->protocols.v[0].metadata = subscription(&q->arena, (int16_t)(c->eager ? below(r, 4) : 1 + below(r, 3)), c->working);
    q->op.request = j;
    submit(r, c, q);
}

/* Nobody gets more than its share; what somebody owns goes to nobody else before its owner came without it. */
static void lead(struct mixed_random *r, const struct mixed_client *c, uint32_t *shares)
{
    int32_t count = partition_count(r), most = (count + c->led - 1) / c->led;
    uint32_t owned = 0, free = 0;
    for (int i = 0; i < c->led; i++) {
        owned |= c->led_owned[i];
        for (int32_t p = 0, kept = 0; p < count && kept < most; p++) {
            if ((c->led_owned[i] & bit_of(p)) != 0) {
                shares[i] |= bit_of(p);
                kept++;
            }
        }
    }
    free = ((1u << count) - 1) & ~owned;
    for (int32_t p = 0; p < count; p++) {
        for (int i = 0; i < c->led && (free & bit_of(p)) != 0; i++) {
            if (__builtin_popcount(shares[i]) < most) {
                shares[i] |= bit_of(p);
                free &= ~bit_of(p);
            }
        }
    }
}

static void classic_sync(struct mixed_random *r, struct mixed_client *c)
{
    struct world_request *q = request_new(r, c, GROUP_SYNC, 3);
    struct sync_group_request *s = ARENA_NEW(&q->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, s);
    s->group_id = q->op.group_id;
    s->generation_id = c->epoch;
    s->member_id = id_of(c, &q->arena);
    s->group_instance_id = instance_of(r, c, &q->arena);
    uint32_t shares[MIXED_LED] = {0};
    if (c->led > 0) {
        lead(r, c, shares);
        r->led++;
    }
    s->assignments.v = ARENA_NEW(&q->arena, struct sync_group_request_assignment, c->led);
    for (int i = 0; i < c->led; i++) {
        s->assignments.v[s->assignments.len++] =
            (struct sync_group_request_assignment){.member_id = arena_str(&q->arena, str_of(c->led_id[i])),
                                                   .assignment = assignment(&q->arena, shares[i])};
    }
    q->op.request = s;
    submit(r, c, q);
}

static void classic_beat(struct mixed_random *r, struct mixed_client *c)
{
    struct world_request *q = request_new(r, c, GROUP_HEARTBEAT, 3);
    struct heartbeat_request *h = ARENA_NEW(&q->arena, struct heartbeat_request, 1);
    wire_init(&wire_heartbeat_request, h);
    h->group_id = q->op.group_id;
    h->generation_id = c->epoch;
    h->member_id = id_of(c, &q->arena);
    h->group_instance_id = instance_of(r, c, &q->arena);
    q->op.request = h;
    submit(r, c, q);
}

static void classic_leave(struct mixed_random *r, struct mixed_client *c)
{
    struct world_request *q = request_new(r, c, GROUP_LEAVE, 5);
    struct leave_group_request *l = ARENA_NEW(&q->arena, struct leave_group_request, 1);
    wire_init(&wire_leave_group_request, l);
    l->group_id = q->op.group_id;
    l->members.v = ARENA_NEW(&q->arena, struct leave_group_request_member_identity, 1);
    l->members.len = 1;
    l->members.v[0].member_id = below(r, 2) == 0 && is_static(r, c) ? STR("") : id_of(c, &q->arena);
    l->members.v[0].group_instance_id = instance_of(r, c, &q->arena);
    l->members.v[0].reason = STR_NULL;
    q->op.request = l;
    submit(r, c, q);
}

/* ---- life -------------------------------------------------------------------------------------------------------------------------------------- */

static void begin(struct mixed_random *r, struct mixed_client *c, bool classic)
{
    lose_id(c);
    c->lives++;
    c->classic = classic;
    c->eager = below(r, 2) == 0;
    c->away = c->dead = c->waiting = c->unsure = false;
    c->heard_ms = r->world.now_ms;
}

void mixed_random_init(struct mixed_random *r, uint64_t seed)
{
    static const int32_t intervals[] = {0, 0, 300, 1000};
    memset(r, 0, sizeof *r);
    prng_seed(&r->prng, seed);
    struct world_events events = {.ctx = r, .answer = on_answer};
    world_init(&r->world, &events);
    world_level(&r->world, prng_chance(&r->prng, 800000) ? 2 : 1);
    r->world.settings.history_max_entries = 1 + (int32_t)prng_below(&r->prng, 4);
    struct group_settings *s = &r->world.settings;
    s->consumer.assignment_interval_ms = intervals[below(r, 4)];
    s->consumer.session_timeout_ms = CONSUMER_SESSION_MS;
    s->initial_rebalance_delay_ms = below(r, 2) == 0 ? 0 : 500;
    s->consumer.downgrade = below(r, 8) != 0;
    r->lossy = below(r, 2) == 0;
    world_topic_set(&r->world, "in", (int32_t)(1 + below(r, MIXED_PARTITIONS)));
    r->tide = (enum mixed_tide)below(r, 3);
    for (int i = 0; i < MIXED_CLIENTS; i++) {
        begin(r, &r->client[i], r->tide == TIDE_NONE ? below(r, 2) == 0 : r->tide == TIDE_CLASSIC);
        r->client[i].away = i >= 2;
    }
}

void mixed_random_fini(struct mixed_random *r)
{
    world_fini(&r->world);
}

/* A client whose session must be over does not go by what it was told then. */
static void fence_itself(const struct mixed_random *r, struct mixed_client *c)
{
    int64_t session_ms = c->classic ? CLASSIC_SESSION_MS : CONSUMER_SESSION_MS;
    if (!c->waiting && r->world.now_ms - c->heard_ms >= session_ms) {
        lose_id(c);
    }
}

static void act_classic(struct mixed_random *r, struct mixed_client *c)
{
    fence_itself(r, c);
    if (c->epoch == 0 || c->rejoin) {
        classic_join(r, c);
    } else if (c->joined) {
        classic_sync(r, c);
    } else {
        classic_beat(r, c);
    }
}

void mixed_random_act(struct mixed_random *r, int client)
{
    struct mixed_client *c = &r->client[client];
    if (c->away || c->dead) {
        begin(r, c, c->classic);
    }
    if (c->waiting) {
        return;
    }
    if (c->classic) {
        act_classic(r, c);
    } else {
        consumer_beat(r, c, c->epoch);
    }
}

static void leave(struct mixed_random *r, struct mixed_client *c)
{
    if (c->member_id[0] == '\0' || c->waiting) {
        return;
    }
    if (c->classic) {
        classic_leave(r, c);
    } else {
        consumer_beat(r, c, is_static(r, c) && below(r, 2) == 0 ? -2 : -1);
    }
    lose_id(c);
    c->lives++;
    c->away = true;
    c->waiting = false;
}

/* Its next process speaks the other protocol; a dynamic member sometimes keeps its id. */
static void turn(struct mixed_random *r, struct mixed_client *c)
{
    char id[sizeof c->member_id];
    memcpy(id, c->member_id, sizeof id);
    begin(r, c, !c->classic);
    if (!is_static(r, c) && below(r, 3) == 0) {
        memcpy(c->member_id, id, sizeof id);
    }
}

/* With a tide only those turn that it has not reached. */
static void turn_one(struct mixed_random *r)
{
    uint64_t first = below(r, MIXED_CLIENTS);
    for (uint64_t i = 0; i < MIXED_CLIENTS; i++) {
        struct mixed_client *c = &r->client[(first + i) % MIXED_CLIENTS];
        if (r->tide == TIDE_NONE || c->classic != (r->tide == TIDE_CLASSIC)) {
            turn(r, c);
            return;
        }
    }
}

static void change_topic(struct mixed_random *r)
{
    int32_t count = partition_count(r);
    if (count < MIXED_PARTITIONS) {
        world_topic_set(&r->world, "in", count + 1);
    }
    struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = STR(group_name)};
    world_run(&r->world, &op);
}

void mixed_random_step(struct mixed_random *r)
{
    int client = (int)below(r, MIXED_CLIENTS);
    struct mixed_client *c = &r->client[client];
    uint64_t what = below(r, 1000);
    if (what < 680) {
        mixed_random_act(r, client);
    } else if (what < 880) {
        world_tick(&r->world, (int64_t)below(r, 900));
    } else if (what < 910) {
        leave(r, c);
    } else if (what < 925) {
        c->dead = true;
    } else if (what < 970) {
        turn_one(r);
    } else if (what < 975) {
        change_topic(r);
    } else if (what < 988) {
        world_failover(&r->world);
    } else if (what < 993) {
        r->tide = (enum mixed_tide)below(r, 3);
    } else {
        world_tick(&r->world, (int64_t)below(r, 9000));
    }
}

/* ---- what must hold ------------------------------------------------------------------------------------------------------------------------------- */

static const struct group *group_of(const struct mixed_random *r)
{
    return group_find(r->world.set, STR(group_name));
}

static bool is_member(const struct group *g, const struct mixed_client *c)
{
    struct str id = str_of(c->member_id);
    return g != NULL && (group_type(g) == GROUP_CONSUMER ? modern_find(g->consumer, id) != NULL : classic_member_find(g, id) != NULL);
}

/* Nothing is worked on by two that are members still, as far as each of them knows. */
static void check_work(const struct mixed_random *r, const struct group *g)
{
    uint32_t all = 0;
    for (int i = 0; i < MIXED_CLIENTS; i++) {
        const struct mixed_client *c = &r->client[i];
        if (c->epoch > 0 && !c->dead && is_member(g, c)) {
            assert_int_equal(all & c->working, 0);
            all |= c->working;
        }
    }
}

static void check_slots(const struct modern *s)
{
    uint32_t all = 0;
    int32_t classic = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_slot *slot = &s->slots[i];
        struct member_position p = modern_position(slot);
        uint32_t mine = bits_of_units(p.assigned.kind[UNITS_ACTIVE]) | bits_of_units(p.revoking.kind[UNITS_ACTIVE]);
        assert_non_null(slot->member);
        assert_non_null(slot->current);
        assert_true(p.epoch <= assignment_epoch(s) && (p.epoch >= 0 || p.epoch == -2));
        assert_true(p.state == MEMBER_UNREVOKED || holding_count(&p.revoking) == 0);
        assert_int_equal(all & mine, 0);
        all |= mine;
        classic += slot->member->is_classic ? 1 : 0;
    }
    assert_int_equal(classic, s->classic_count);
}

static void check_consumer(struct mixed_random *r, const struct modern *s)
{
    struct group_set_counts counts;
    group_set_counts(r->world.set, &counts);
    assert_int_equal(counts.members, s->member_count);
    assert_int_equal(s->slot_count, s->member_count);
    assert_true(assignment_epoch(s) <= s->epoch);
    assert_true((s->empty_since_ms < 0) == (s->member_count > 0));
    check_slots(s);
}

void mixed_random_check(struct mixed_random *r)
{
    const struct group *g = group_of(r);
    bool is_consumer = g != NULL && group_type(g) == GROUP_CONSUMER;
    int32_t epoch = g == NULL ? 0 : is_consumer ? g->consumer->epoch : g->classic.generation;
    bool empty = g == NULL || (is_consumer ? g->consumer->member_count == 0 : g->classic.member_count == 0);
    r->ups += is_consumer && !r->was_consumer ? 1 : 0;
    r->downs += !is_consumer && r->was_consumer && !empty ? 1 : 0;
    r->was_consumer = is_consumer;
    if (is_consumer) {
        check_consumer(r, g->consumer);
    }
    assert_true(empty || epoch >= r->epoch);
    r->epoch = empty ? 0 : epoch;
    check_work(r, g);
}

static bool settled_as_consumer(const struct mixed_random *r, const struct modern *s, uint32_t *all)
{
    bool settled = s->epoch == assignment_epoch(s) && modern_all_settled(s);
    for (int i = 0; settled && i < MIXED_CLIENTS; i++) {
        const struct modern_slot *slot = modern_find(s, str_of(r->client[i].member_id));
        settled = slot != NULL && r->client[i].working == bits_of_units(modern_position(slot).assigned.kind[UNITS_ACTIVE]);
        *all |= r->client[i].working;
    }
    return settled && s->member_count == MIXED_CLIENTS;
}

static bool settled_as_classic(const struct mixed_random *r, const struct group *g, uint32_t *all)
{
    bool settled = g->classic.state == CLASSIC_STABLE && g->classic.member_count == MIXED_CLIENTS;
    for (int i = 0; settled && i < MIXED_CLIENTS; i++) {
        const struct mixed_client *c = &r->client[i];
        settled = is_member(g, c) && c->epoch == g->classic.generation && !c->rejoin && !c->joined;
        *all |= c->working;
    }
    return settled;
}

bool mixed_random_settled(const struct mixed_random *r)
{
    const struct group *g = group_of(r);
    uint32_t all = 0;
    bool settled =
        g != NULL && (group_type(g) == GROUP_CONSUMER ? settled_as_consumer(r, g->consumer, &all) : settled_as_classic(r, g, &all));
    return settled && all == (1u << partition_count(r)) - 1;
}
