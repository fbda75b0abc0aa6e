/* AlterGroupOffsets, and groups that are protected. */
#include "fixture.h"
#include "tests.h"

#include <stdio.h>

void test_alter(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=5/3/x, ta:1=7, tb:0=1"});
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=9/4/y, ta:1=-1, ta:2=0, tb:1=-1"}),
                        "ta[0:0 5>9 1:0 7>-1 2:0 -1>0] tb[1:0 -1>-1]");
    assert_string_equal(f->rule, "alter offsets: done");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=9/4/y 2=0/-1/] tb[0=1/-1/]");
    int64_t before = f->records;
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1, tb:0=-1", .validate = true}),
                        "ta[0:0 9>1] tb[0:0 1>-1]");
    assert_string_equal(f->rule, "alter offsets: asked what would be");
    assert_int_equal(f->records, before);
    alter(f, (struct alter){.group = "", .partitions = "ta:0=1", .create = 1});
    assert_int_equal(f->error, 24);
}

/* Of a topic that is gone an offset can be deleted, and not set; nothing else happens where one partition is refused. */
void test_alter_all_or_nothing(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=5, tb:0=6"});
    world_topic_set(&f->world, "tb", 0);
    int64_t before = f->records;
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1, ta:3=1, tb:0=7"}),
                        "ta[0:0 5>1 3:3 -1>-1] tb[0:3 6>-1]");
    assert_int_equal(f->error, 3);
    assert_string_equal(f->rule, "alter offsets: a partition refused");
    alter(f, (struct alter){.group = "g", .partitions = "ta:0=-2"});
    assert_int_equal(f->error, 42);
    alter(f, (struct alter){.group = "g", .partitions = "ta:0=1/1/*4097"});
    assert_int_equal(f->error, 12);
    assert_int_equal(f->records, before);
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "tb:0=-1"}), "tb[0:0 6>-1]");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=5/-1/]");
}

void test_alter_moves(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=5, ta:1=9223372036854775800, ta:2=3"});
    assert_string_equal(alter(f, (struct alter){.group = "g", .moves = true, .partitions = "ta:0=-3, ta:1=100, ta:2=-4"}),
                        "ta[0:0 5>2 1:0 9223372036854775800>9223372036854775807 2:0 3>0]");
    alter(f, (struct alter){.group = "g", .moves = true, .partitions = "tb:0=1"});
    assert_int_equal(f->error, 42);
}

void test_alter_creates(void **state)
{
    struct fixture *f = *state;
    alter(f, (struct alter){.group = "g", .partitions = "ta:0=1"});
    assert_int_equal(f->error, 69);
    assert_string_equal(f->rule, "alter offsets: unknown group");
    assert_string_equal(alter(f, (struct alter){.group = "g", .create = 2, .partitions = "ta:0=1"}), "ta[0:0 -1>1]");
    assert_string_equal(f->rule, "alter offsets: makes a simple group");
    alter(f, (struct alter){.group = "g", .create = 2, .partitions = "ta:0=2"});
    assert_int_equal(f->error, 42);
    assert_string_equal(f->rule, "alter offsets: the group exists");
    assert_string_equal(alter(f, (struct alter){.group = "g", .create = 1, .partitions = "ta:0=2"}), "ta[0:0 1>2]");
    /* It is a group like one that commits made: when its last offset goes it stays until the sweep. */
    alter(f, (struct alter){.group = "g", .partitions = "ta:0=-1"});
    assert_true(group_exists(f, "g"));
    run(f, GROUP_RETENTION, "g");
    assert_false(group_exists(f, "g"));
}

void test_alter_fences(void **state)
{
    struct fixture *f = *state;
    char member[256];
    stable(f, "g", "ta", "ta:0");
    snprintf(member, sizeof member, "%s", f->member_id);
    int32_t generation = f->generation;
    struct commit own = {.group = "g", .member = member, .generation = generation, .partitions = "ta:0=5"};
    assert_string_equal(commit(f, own), "ta[0:0]");
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1"}), "");
    assert_int_equal(f->error, 68);
    assert_string_equal(f->rule, "alter offsets: has members");
    int64_t before = f->records;
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1", .fence = true, .validate = true}),
                        "fenced 1 ta[0:0 5>1]");
    assert_int_equal(f->records, before);
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1", .fence = true}), "fenced 1 ta[0:0 5>1]");
    assert_string_equal(f->rule, "alter offsets: members removed first");
    own.partitions = "ta:0=6";
    assert_string_equal(commit(f, own), "ta[0:25]");
    assert_int_equal(heartbeat(f, "g", generation, member), 25);
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
    /* Members that wait for others to join, too. */
    stable(f, "g", "ta", "ta:0");
    join(f, "g", "consumer", "ta", "", 200000);
    alter(f, (struct alter){.group = "g", .partitions = "ta:0=2", .fence = true});
    assert_string_equal(f->rule, "join: removed while it waited");
    assert_int_equal(f->error, 25);
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=3"}), "ta[0:0 2>3]");
}

void test_alter_budget(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=5"});
    f->world.settings.max_state_bytes = 1;
    alter(f, (struct alter){.group = "g", .partitions = "ta:1=1"});
    assert_int_equal(f->error, 15);
    assert_string_equal(f->rule, "alter offsets: over the shard's budget");
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1"}), "ta[0:0 5>1]");
    f->world.settings.max_state_bytes = 0;
    f->world.settings.max_groups = 1;
    alter(f, (struct alter){.group = "h", .create = 1, .partitions = "ta:1=1"});
    assert_int_equal(f->error, 15);
}

/* Whoever lives by commits goes on; what administrators do is refused, but with force. */
void test_protected(void **state)
{
    struct fixture *f = *state;
    char member[256];
    commit(f, (struct commit){.group = "simple", .partitions = "ta:0=5"});
    stable(f, "g", "ta", "ta:0");
    snprintf(member, sizeof member, "%s", f->member_id);
    commit(f, (struct commit){.group = "g", .member = member, .generation = f->generation, .partitions = "ta:0=5"});
    assert_int_equal(leave(f, "g", member), 0);
    world_group_config(&f->world, STR("g"), STR("muster.protected"), STR("true"));
    world_group_config(&f->world, STR("simple"), STR("muster.protected"), STR("true"));
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"}), "ta[0:44]");
    assert_string_equal(commit(f, (struct commit){.group = "simple", .partitions = "ta:0=1"}), "ta[0:0]");
    offset_delete(f, "g", "ta:0");
    assert_int_equal(f->error, 44);
    assert_int_equal(group_delete(f, "g", NULL), 44);
    alter(f, (struct alter){.group = "g", .partitions = "ta:0=1"});
    assert_int_equal(f->error, 44);
    assert_string_equal(f->rule, "alter offsets: the group is protected");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=5/-1/]");
    assert_string_equal(alter(f, (struct alter){.group = "g", .partitions = "ta:0=1", .force = true}), "ta[0:0 5>1]");
    /* Members are no administrators. */
    stable(f, "g", "ta", "ta:0");
    assert_string_equal(commit(f,
                               (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=6"}),
                        "ta[0:0]");
    assert_int_equal(leave(f, "g", f->member_id), 0);
    world_group_config(&f->world, STR("g"), STR("muster.protected"), STR_NULL);
    assert_int_equal(group_delete(f, "g", NULL), 0);
}
