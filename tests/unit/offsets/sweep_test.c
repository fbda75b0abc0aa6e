#include "fixture.h"
#include "tests.h"

#include "offsets/rules.h"

#include <string.h>

enum { MINUTE = 60000 };

static void age(struct fixture *f, int64_t ms)
{
    f->world.settings.offsets_retention_ms = MINUTE;
    world_tick(&f->world, ms);
}

/* KAFKA-13636 (a): members keep the topics they subscribe to, and nothing else. */
void test_retention_stable(void **state)
{
    struct fixture *f = *state;
    stable(f, "g", "ta", "ta:0, ta:1, ta:2");
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1, tb:0=1"});
    age(f, 59999);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/] tb[0=1/-1/]");
    age(f, 1);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
    assert_string_equal(f->rule, "fetch: all of the group");
    age(f, 100 * MINUTE / 60);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
}

/* (b): a simple group goes by its commits, and with the last of them. */
void test_retention_simple(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"});
    age(f, 30000);
    commit(f, (struct commit){.group = "g", .partitions = "ta:1=1"});
    age(f, 30000);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[1=1/-1/]");
    assert_true(group_exists(f, "g"));
    age(f, 30000);
    run(f, GROUP_RETENTION, "g");
    assert_false(group_exists(f, "g"));
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(f->rule, "retention: unknown group");
}

/* (c): while a rebalance is going on the subscription is not settled, and nothing goes. */
void test_retention_rebalancing(void **state)
{
    struct fixture *f = *state;
    stable(f, "g", "ta", "ta:0, ta:1, ta:2");
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1, tb:0=1"});
    join(f, "g", "consumer", "ta", "", 200000); /* the first member never rejoins */
    age(f, 75000);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(f->rule, "retention: subscription not settled");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/] tb[0=1/-1/]");
}

/* An empty group goes by the moment it became empty, whatever was committed since. */
void test_retention_empty(void **state)
{
    struct fixture *f = *state;
    stable(f, "g", "ta", "ta:0");
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1"});
    age(f, 50000);
    assert_int_equal(leave(f, "g", f->member_id), 0);
    age(f, 59000);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
    commit(f, (struct commit){.group = "g", .partitions = "ta:1=1"});
    age(f, 1000);
    run(f, GROUP_RETENTION, "g");
    assert_false(group_exists(f, "g"));
}

void test_retention_other_protocol(void **state)
{
    struct fixture *f = *state;
    join(f, "g", "connect", "ta", "", 10000);
    assert_int_equal(sync(f, "g", ""), 0);
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1"});
    age(f, 2 * MINUTE);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
    /* Members without any offsets keep their group. */
    assert_string_equal(offset_delete(f, "g", "ta:0"), "");
    join(f, "quiet", "connect", "ta", "", 10000);
    run(f, GROUP_RETENTION, "quiet");
    assert_true(group_exists(f, "quiet"));
}

/* An id that was handed out but not used does not hold a group, as in Kafka. */
void test_retention_pending_id(void **state)
{
    struct fixture *f = *state;
    struct world_request *r = world_request_new("join");
    struct join_group_request *q = ARENA_NEW(&r->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, q);
    q->group_id = STR("ids");
    q->session_timeout_ms = 10000;
    q->rebalance_timeout_ms = 10000;
    q->protocol_type = STR("consumer");
    q->protocols.v = ARENA_NEW(&r->arena, __typeof__(*q->protocols.v), 1);
    q->protocols.len = 1;
    q->protocols.v[0].name = STR("range");
    r->op = (struct group_op){.kind = GROUP_JOIN, .api_key = 11, .api_version = 9, .group_id = STR("ids"), .request = q};
    r->op.caller = (struct group_caller){STR("client"), STR("/127.0.0.1")};
    world_submit(&f->world, r);
    assert_int_equal(f->error, 79);
    assert_true(group_exists(f, "ids"));
    run(f, GROUP_RETENTION, "ids");
    assert_false(group_exists(f, "ids"));
}

