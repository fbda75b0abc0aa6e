#include "fixture.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

/* ---- fetch --------------------------------------------------------------------------------------------------------------------- */

void test_fetch_forms(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "tb:2=1, ta:1=2, ta:0=3"});
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=3/-1/ 1=2/-1/] tb[2=1/-1/]");
    assert_string_equal(fetch(f, 2, "g", NULL), "ta[0=3/-1/ 1=2/-1/] tb[2=1/-1/]");
    assert_string_equal(fetch(f, 10, "g", NULL), "#01[0=3/-1/ 1=2/-1/] #02[2=1/-1/]");
    assert_string_equal(fetch(f, 9, "g", ""), "");
    assert_string_equal(fetch(f, 9, "g", "ta:"), "ta[]");
    assert_string_equal(fetch(f, 9, "g", "ta:0, ta:0, none:0, ta:0, ta:-1"), "ta[0=3/-1/ 0=3/-1/] none[0=-1/-1/] ta[0=3/-1/ -1=-1/-1/]");
}

void test_fetch_unknown_group(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(fetch(f, 9, "g", "ta:0, ta:1"), "ta[0=-1/-1/ 1=-1/-1/]");
    assert_string_equal(fetch(f, 9, "g", NULL), "");
    assert_string_equal(fetch(f, 10, "g", "ta:0, other:0"), "#01[0=-1/-1/] #ff[0=-1/-1/!100]");
    assert_false(group_exists(f, "g"));
}

/* A topic made anew under the old name has no offsets, also before the old ones have been cleaned up. */
void test_fetch_recreated(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=5, tb:0=6"});
    world_topic_set(&f->world, "ta", 0);
    assert_string_equal(fetch(f, 9, "g", NULL), "tb[0=6/-1/]");
    assert_string_equal(fetch(f, 10, "g", NULL), "#02[0=6/-1/]");
    world_topic_set(&f->world, "ta", 3);
    assert_string_equal(fetch(f, 9, "g", "ta:0, tb:0"), "ta[0=-1/-1/] tb[0=6/-1/]");
    assert_string_equal(fetch(f, 10, "g", "ta:0"), "#03[0=-1/-1/]");
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"});
    assert_string_equal(fetch(f, 10, "g", NULL), "#03[0=1/-1/] #02[0=6/-1/]");
    /* One that was taken over for a topic nobody here knows can be fetched by name alone. */
    import_offset(f, "g", "elsewhere", 0, 8, (struct uuid){{0}});
    assert_string_equal(fetch(f, 9, "g", "elsewhere:0"), "elsewhere[0=8/-1/]");
    assert_string_equal(fetch(f, 10, "g", NULL), "#03[0=1/-1/] #02[0=6/-1/]");
}

/* An offset with the id of a topic that this node has not heard of yet is not one of the topic that has the name here. */
void test_fetch_of_another_topic(void **state)
{
    struct fixture *f = *state;
    import_offset(f, "g", "ta", 0, 8, (struct uuid){{9}});
    import_offset(f, "g", "ta", 1, 9, (struct uuid){{0}});
    assert_string_equal(fetch(f, 10, "g", "ta:0, ta:1"), "#01[0=-1/-1/ 1=9/-1/]");
    assert_string_equal(fetch(f, 10, "g", NULL), "#01[1=9/-1/]");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=8/-1/ 1=9/-1/]");
}

/* ---- OffsetDelete --------------------------------------------------------------------------------------------------------------- */

void test_offset_delete(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(offset_delete(f, "g", "ta:0"), "");
    assert_int_equal(f->error, 69);
    assert_string_equal(offset_delete(f, "g", ""), "");
    assert_int_equal(f->error, 69);
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1, ta:1=1, tb:2=1"});
    assert_string_equal(offset_delete(f, "g", "ta:0, ta:50, ta:2, none:0, tb:0"), "ta[50:3 0:0 2:0] none[0:3] tb[0:0]");
    assert_int_equal(f->error, 0);
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[1=1/-1/] tb[2=1/-1/]");
    assert_string_equal(offset_delete(f, "g", "ta:1, ta:1, tb:2, ta:1"), "ta[1:0 1:0] tb[2:0] ta[1:0]");
    assert_string_equal(fetch(f, 9, "g", NULL), "");
    assert_true(group_exists(f, "g")); /* until the sweep */
    assert_string_equal(offset_delete(f, "g", "ta:1"), "ta[1:0]");
    run(f, GROUP_RETENTION, "g");
    assert_false(group_exists(f, "g"));
}

