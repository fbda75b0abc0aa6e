/* That office was taken is recorded for the history of the shard's groups: with what is written anyway, by itself where nothing is, and again when it could not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <muster/messages.h>

#include "world.h"

typedef struct group_history_response_coordinator_move move;

enum { AFTER = 100 * MS };

static void raise_level(struct world *w, int16_t level)
{
    struct feature_level_key key = {STR("feature.level")};
    struct feature_level_value value;
    struct arena arena;
    arena_init(&arena, 0);
    wire_init(&wire_feature_level_value, &value);
    value.level = level;
    struct record record = wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, &value, &arena);
    assert_true(group_apply((struct group_set *)(uintptr_t)coord_set(w->coord, 0), 0, record, &arena));
    arena_fini(&arena);
}

/* The group "g" exists, node 2 leads in term 3 and was last heard of 50 ms ago. */
static struct world *led_by_another(uint32_t shards, int16_t level)
{
    struct world *w = serving_world(shards);
    turn_begin(w, AFTER); /* below that level it is not recorded */
    settle(w);
    raise_level(w, level);
    struct call *c = commit(w, "g", 1);
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    turn_begin(w, SECOND);
    for (uint32_t i = 0; i < shards; i++)
        fake_role(w->replica, i, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    fake_led(w->replica, w->now_us);
    turn_begin(w, 50 * MS);
    return w;
}

/* How many records of moves the newest entry has that is not applied yet; and how many records in all. */
static int moves_in_flight(const struct world *w, int *ret_records)
{
    struct arena arena;
    struct log_entry entry;
    int count = 0;
    arena_init(&arena, 0);
    assert_true(wire_decode(&wire_log_entry, 0, fake_newest(w->replica), &arena, &entry, NULL) >= 0);
    for (int32_t i = 0; i < entry.records.len; i++)
        count += get_be16(entry.records.v[i].key.ptr) == RECORD_COORDINATOR_MOVE;
    *ret_records = entry.records.len;
    arena_fini(&arena);
    return count;
}

/* What the group's history shows of them; the newest. */
static int32_t shown(struct world *w, move *ret)
{
    settle(w); /* it is read from what is applied */
    turn_begin(w, 1);
    struct call *c = call_new(GROUP_HISTORY, 20050, 0, "g");
    coord_submit(w->coord, &c->request);
    settle(w);
    const struct group_history_response *answer = c->answer;
    int32_t count = answer->coordinator_moves.len;
    if (count > 0)
        *ret = answer->coordinator_moves.v[count - 1];
    call_free(c);
    turn_begin(w, 1);
    return count;
}

static void test_it_goes_with_what_is_written_anyway(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 3);
    move m;
    int records;
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    turn_begin(w, 5 * MS);
    struct call *c = commit(w, "g", 2);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    assert_true(moves_in_flight(w, &records) == 1 && records == 2);
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0); /* nothing more */
    assert_int_equal(shown(w, &m), 1);
    assert_int_equal(m.silent_ms, 50);
    assert_true(m.node_id == 1 && m.from_node_id == 2 && m.term == 4 && !m.handed_over);
    world_free(w);
}

static void test_it_is_written_where_nothing_else_is(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 3);
    move m;
    int records;
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    turn_begin(w, 1);
    turn_end(w);
    int64_t due = coord_next_deadline_us(w->coord);
    assert_true(due > w->now_us && due <= w->now_us + AFTER);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    assert_true(moves_in_flight(w, &records) == 1 && records == 1);
    assert_int_equal(shown(w, &m), 1);
    assert_int_equal(m.silent_ms, 50); /* as of when it served */
    world_free(w);
}

static void test_a_disk_that_refuses_is_asked_again(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 3);
    move m;
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    fake_refuse(w->replica, MUSTER_E_BUSY);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    fake_refuse(w->replica, 0);
    turn_begin(w, 1);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0); /* not at once */
    assert_true(coord_next_deadline_us(w->coord) <= w->now_us + AFTER);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    assert_int_equal(shown(w, &m), 1);
    world_free(w);
}

/* A handover begins in the turn in which it was to be written, and does not come about. */
static void test_a_handover_that_fails_loses_nothing(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 3);
    move m;
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    turn_begin(w, 1);
    struct call *c = commit(w, "g", 2);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 4, 1);
    turn_end(w);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    fake_role(w->replica, 0, REPLICA_SERVING, 4, 1);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    turn_begin(w, 1);
    assert_int_equal(shown(w, &m), 1);
    world_free(w);
}

/* Lost before it was written: the next one says who led before. */
static void test_an_office_lost_at_once_is_not_recorded(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 3);
    move m;
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 5, 0);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    fake_serve(w->replica, 0, 6);
    settle(w);
    turn_begin(w, AFTER);
    assert_int_equal(shown(w, &m), 1);
    assert_true(m.node_id == 1 && m.from_node_id == 1 && m.term == 6 && m.silent_ms > 50); /* nobody since node 2 */
    world_free(w);
}

static void test_who_handed_over_is_told(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 3);
    move m;
    uint8_t message[12] = {0};
    put_le64(message + 4, 3);
    fake_message(w->replica, 2, COORD_CHANNEL_TIMERS, message, sizeof message);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 4, 2); /* it has voted, and still names the one before */
    fake_serve(w->replica, 0, 4);
    settle(w);
    turn_begin(w, AFTER);
    assert_int_equal(shown(w, &m), 1);
    assert_true(m.handed_over && m.from_node_id == 2 && m.silent_ms == 50);
    world_free(w);
}

static void test_nothing_is_recorded_below_its_level(void **state)
{
    (void)state;
    struct world *w = led_by_another(1, 2);
    move m;
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    turn_begin(w, AFTER);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    assert_int_equal(shown(w, &m), 0);
    assert_true(coord_next_deadline_us(w->coord) > w->now_us + SECOND);
    world_free(w);
}

/* A shard that does not know yet how fresh its catalogue must be does not know the level; what needs no catalogue is served all the while. */
static void test_it_waits_for_the_catalogue_and_nothing_for_it(void **state)
{
    (void)state;
    struct world *w = led_by_another(2, 3);
    uint32_t shard = coord_shard_of(w->coord, STR("g"));
    if (shard == 0) { /* the other one does as well */
        shard = 1;
    }
    fake_serve(w->replica, shard, 4); /* nobody leads shard 0 */
    for (int i = 0; i < 5; i++) {
        turn_begin(w, AFTER);
        turn_end(w);
        assert_int_equal(fake_proposed(w->replica), 0);
    }
    uint32_t ignored;
    assert_int_equal(fake_transfers(w->replica, &ignored), 0); /* nobody waits for that, so the office is not given up */
    fake_serve(w->replica, 0, 4);
    turn_end(w);
    fake_confirm(w->replica);
    turn_begin(w, 1);
    turn_end(w);
    int records;
    assert_int_equal(fake_proposed(w->replica), 1);
    assert_int_equal(moves_in_flight(w, &records), 1);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_goes_with_what_is_written_anyway),    cmocka_unit_test(test_it_is_written_where_nothing_else_is),
        cmocka_unit_test(test_a_disk_that_refuses_is_asked_again),     cmocka_unit_test(test_a_handover_that_fails_loses_nothing),
        cmocka_unit_test(test_an_office_lost_at_once_is_not_recorded), cmocka_unit_test(test_who_handed_over_is_told),
        cmocka_unit_test(test_nothing_is_recorded_below_its_level),    cmocka_unit_test(test_it_waits_for_the_catalogue_and_nothing_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