void test_retention_unreadable(void **state)
{
    struct fixture *f = *state;
    join(f, "g", "consumer", NULL, "", 10000);
    assert_int_equal(sync(f, "g", ""), 0);
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1"});
    age(f, 2 * MINUTE);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
}

/* Versions 2 to 4 bring their own retention time. */
void test_retention_explicit(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(commit(f, (struct commit){.version = 2, .group = "g", .retention_ms = 10000, .partitions = "ta:0=1"}), "ta[0:0]");
    assert_string_equal(commit(f, (struct commit){.version = 4, .group = "g", .retention_ms = 5 * MINUTE, .partitions = "ta:1=1"}),
                        "ta[1:0]");
    assert_string_equal(commit(f, (struct commit){.version = 3, .group = "g", .retention_ms = INT64_MAX, .partitions = "ta:2=1"}),
                        "ta[2:0]");
    assert_string_equal(commit(f, (struct commit){.version = 3, .group = "g", .retention_ms = -2, .partitions = "tb:0=1"}), "tb[0:0]");
    age(f, 9999);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/ 1=1/-1/ 2=1/-1/]");
    age(f, 1);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[1=1/-1/ 2=1/-1/]");
    age(f, 2 * MINUTE);
    run(f, GROUP_RETENTION, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[1=1/-1/ 2=1/-1/]");
    /* A commit without one takes it back. */
    commit(f, (struct commit){.group = "g", .partitions = "ta:2=1"});
    age(f, 3 * MINUTE);
    run(f, GROUP_RETENTION, "g");
    assert_false(group_exists(f, "g"));
}

/* The wall clock may jump as it likes: the shard clock decides. */
void test_retention_shard_clock(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"});
    struct group_out out;
    struct arena arena;
    arena_init(&arena, 0);
    struct group_op op = {.kind = GROUP_RETENTION,
                          .group_id = STR("g"),
                          .topics = &f->world.topics,
                          .settings = &f->world.settings,
                          .clock_ms = f->world.now_ms + 1000,
                          .wall_ms = INT64_MAX / 2};
    group_decide(f->world.set, &op, &arena, &out);
    assert_int_equal(out.records.len, 0);
    op.clock_ms = f->world.now_ms + f->world.settings.offsets_retention_ms;
    op.wall_ms = 0;
    group_decide(f->world.set, &op, &arena, &out);
    assert_int_equal(out.records.len, 2);
    arena_fini(&arena);
}

/* ---- deleted topics ----------------------------------------------------------------------------------------------------------------- */

void test_topics_changed(void **state)
{
    struct fixture *f = *state;
    struct uuid unheard = {{9}};
    run(f, GROUP_TOPICS_CHANGED, "g");
    assert_int_equal(f->records, 0);
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1, tb:0=2"});
    import_offset(f, "g", "early", 0, 3, unheard); /* made on a node whose catalogue is ahead of ours */
    import_offset(f, "g", "elsewhere", 0, 4, (struct uuid){{0}});
    run(f, GROUP_TOPICS_CHANGED, "g");
    assert_string_equal(fetch(f, 9, "g", NULL), "early[0=3/-1/] ta[0=1/-1/] tb[0=2/-1/]");
    run(f, GROUP_TOPICS_CHANGED, "g");
    world_topic_set(&f->world, "ta", 0);
    world_topic_set(&f->world, "ta", 3); /* another topic under the old name */
    commit(f, (struct commit){.group = "g", .partitions = "ta:1=9"});
    run(f, GROUP_TOPICS_CHANGED, "g");
    assert_string_equal(f->rule, "topics changed: offsets of deleted topics dropped");
    assert_string_equal(fetch(f, 9, "g", NULL), "early[0=3/-1/] ta[1=9/-1/] tb[0=2/-1/]");
    assert_true(group_exists(f, "g"));
}

/* ---- every rule ----------------------------------------------------------------------------------------------------------------------- */

void test_every_rule_was_hit(void **state)
{
    (void)state;
    for (int i = 0; i < OFFSETS_RULE_COUNT; i++) {
        if (!rule_was_hit(offsets_rules[i])) {
            fail_msg("no test hits the rule \"%s\"", offsets_rules[i]);
        }
    }
}
