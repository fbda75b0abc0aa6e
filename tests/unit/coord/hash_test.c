/* The state's hash goes into the log: behind each interval, with what is written anyway, by who leads then, and again when the entry came to nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <muster/messages.h>

#include "world.h"

/* Commits until that entry of the shard is applied; the newest offset stands in *offset. */
static void commit_up_to(struct world *w, uint64_t index, int64_t *offset)
{
    struct replica_shard_status status;
    for (;;) {
        replica_status(w->replica, 0, &status);
        if (status.last_index >= index)
            break;
        struct call *c = commit(w, "g", ++*offset);
        settle(w);
        assert_int_equal(commit_error(c), 0);
        call_free(c);
        turn_begin(w, 1);
    }
    assert_int_equal(status.last_index, index);
}

/* How many hashes the newest entry carries that is not applied yet; the last of them. */
static int hashes_in_flight(const struct world *w, uint64_t *ret_index, uint64_t *ret_hash)
{
    struct arena arena;
    struct log_entry entry;
    int count = 0;
    arena_init(&arena, 0);
    assert_true(wire_decode(&wire_log_entry, 0, fake_newest(w->replica), &arena, &entry, NULL) >= 0);
    for (int32_t i = 0; i < entry.records.len; i++) {
        struct record record = {entry.records.v[i].key, entry.records.v[i].value};
        struct wire_decoded_record decoded;
        assert_true(wire_record_decode(record, &arena, &decoded) >= 0);
        if (decoded.schema->type != RECORD_STATE_HASH)
            continue;
        const struct state_hash_value *value = decoded.value;
        *ret_index = (uint64_t)value->index;
        *ret_hash = (uint64_t)value->hash;
        count++;
        assert_true(entry.causes.v[entry.records.v[i].cause].rule.len > 0);
        assert_int_equal(entry.causes.v[entry.records.v[i].cause].api_key, -1);
    }
    arena_fini(&arena);
    return count;
}

/* The next commit's entry, still in flight. */
static struct call *next_entry(struct world *w, int64_t *offset)
{
    struct call *c = commit(w, "g", ++*offset);
    turn_end(w);
    assert_true(fake_proposed(w->replica) == 1);
    return c;
}

static void finish(struct world *w, struct call *c)
{
    settle(w);
    call_free(c);
    turn_begin(w, 1);
}

static void test_it_follows_each_interval(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    uint64_t index, hash;
    int64_t offset = 0;
    turn_begin(w, 1);
    for (uint64_t at = HASH_INTERVAL; at <= 3 * HASH_INTERVAL; at += HASH_INTERVAL) {
        commit_up_to(w, at - 1, &offset);
        struct call *c = next_entry(w, &offset); /* the entry of the interval itself: its state is not there yet */
        assert_int_equal(hashes_in_flight(w, &index, &hash), 0);
        finish(w, c);
        uint64_t was = group_set_hash(coord_set(w->coord, 0));
        turn_end(w);
        assert_int_equal(fake_proposed(w->replica), 0); /* no entry of its own */
        turn_begin(w, 1);
        c = next_entry(w, &offset);
        assert_int_equal(hashes_in_flight(w, &index, &hash), 1);
        assert_true(index == at && hash == was);
        finish(w, c);
        c = next_entry(w, &offset);
        assert_int_equal(hashes_in_flight(w, &index, &hash), 0); /* once */
        finish(w, c);
    }
    world_free(w);
}

/* One in which a hash is due. */
static struct world *with_one_due(int64_t *offset)
{
    struct world *w = serving_world(1);
    *offset = 0;
    turn_begin(w, 1);
    commit_up_to(w, HASH_INTERVAL, offset);
    return w;
}

static void test_it_is_written_again_when_the_entry_was_not_taken(void **state)
{
    (void)state;
    uint64_t index, hash;
    int64_t offset;
    struct world *w = with_one_due(&offset);
    fake_refuse(w->replica, MUSTER_E_BUSY);
    struct call *c = commit(w, "g", ++offset);
    turn_end(w);
    fake_refuse(w->replica, 0);
    turn_begin(w, 1);
    finish(w, c);
    c = next_entry(w, &offset);
    assert_int_equal(hashes_in_flight(w, &index, &hash), 1);
    assert_int_equal(index, HASH_INTERVAL);
    finish(w, c);
    world_free(w);
}

/* Whoever led until now may have died with it. */
static void test_who_takes_over_writes_what_it_knows(void **state)
{
    (void)state;
    uint64_t index, hash;
    int64_t offset;
    struct world *w = with_one_due(&offset);
    uint64_t was = group_set_hash(coord_set(w->coord, 0));
    lose_and_regain(w);
    struct call *c = next_entry(w, &offset);
    assert_int_equal(hashes_in_flight(w, &index, &hash), 1);
    assert_true(index == HASH_INTERVAL && hash == was);
    finish(w, c);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_follows_each_interval),
        cmocka_unit_test(test_it_is_written_again_when_the_entry_was_not_taken),
        cmocka_unit_test(test_who_takes_over_writes_what_it_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
