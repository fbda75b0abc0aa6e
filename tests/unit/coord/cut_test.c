/* A shard's state read out for a backup: as of one moment, confirmed, and given up when the state is wanted for something else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { GROUPS = 50, BUDGET = 200, BROKER = 4 };

struct reading {
    struct coord_cut cut;
    int opened, lost;
    int16_t error;
};

static void on_opened(struct coord_cut *cut, int16_t error)
{
    struct reading *r = cut->ctx;
    r->opened++;
    r->error = error;
}

static void on_lost(struct coord_cut *cut)
{
    struct reading *r = cut->ctx;
    r->lost++;
}

static void open_cut(struct world *w, struct reading *r)
{
    *r = (struct reading){.cut = {.opened = on_opened, .lost = on_lost, .ctx = r}};
    coord_cut_open(w->coord, &r->cut);
}

static void commit_all(struct world *w, int64_t offset)
{
    for (int i = 0; i < GROUPS; i++) {
        char group[24];
        (void)snprintf(group, sizeof(group), "group-%02d", i);
        turn_begin(w, MS);
        struct call *c = commit(w, group, offset);
        settle(w);
        assert_int_equal(commit_error(c), 0);
        call_free(c);
    }
}

/* The runs make the state that was announced. */
static void check_state(const struct buf *state, const struct reading *r)
{
    struct pool pool = {0};
    struct arena scratch;
    struct group_set *set = group_set_new(&pool, 0);
    struct group_set_counts counts;
    arena_init(&scratch, 0);
    assert_int_equal(group_restore(set, (struct bytes){state->ptr, (int32_t)state->len}, &scratch), 0);
    assert_true(group_set_hash(set) == r->cut.state_hash);
    group_set_counts(set, &counts);
    assert_int_equal(counts.offsets, GROUPS);
    group_set_free(set);
    arena_fini(&scratch);
}

static bool draw(struct reading *r, struct buf *out)
{
    bool more = false;
    assert_int_equal(coord_cut_next(&r->cut, BUDGET, out, &more), 0);
    return more;
}

/* Whatever is committed while it is read: the state is that of the moment when it was opened. */
static void test_state_as_of_one_moment(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct reading r;
    struct coord_stats stats;
    struct buf out;
    buf_init(&out, 0);
    commit_all(w, 1);
    uint64_t hash = group_set_hash(coord_set(w->coord, 0)), index = coord_applied_index(w->coord, 0);
    turn_begin(w, MS);
    open_cut(w, &r);
    assert_int_equal(r.opened, 0); /* not before a majority has said that nobody else leads */
    turn_end(w);
    settle(w);
    assert_int_equal(r.opened, 1);
    assert_int_equal(r.error, 0);
    assert_true(r.cut.index == index && r.cut.state_hash == hash && r.cut.term > 0);
    assert_true(draw(&r, &out));
    commit_all(w, 2);
    assert_true(group_set_hash(coord_set(w->coord, 0)) != hash);
    coord_stats(w->coord, &stats);
    assert_int_equal(stats.cuts_open, 1);
    while (draw(&r, &out)) {
    }
    coord_cut_close(&r.cut);
    check_state(&out, &r);
    coord_stats(w->coord, &stats);
    assert_true(stats.cuts_open == 0 && stats.cuts == 1 && stats.cuts_lost == 0);
    assert_int_equal(r.lost, 0);
    buf_fini(&out);
    world_free(w);
}

static void test_refused(void **state)
{
    (void)state;
    struct world *w = world_new(1, false);
    struct reading r, second;
    open_cut(w, &r);
    assert_true(r.opened == 1 && r.error == 15);
    fake_role(w->replica, 0, REPLICA_LEADER, 2, 1);
    open_cut(w, &r);
    assert_true(r.opened == 1 && r.error == 14);
    world_free(w);

    w = serving_world(1);
    open_cut(w, &r);
    open_cut(w, &second); /* one at a time, from the moment it is wanted */
    assert_true(second.opened == 1 && second.error == 14);
    settle(w);
    assert_true(r.opened == 1 && r.error == 0);
    coord_cut_close(&r.cut);
    world_free(w);
}

static void test_office_lost_before_it_is_confirmed(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct reading r;
    open_cut(w, &r);
    turn_end(w);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_true(r.opened == 1 && r.error == 16);
    fake_serve(w->replica, 0, 4);
    settle(w);
    open_cut(w, &r);
    settle(w);
    assert_true(r.opened == 1 && r.error == 0 && r.cut.term == 4);
    /* Once it is confirmed it stays true, whoever leads. */
    struct buf out;
    buf_init(&out, 0);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 5, 2);
    while (draw(&r, &out)) {
    }
    assert_true(out.len > 0);
    coord_cut_close(&r.cut);
    assert_int_equal(r.lost, 0);
    buf_fini(&out);
    world_free(w);
}

/* A bit flips where a config lies: no backup is made of that, and the node ends. */
static void test_state_that_changed_by_itself(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct reading r;
    struct buf out;
    buf_init(&out, 0);
    commit_all(w, 1);
    struct str value = STR_NULL;
    alter_budget(w, "muster.max.groups", "1000");
    assert_true(catalog_config(coord_set(w->coord, 0), BROKER, STR(""), STR("muster.max.groups"), &value));
    char *flipped = (char *)(uintptr_t)value.ptr;
    *flipped ^= 4;
    open_cut(w, &r);
    settle(w);
    bool more = true;
    int rc = 0;
    while (more) {
        rc = coord_cut_next(&r.cut, BUDGET, &out, &more);
    }
    assert_int_equal(rc, MUSTER_E_CORRUPT);
    assert_int_equal(w->fatal, 1);
    coord_cut_close(&r.cut);
    w->fatal = 0;
    buf_fini(&out);
    world_free(w);
}

/* The replica's own snapshot goes first: an open cut is lost, one that waits to be confirmed is refused, none is opened meanwhile. */
static void test_lost_to_a_snapshot(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    const struct replica_events *events = fake_events(w->replica);
    struct reading r;
    uint64_t hash = 0;
    open_cut(w, &r);
    settle(w);
    assert_int_equal(r.error, 0);
    events->snapshot_begin(events->ctx, 0, &hash);
    assert_int_equal(r.lost, 1);
    open_cut(w, &r);
    assert_true(r.opened == 1 && r.error == 14);
    events->snapshot_end(events->ctx, 0);
    turn_begin(w, MS);
    open_cut(w, &r);
    assert_int_equal(r.opened, 0);
    events->snapshot_begin(events->ctx, 0, &hash);
    events->snapshot_end(events->ctx, 0);
    settle(w);
    assert_true(r.opened == 1 && r.error == 14 && r.lost == 0);
    world_free(w);
}

/* A state that another node's snapshot replaces is not there any more. */
static void test_lost_to_a_restore_and_to_the_end(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    const struct replica_events *events = fake_events(w->replica);
    struct reading r;
    open_cut(w, &r);
    settle(w);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 5, 2);
    events->restore_begin(events->ctx, 0, 100, 5);
    assert_true(r.opened == 1 && r.error == 0 && r.lost == 1);
    world_free(w);

    w = serving_world(1);
    open_cut(w, &r);
    settle(w);
    assert_int_equal(r.error, 0);
    world_free(w);
    assert_int_equal(r.lost, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_as_of_one_moment),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_office_lost_before_it_is_confirmed),
        cmocka_unit_test(test_state_that_changed_by_itself),
        cmocka_unit_test(test_lost_to_a_snapshot),
        cmocka_unit_test(test_lost_to_a_restore_and_to_the_end),
    };
    return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
