/* What one request may cost a coordinator: memory that grows with the group's state, not with the product of what is in it, nor with what the request says. */
#include "tests.h"

#include <string.h>
#include <time.h>

#include <muster/group.h>

#include "../../lib/group_world.h"
#include "embedded.h"
#include "modern/modern.h"

enum { MEMBERS = 1000, EACH = 10 };

static void init(struct world *w, int32_t partitions)
{
    struct world_events none = {0};
    world_init(w, &none);
    w->check = false;
    world_topic_set(w, "in", partitions);
}

/* What is decided, without a commit: the bytes that it took. */
static size_t cost(struct world *w, const struct consumer_group_heartbeat_request *r, int16_t *ret_error)
{
    struct arena arena;
    struct group_out out;
    arena_init(&arena, 0);
    struct group_op op = {.kind = GROUP_CONSUMER_HEARTBEAT, .api_version = 1, .group_id = r->group_id, .request = r};
    op.clock_ms = w->now_ms;
    op.wall_ms = 1700000000000 + w->now_ms;
    op.next_index = w->index + 1;
    op.topics = &w->topics;
    op.settings = &w->settings;
    op.catalog = w->shard0;
    group_decide(w->set, &op, &arena, &out);
    *ret_error = out.error;
    if (out.records.len > 0) {
        world_apply(w, out.records.v, out.records.len);
    }
    size_t bytes = arena.used_bytes;
    arena_fini(&arena);
    return bytes;
}

static struct consumer_group_heartbeat_request request(const char *member, int32_t epoch)
{
    struct consumer_group_heartbeat_request r;
    wire_init(&wire_consumer_group_heartbeat_request, &r);
    r.group_id = STR("g");
    r.member_id = str_of(member);
    r.member_epoch = epoch;
    return r;
}

static struct consumer_group_heartbeat_request joining(const char *member)
{
    static struct str topics[] = {{"in", 2}};
    struct consumer_group_heartbeat_request r = request(member, 0);
    r.rebalance_timeout_ms = 60000;
    r.subscribed_topic_names.v = topics;
    r.subscribed_topic_names.len = 1;
    r.topic_partitions.len = 0;
    return r;
}

static void a_report_of_a_million_partitions(void **state)
{
    (void)state;
    enum { SAID = 1000000 };
    static int32_t said[SAID];
    struct world w;
    int16_t error;
    init(&w, 8);
    for (int32_t i = 0; i < SAID; i++) {
        said[i] = (int32_t)((int64_t)i * 7919 % SAID); /* no order */
    }
    struct consumer_group_heartbeat_request r = joining("m");
    cost(&w, &r, &error);
    assert_int_equal(error, 0);
    struct consumer_group_heartbeat_request_topic_partitions owned[] = {{.topic_id = w.topic[0].id, .partitions = {said, SAID}},
                                                                        {.topic_id = {{9}}, .partitions = {said, SAID}}};
    r = request("m", modern_position(modern_find(group_modern(group_find(w.set, STR("g"))), STR("m"))).epoch);
    r.topic_partitions.v = owned;
    r.topic_partitions.len = 2;
    size_t bytes = cost(&w, &r, &error);
    assert_in_range(bytes, 1, 64 * 1024);
    assert_int_equal(error, 0);
    world_fini(&w);
}

/* ---- a classic group becomes a consumer group ------------------------------------------------------------------------------------------- */

/* As clients embed it: its version before it. */
static struct bytes embedded(int16_t version, struct bytes body, struct arena *arena)
{
    uint8_t *all = ARENA_NEW(arena, uint8_t, 2 + body.len);
    all[1] = (uint8_t)version;
    memcpy(all + 2, body.ptr, (size_t)body.len);
    return (struct bytes){all, 2 + body.len};
}

/* The first owns what is nobody's, too, which it has to give up first. */
static void add_classic_member(struct world *w, int32_t number, struct arena *arena)
{
    int32_t partitions[EACH + 1];
    struct str topic = STR("in");
    for (int32_t i = 0; i <= EACH; i++) {
        partitions[i] = i < EACH ? number * EACH + i : MEMBERS * EACH;
    }
    struct consumer_protocol_subscription_topic_partition owns = {.topic = topic, .partitions = {partitions, EACH + 1}};
    struct consumer_protocol_subscription s;
    wire_init(&wire_consumer_protocol_subscription, &s);
    s.topics.v = &topic;
    s.topics.len = 1;
    s.owned_partitions.v = &owns;
    s.owned_partitions.len = 1;
    struct consumer_protocol_assignment_topic_partition has = {.topic = topic, .partitions = {partitions, EACH}};
    struct consumer_protocol_assignment a;
    wire_init(&wire_consumer_protocol_assignment, &a);
    a.assigned_partitions.v = &has;
    a.assigned_partitions.len = 1;
    struct bytes metadata = embedded(1, wire_encode(&wire_consumer_protocol_subscription, 1, &s, arena), arena);
    struct classic_member_value_classic_protocol protocol = {STR("range"), metadata};
    struct classic_member_key key = {.group_id = STR("g"), .member_id = arena_printf(arena, "c%05d", (int)number)};
    struct classic_member_value member;
    wire_init(&wire_classic_member_value, &member);
    member.session_timeout_ms = member.rebalance_timeout_ms = 60000;
    member.join_generation = 1;
    member.id_delivered = true;
    member.protocols.v = &protocol;
    member.protocols.len = 1;
    struct classic_assignment_key assigned_key = {.group_id = key.group_id, .member_id = key.member_id};
    struct classic_assignment_value assigned = {.generation = 1, .assignment = embedded_assignment_write(&a, 1, arena)};
    struct record records[] = {wire_record_encode(RECORD_CLASSIC_MEMBER, &key, 0, &member, arena),
                               wire_record_encode(RECORD_CLASSIC_ASSIGNMENT, &assigned_key, 0, &assigned, arena)};
    world_apply(w, records, 2);
}

