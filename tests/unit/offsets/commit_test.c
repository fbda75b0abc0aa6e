#include "fixture.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

/* ---- what the catalogue refuses, and the order of answers --------------------------------------------------------------------- */

/* KAFKA-16371: one bad partition in a commit does not poison the others. */
void test_bad_partition_alone(void **state)
{
    struct fixture *f = *state;
    struct commit c = {.group = "g", .partitions = "ta:0=1/-1/*4097, ta:1=7/-1/~, tb:2=0/-1/*4096, none:0=1, tb:99=1"};
    assert_string_equal(commit(f, c), "none[0:3] tb[99:3 2:0] ta[0:12 1:0]");
    assert_string_equal(fetch(f, 9, "g", "ta:0, ta:1"), "ta[0=-1/-1/ 1=7/-1/]");
}

/* The limit counts units of UTF-16: two bytes of é are one, four of an emoji are two. */
void test_metadata_limit(void **state)
{
    struct fixture *f = *state;
    f->world.settings.offset_metadata_max_bytes = 4;
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1/-1/abcd, ta:1=1/-1/abcde"}), "ta[0:0 1:12]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1/-1/\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"}), "ta[0:0]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1/-1/\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9z"}), "ta[0:12]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1/-1/\xf0\x9f\x98\x80\xf0\x9f\x98\x80"}), "ta[0:0]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1/-1/\xf0\x9f\x98\x80\xf0\x9f\x98\x80z"}), "ta[0:12]");
    assert_string_equal(commit(f,
                               (struct commit){.group = "g", .partitions = "ta:0=1/-1/\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"}),
                        "ta[0:0]");
}

void test_order_of_answers(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(commit(f,
                               (struct commit){.group = "g", .partitions = "ta:0=5, ta:1=7, ta:99=1, ta:-1=1, none:0=1, none:1=1, tb:2=0"}),
                        "ta[99:3 -1:3 0:0 1:0] none[0:3 1:3] tb[2:0]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1, ta:0=2, tb:0=1, ta:0=3"}),
                        "ta[0:0 0:0] tb[0:0] ta[0:0]");
    assert_string_equal(fetch(f, 9, "g", "ta:0"), "ta[0=3/-1/]");
    /* With something refused, a topic that was named twice is answered in one place. */
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1, tb:9=2, ta:0=3"}), "tb[9:3] ta[0:0 0:0]");
}

void test_by_id(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(
        commit(f, (struct commit){.version = 10, .group = "g", .partitions = "ta:0=9/4/m, ta:50=1, other:0=1, zero:0=1, ta:1=2"}),
        "#01[50:3 0:0 1:0] #ff[0:100] #00[0:100]");
    assert_string_equal(fetch(f, 10, "g", "ta:0, other:0, ta:5, zero:0"), "#01[0=9/4/m] #01[5=-1/-1/] #ff[0=-1/-1/!100] #00[0=-1/-1/!100]");
    assert_string_equal(fetch(f, 9, "g", "ta:0"), "ta[0=9/4/m]");
}

void test_nothing_to_commit(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = ""}), "");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:"}), "");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "none:0=1"}), "none[0:3]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:0=1/-1/*5000"}), "ta[0:12]");
    assert_false(group_exists(f, "g"));
    assert_int_equal(f->records, 0);
}

/* ---- who may ------------------------------------------------------------------------------------------------------------------- */

void test_unknown_group(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(commit(f, (struct commit){.version = 9, .group = "g", .generation = 1, .partitions = "ta:0=1, none:0=1"}),
                        "none[0:3] ta[0:69]");
    assert_string_equal(commit(f, (struct commit){.version = 8, .group = "g", .generation = 1, .partitions = "ta:0=1"}), "ta[0:22]");
    assert_string_equal(commit(f, (struct commit){.version = 9, .group = "g", .zero_generation = true, .partitions = "ta:0=1"}),
                        "ta[0:69]");
    assert_false(group_exists(f, "g"));
    assert_string_equal(commit(f, (struct commit){.group = "g", .member = "x", .partitions = "ta:0=1"}), "ta[0:0]");
    assert_true(group_exists(f, "g"));
}