void test_offset_delete_active(void **state)
{
    struct fixture *f = *state;
    join(f, "g", "consumer", "ta", "", 10000);
    assert_string_equal(offset_delete(f, "g", "ta:0, tb:0, none:0"), "none[0:3] ta[0:86] tb[0:0]");
    assert_int_equal(sync(f, "g", "ta:0"), 0);
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1, tb:1=1"});
    assert_string_equal(offset_delete(f, "g", "ta:0, tb:1"), "ta[0:86] tb[1:0]");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
    assert_int_equal(leave(f, "g", f->member_id), 0);
    assert_string_equal(offset_delete(f, "g", "ta:0"), "ta[0:0]");
    /* A subscription nobody can read may be to anything. */
    join(f, "opaque", "consumer", NULL, "", 10000);
    assert_int_equal(sync(f, "opaque", ""), 0);
    assert_string_equal(offset_delete(f, "opaque", "ta:0, tb:0"), "ta[0:86] tb[0:86]");
    join(f, "connect", "connect", "ta", "", 10000);
    assert_string_equal(offset_delete(f, "connect", "ta:0"), "");
    assert_int_equal(f->error, 68);
}

/* ---- DeleteGroups ------------------------------------------------------------------------------------------------------------------ */

void test_group_delete(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(group_delete(f, "g", NULL), 69);
    stable(f, "g", "ta", "ta:0");
    commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1, ta:1=1"});
    assert_int_equal(group_delete(f, "g", NULL), 68);
    assert_int_equal(leave(f, "g", f->member_id), 0);
    assert_int_equal(group_delete(f, "g", NULL), 0);
    assert_false(group_exists(f, "g"));
    assert_string_equal(fetch(f, 9, "g", "ta:0"), "ta[0=-1/-1/]");
    assert_int_equal(group_delete(f, "g", NULL), 69);
}

/* KAFKA-17306: made and deleted over and over, the state is as if it had never been. */
void test_made_and_deleted_again(void **state)
{
    struct fixture *f = *state;
    commit(f, (struct commit){.group = "other", .partitions = "tb:0=1"});
    size_t bytes = f->world.pool.bytes;
    uint64_t hash = group_set_hash(f->world.set);
    for (int i = 0; i < 100; i++) {
        if (i % 3 == 0) {
            commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"});
        } else {
            stable(f, "g", "ta", "ta:0");
            commit(f, (struct commit){.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1"});
            assert_int_equal(leave(f, "g", f->member_id), 0);
        }
        assert_int_equal(group_delete(f, "g", NULL), 0);
    }
    assert_int_equal(f->world.pool.bytes, bytes);
    assert_int_equal(group_set_hash(f->world.set), hash);
    assert_string_equal(fetch(f, 9, "g", "ta:0"), "ta[0=-1/-1/]");
}

static void many_offsets(struct fixture *f, const char *group, int count)
{
    char text[64];
    f->world.check = false;
    world_topic_set(&f->world, "a-topic-with-quite-a-long-name", count);
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "a-topic-with-quite-a-long-name:%d=%d", i, i);
        assert_string_not_equal(commit(f, (struct commit){.group = group, .partitions = text}), "");
    }
}

void test_group_delete_in_slices(void **state)
{
    struct fixture *f = *state;
    int slices;
    many_offsets(f, "g", 5000);
    assert_int_equal(group_delete(f, "g", &slices), 0);
    assert_in_range(slices, 8, 16);
    assert_false(group_exists(f, "g"));
}

/* A member that joins between two slices ends the deletion: what is gone is gone, the group stays. */
void test_group_delete_overtaken(void **state)
{
    struct fixture *f = *state;
    many_offsets(f, "g", 5000);
    struct world_request *r = world_request_new("group delete");
    r->op = (struct group_op){.kind = GROUP_DELETE, .api_key = 42, .api_version = 2, .group_id = STR("g")};
    world_submit(&f->world, r);
    assert_true(f->more);
    assert_true(group_exists(f, "g"));
    stable(f, "g", "ta", "ta:0");
    assert_int_equal(group_delete(f, "g", NULL), 68);
    assert_true(group_exists(f, "g"));
}

void test_retention_in_slices(void **state)
{
    struct fixture *f = *state;
    many_offsets(f, "g", 5000);
    world_tick(&f->world, 604800000);
    int64_t before = f->world.entries;
    run(f, GROUP_RETENTION, "g");
    assert_in_range(f->world.entries - before, 8, 16);
    assert_false(group_exists(f, "g"));
}

void test_topics_changed_in_slices(void **state)
{
    struct fixture *f = *state;
    many_offsets(f, "g", 5000);
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"});
    world_topic_set(&f->world, "a-topic-with-quite-a-long-name", 0);
    int64_t before = f->world.entries;
    run(f, GROUP_TOPICS_CHANGED, "g");
    assert_in_range(f->world.entries - before, 8, 16);
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/]");
}
