/* A disk that said it had synced and comes back without it: the follower gets what it lost, although the leader knew that it had it. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000, ENTRIES = 30 };

static struct core_stats stats_of(struct node *n)
{
    struct core_stats stats;
    core_stats(n->core, &stats);
    return stats;
}

static void put(struct world *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(world_put(w, 0, 64));
        world_run(w, 2 * MS);
    }
}

/* Takes the end of the log away from a node that is down: some of the entries. */
static void forget_the_end(struct node *n)
{
    char newest[64] = "";
    int64_t used = 0;
    for (size_t i = 0; i < mem_disk_file_count(n->disk); i++) {
        const char *name = mem_disk_file_name(n->disk, i);
        struct bytes file = mem_disk_file(n->disk, name);
        int64_t len = file.len;
        while (len > 0 && file.ptr[len - 1] == 0) {
            len--;
        }
        if (strstr(name, ".seg") != NULL && len > used) {
            snprintf(newest, sizeof(newest), "%s", name);
            used = len;
        }
    }
    assert_true(used > 2000);
    mem_disk_cut(n->disk, newest, (uint64_t)used - 1000);
}

/* A follower that is neither the leader nor `not`. */
static struct node *a_follower(struct world *w, uint32_t not )
{
    uint32_t leader = world_leader(w, 0)->id;
    for (uint32_t id = 1; id <= w->node_count; id++) {
        if (id != leader && id != not ) {
            return world_node(w, id);
        }
    }
    return NULL;
}

static void start(struct world *w, uint64_t seed)
{
    world_init(w, seed, 3, 1);
    w->options.balance_after_ms = UINT32_MAX; /* leadership stays where it is, but for a reason */
    world_start(w);
    assert_true(world_settle(w, 3 * SECOND));
    put(w, ENTRIES);
    assert_true(world_even(w, SECOND));
}

static void test_who_lost_entries_gets_them_again(void **state)
{
    struct world w;
    (void)state;
    start(&w, 3);
    struct node *leader = world_leader(&w, 0), *f = a_follower(&w, 0);
    uint64_t had = f->shards[0].applied;
    world_kill(&w, f->id);
    forget_the_end(f);
    world_restart(&w, f->id);
    assert_true(f->shards[0].applied < had);
    world_run(&w, 2 * SECOND);
    assert_true(world_settle(&w, 3 * SECOND));
    assert_int_equal(stats_of(leader).entries_lost, 1);
    assert_int_not_equal(world_leader(&w, 0)->id, leader->id);
    assert_int_not_equal(world_leader(&w, 0)->id, f->id);
    put(&w, 5);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

/* Without another one that has all, an election could lose what only the leader has: it goes on alone as long as it must. */
static void test_the_leader_keeps_what_only_it_has(void **state)
{
    struct world w;
    (void)state;
    start(&w, 4);
    struct node *leader = world_leader(&w, 0), *f = a_follower(&w, 0), *third = a_follower(&w, f->id);
    world_kill(&w, third->id);
    world_kill(&w, f->id);
    forget_the_end(f);
    world_restart(&w, f->id);
    world_run(&w, 3 * SECOND);
    assert_int_equal(stats_of(leader).entries_lost, 1);
    assert_ptr_equal(world_leader(&w, 0), leader);
    assert_int_equal(stats_of(leader).transfers_begun, 0);
    world_restart(&w, third->id);
    world_run(&w, 3 * SECOND);
    assert_true(world_settle(&w, SECOND));
    assert_ptr_equal(world_leader(&w, 0), third);
    put(&w, 5);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

/* Who comes back with everything, or was only cut off, is not suspected. */
static void test_who_kept_all_is_not_suspected(void **state)
{
    struct world w;
    (void)state;
    start(&w, 5);
    struct node *leader = world_leader(&w, 0), *f = a_follower(&w, 0);
    for (int i = 0; i < 3; i++) {
        world_kill(&w, f->id);
        put(&w, 10);
        world_restart(&w, f->id);
        put(&w, 10);
        world_isolate(&w, f->id, true);
        put(&w, 10);
        world_run(&w, 50 * MS);
        world_isolate(&w, f->id, false);
        put(&w, 10);
    }
    assert_true(world_even(&w, 2 * SECOND));
    assert_int_equal(stats_of(leader).entries_lost, 0);
    assert_ptr_equal(world_leader(&w, 0), leader);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_lost_entries_gets_them_again),
        cmocka_unit_test(test_the_leader_keeps_what_only_it_has),
        cmocka_unit_test(test_who_kept_all_is_not_suspected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