/* KAFKA-14201, KAFKA-6773: an instance id beside generation -1, and the empty group id. */
void test_instance_without_generation(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(commit(f, (struct commit){.group = "fresh", .instance = "i1", .partitions = "ta:0=1"}), "ta[0:0]");
    stable(f, "busy", "ta", "ta:0");
    assert_string_equal(commit(f, (struct commit){.group = "busy", .instance = "i1", .partitions = "ta:0=1"}), "ta[0:25]");
    assert_string_equal(commit(f, (struct commit){.group = "busy", .partitions = "ta:0=1"}), "ta[0:25]");
    assert_string_equal(commit(f, (struct commit){.group = "", .partitions = "ta:0=2"}), "ta[0:0]");
    assert_string_equal(fetch(f, 9, "", "ta:0"), "ta[0=2/-1/]");
    assert_string_equal(offset_delete(f, "", "ta:0"), "");
    assert_int_equal(f->error, 24);
    assert_int_equal(group_delete(f, "", NULL), 0);
    assert_int_equal(group_delete(f, "", NULL), 69);
    join(f, "", "consumer", "ta", "", 1000);
    assert_int_equal(f->error, 24);
}

void test_members(void **state)
{
    struct fixture *f = *state;
    join(f, "g", "consumer", "ta", "", 10000);
    struct commit c = {.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1, ta:77=1"};
    assert_string_equal(commit(f, c), "ta[77:3 0:27]");
    assert_int_equal(sync(f, "g", "ta:0"), 0);
    assert_string_equal(commit(f, c), "ta[77:3 0:0]");
    c.generation++;
    assert_string_equal(commit(f, c), "ta[77:3 0:22]");
    c.generation = -1;
    assert_string_equal(commit(f, c), "ta[77:3 0:22]");
    c = (struct commit){.group = "g", .member = "stranger", .generation = f->generation, .partitions = "ta:0=1"};
    assert_string_equal(commit(f, c), "ta[0:25]");
    /* Once they are gone, commits from outside count again, those of the old generation do not. */
    assert_int_equal(leave(f, "g", f->member_id), 0);
    assert_string_equal(commit(f, (struct commit){.group = "g", .partitions = "ta:1=8"}), "ta[1:0]");
    assert_string_equal(commit(f, (struct commit){.group = "g", .generation = 2, .partitions = "ta:1=9"}), "ta[1:25]");
    assert_string_equal(fetch(f, 9, "g", "ta:0, ta:1"), "ta[0=1/-1/ 1=8/-1/]");
}

/* A commit keeps its member's session: the timer is armed anew. */
void test_commit_keeps_session(void **state)
{
    struct fixture *f = *state;
    stable(f, "g", "ta", "ta:0");
    for (int i = 0; i < 3; i++) {
        world_tick(&f->world, 500000);
        struct commit c = {.group = "g", .member = f->member_id, .generation = f->generation, .partitions = "ta:0=1"};
        assert_string_equal(commit(f, c), "ta[0:0]");
    }
    world_tick(&f->world, 600001);
    assert_int_equal(heartbeat(f, "g", f->generation, f->member_id), 25);
}

/* muster.classic.commit.owned.only: each partition for itself, and only for members of consumer groups. */
void test_owned_only(void **state)
{
    struct fixture *f = *state;
    f->world.settings.commit_owned_only = true;
    stable(f, "g", "ta,tb", "ta:0, ta:2, tb:1");
    struct commit c = {.group = "g",
                       .member = f->member_id,
                       .generation = f->generation,
                       .partitions = "ta:0=1, ta:1=1, ta:2=1, tb:0=1, tb:1=1"};
    assert_string_equal(commit(f, c), "ta[0:0 1:29 2:0] tb[0:29 1:0]");
    assert_string_equal(fetch(f, 9, "g", NULL), "ta[0=1/-1/ 2=1/-1/] tb[1=1/-1/]");
    c.partitions = "ta:1=1";
    assert_string_equal(commit(f, c), "ta[1:29]");
    assert_string_equal(commit(f, (struct commit){.group = "simple", .partitions = "ta:1=1"}), "ta[1:0]");
    join(f, "connect", "connect", "ta", "", 10000);
    assert_int_equal(sync(f, "connect", "ta:0"), 0);
    c = (struct commit){.group = "connect", .member = f->member_id, .generation = f->generation, .partitions = "ta:1=1"};
    assert_string_equal(commit(f, c), "ta[1:0]");
}

void test_budgets(void **state)
{
    struct fixture *f = *state;
    f->world.settings.max_groups = 2;
    assert_string_equal(commit(f, (struct commit){.group = "a", .partitions = "ta:0=1/-1/*100"}), "ta[0:0]");
    assert_string_equal(commit(f, (struct commit){.group = "b", .partitions = "ta:0=1"}), "ta[0:0]");
    assert_string_equal(commit(f, (struct commit){.group = "c", .partitions = "ta:0=1, ta:9=1"}), "ta[9:3 0:15]");
    assert_false(group_exists(f, "c"));
    f->world.settings.max_groups = 3;
    f->world.settings.reserved_groups = 1;
    assert_string_equal(commit(f, (struct commit){.group = "c", .partitions = "ta:0=1"}), "ta[0:15]");
    f->world.settings.reserved_groups = 0;
    f->world.settings.max_state_bytes = (int64_t)f->world.pool.bytes;
    assert_string_equal(commit(f, (struct commit){.group = "a", .partitions = "ta:1=1"}), "ta[1:15]");
    assert_string_equal(commit(f, (struct commit){.group = "a", .partitions = "ta:0=2/-1/*101"}), "ta[0:15]");
    assert_string_equal(commit(f, (struct commit){.group = "a", .partitions = "ta:0=3/-1/*100"}), "ta[0:0]");
    f->world.settings.max_state_bytes = 1; /* far over it: what does not grow still passes */
    assert_string_equal(commit(f, (struct commit){.group = "a", .partitions = "ta:0=4/-1/m"}), "ta[0:0]");
    assert_string_equal(fetch(f, 9, "a", NULL), "ta[0=4/-1/m]");
}

/* ---- what is kept --------------------------------------------------------------------------------------------------------------- */

/* Leader epoch, metadata and the empty group's protocol type come through a snapshot as they were. */
void test_kept_through_snapshot(void **state)
{
    struct fixture *f = *state;
    struct pool pool = {0};
    stable(f, "members", "ta", "ta:0");
    assert_int_equal(leave(f, "members", f->member_id), 0);
    commit(f, (struct commit){.group = "members", .partitions = "ta:0=5/3/x y, ta:1=7/-1/"});
    commit(f, (struct commit){.group = "simple", .partitions = "tb:0=-5/-9/, tb:1=9223372036854775807/2147483647/"});
    world_failover(&f->world);
    struct group_set *before = f->world.set;
    struct group_set *copy = world_restored(&f->world, &pool, 64);
    assert_non_null(copy);
    f->world.set = copy;
    assert_string_equal(fetch(f, 9, "members", "ta:0, ta:1"), "ta[0=5/3/x y 1=7/-1/]");
    assert_string_equal(fetch(f, 4, "simple", NULL), "tb[0=-5/-9/ 1=9223372036854775807/2147483647/]");
    struct group_listing listing;
    assert_true(group_listing(copy, STR("members"), &listing));
    assert_true(str_eq(listing.protocol_type, STR("consumer")) && str_eq(listing.state, STR("Empty")));
    assert_true(group_listing(copy, STR("simple"), &listing));
    assert_true(str_eq(listing.protocol_type, STR("")) && str_eq(listing.state, STR("Empty")) && str_eq(listing.type, STR("classic")));
    f->world.set = before;
    group_set_free(copy);
    assert_int_equal(pool.bytes, 0);
}

void test_versions(void **state)
{
    struct fixture *f = *state;
    char group[16];
    for (int16_t version = 2; version <= 9; version++) {
        snprintf(group, sizeof group, "g%d", version);
        assert_string_equal(commit(f, (struct commit){.version = version, .group = group, .partitions = "ta:0=4"}), "ta[0:0]");
        assert_string_equal(fetch(f, (int16_t)(version - 1), group, "ta:0"), "ta[0=4/-1/]");
    }
}

/* Names are kept once, however many groups commit for them; offsets are packed (page.h). */
void test_memory(void **state)
{
    struct fixture *f = *state;
    f->world.check = false;
    commit(f, (struct commit){.group = "g", .partitions = "ta:0=1"});
    size_t before = f->world.pool.bytes;
    commit(f, (struct commit){.group = "g", .partitions = "ta:1=1"});
    size_t one = f->world.pool.bytes - before;
    assert_true(one <= 24);
    for (int i = 0; i < 100; i++) {
        commit(f, (struct commit){.group = "g", .partitions = "ta:1=2/-1/*9"});
    }
    assert_true(f->world.pool.bytes <= before + one + 32); /* a page grows in steps */
    offset_delete(f, "g", "ta:1");
    assert_int_equal(f->world.pool.bytes, before);
}