static void add_classic_group(struct world *w, struct arena *arena)
{
    struct classic_group_key key = {.group_id = STR("g")};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = STR("consumer");
    value.protocol_name = STR("range");
    value.leader = STR("c00000");
    value.generation = 1;
    value.assignments_since = 1;
    value.state = 3;
    struct record record = wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, &value, arena);
    world_apply(w, &record, 1);
    for (int32_t i = 0; i < MEMBERS; i++) {
        add_classic_member(w, i, arena);
    }
}

static void a_large_classic_group_is_converted(void **state)
{
    (void)state;
    enum { A_MEMBER = 16 * 1024 };
    struct world w;
    struct arena arena;
    int16_t error;
    init(&w, MEMBERS * EACH + 1);
    arena_init(&arena, 0);
    add_classic_group(&w, &arena);
    struct consumer_group_heartbeat_request r = joining("new");
    size_t bytes = cost(&w, &r, &error);
    assert_int_equal(error, 0);
    assert_in_range(bytes, MEMBERS * EACH, MEMBERS * A_MEMBER);
    const struct modern *s = group_modern(group_find(w.set, STR("g")));
    assert_int_equal(s->member_count, MEMBERS + 1);
    for (int32_t i = 0; i < MEMBERS; i++) {
        struct member_position p = modern_position(&s->slots[i]);
        assert_int_equal(p.assigned.kind[UNITS_ACTIVE].len, EACH);
        assert_int_equal(p.revoking.kind[UNITS_ACTIVE].len, i == 0 ? 1 : 0); /* what all of them said is the first one's */
        assert_int_equal(p.state, i == 0 ? MEMBER_UNREVOKED : MEMBER_STABLE);
    }
    arena_fini(&arena);
    world_fini(&w);
}

/* ---- a classic member of a consumer group has thousands of protocols ------------------------------------------------------------------------ */

enum { PROTOCOLS = 20000, CLASSIC_MEMBERS = 4 };

static struct str protocol_name(char letter, int32_t number, struct arena *arena)
{
    return arena_printf(arena, "%c%05d", letter, (int)number);
}

static void add_classic_members(struct world *w, struct arena *arena)
{
    struct consumer_group_member_metadata_value_classic_protocol *protocols =
        ARENA_NEW(arena, struct consumer_group_member_metadata_value_classic_protocol, PROTOCOLS);
    for (int32_t i = 0; i < PROTOCOLS; i++) {
        protocols[i].name = protocol_name('p', i, arena);
        protocols[i].metadata = (struct bytes){(const uint8_t *)"", 0};
    }
    struct consumer_group_member_metadata_value_classic_member_metadata classic = {.session_timeout_ms = 60000,
                                                                                   .supported_protocols = {protocols, PROTOCOLS}};
    for (int32_t i = 0; i < CLASSIC_MEMBERS; i++) {
        struct consumer_group_member_metadata_key key = {.group_id = STR("g"), .member_id = protocol_name('c', i, arena)};
        struct consumer_group_member_metadata_value value;
        wire_init(&wire_consumer_group_member_metadata_value, &value);
        value.classic_member_metadata = &classic;
        struct record record = wire_record_encode(RECORD_CONSUMER_GROUP_MEMBER_METADATA, &key, 0, &value, arena);
        world_apply(w, &record, 1);
    }
}

/* The error of a join with protocols of those names. */
static int16_t join_with(struct world *w, char letter, struct arena *arena)
{
    struct join_group_request r;
    struct group_out out;
    wire_init(&wire_join_group_request, &r);
    r.group_id = STR("g");
    r.member_id = STR("stranger");
    r.group_instance_id = STR_NULL;
    r.protocol_type = STR("consumer");
    r.session_timeout_ms = r.rebalance_timeout_ms = 60000;
    r.protocols.v = ARENA_NEW(arena, struct join_group_request_protocol, PROTOCOLS);
    r.protocols.len = PROTOCOLS;
    for (int32_t i = 0; i < PROTOCOLS; i++) { /* what all have comes last */
        r.protocols.v[i].name = protocol_name(i == PROTOCOLS - 1 ? letter : 'q', i, arena);
        r.protocols.v[i].metadata = (struct bytes){(const uint8_t *)"\0\0\0\0\0\0\377\377\377\377", 10};
    }
    struct group_op op = {.kind = GROUP_JOIN, .api_version = 9, .group_id = r.group_id, .request = &r};
    op.clock_ms = w->now_ms;
    op.next_index = w->index + 1;
    op.topics = &w->topics;
    op.settings = &w->settings;
    op.catalog = w->shard0;
    group_decide(w->set, &op, arena, &out);
    return out.error;
}

static void joins_with_thousands_of_protocols(void **state)
{
    (void)state;
    struct world w;
    struct arena arena;
    int16_t error;
    init(&w, 8);
    w.settings.max_protocols = 0; /* as many as they like */
    arena_init(&arena, 0);
    struct consumer_group_heartbeat_request r = joining("new");
    cost(&w, &r, &error);
    add_classic_members(&w, &arena);
    clock_t begun = clock();
    assert_int_equal(join_with(&w, 'q', &arena), 23);
    assert_int_equal(join_with(&w, 'p', &arena), 0);
    assert_in_range((clock() - begun) * 1000 / CLOCKS_PER_SEC, 0, 1000); /* each with each took ten times that, and more */
    arena_fini(&arena);
    world_fini(&w);
}

int run_hostile_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_of_a_million_partitions),
        cmocka_unit_test(a_large_classic_group_is_converted),
        cmocka_unit_test(joins_with_thousands_of_protocols),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
