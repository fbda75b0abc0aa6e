/* Two nodes that do not see each other and a third that sees both: how a leader gets to know how fresh its catalogue must be, and to whom it gives its shard. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ELECTION_TIMEOUT = 300 * MS, ASK_AGAIN = 20 * MS };

/* What nodes say of the catalogue; 0 for what is not sent. */
struct words {
    uint64_t serial, index;
    uint32_t nonce, origin;
};

static void hear_ask(struct world *w, uint32_t from, struct words words, size_t len)
{
    uint8_t message[16];
    put_le64(message, words.serial);
    put_le32(message + 8, words.nonce);
    put_le32(message + 12, words.origin);
    fake_message(w->replica, from, COORD_CHANNEL_BARRIER_ASK, message, len);
}

static void hear_answer(struct world *w, uint32_t from, struct words words)
{
    uint8_t message[24];
    put_le64(message, words.serial);
    put_le64(message + 8, words.index);
    put_le32(message + 16, words.nonce);
    put_le32(message + 20, words.origin);
    fake_message(w->replica, from, COORD_CHANNEL_BARRIER_ANSWER, message, sizeof(message));
}

static uint32_t a_shard(const struct world *w, char *group)
{
    while (coord_shard_of(w->coord, str_of(group)) == 0)
        group[0]++;
    return coord_shard_of(w->coord, str_of(group));
}

static void pass(struct world *w, int64_t us)
{
    for (int64_t end = w->now_us + us; w->now_us < end;) {
        turn_begin(w, MS);
        turn_end(w);
    }
}

/* Until this node has asked all, of which there is one; what it said. */
static struct words until_all_are_asked(struct world *w)
{
    uint32_t to;
    size_t before = fake_sent(w->replica);
    for (int i = 0; i < 200; i++) {
        const uint8_t *data = fake_sent_data(w->replica, &to);
        if (fake_sent(w->replica) > before && fake_sent_bytes(w->replica) == 12 && to == 2)
            return (struct words){.serial = get_le64(data), .nonce = get_le32(data + 8), .origin = 1};
        pass(w, MS);
    }
    fail_msg("nobody but shard 0's leader was asked");
    return (struct words){0};
}

/* Shard 0 is led by node 3, of which nothing is heard; this node serves another shard, and somebody waits. */
static struct world *cut_world(char *group, uint32_t *ret_shard, struct call **ret_call)
{
    struct world *w = world_new(4, false);
    *ret_shard = a_shard(w, group);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 2, 3);
    fake_serve(w->replica, *ret_shard, 2);
    *ret_call = commit(w, group, 1);
    pass(w, ASK_AGAIN);
    assert_int_equal((*ret_call)->done, 0);
    return w;
}

static void test_who_is_not_answered_asks_by_way_of_others(void **state)
{
    (void)state;
    char group[] = "a";
    uint32_t shard;
    struct call *c;
    struct world *w = cut_world(group, &shard, &c);
    int64_t since_us = w->now_us;
    struct words words = until_all_are_asked(w);
    assert_true(w->now_us - since_us <= 100 * MS);
    assert_true(words.nonce != 0);
    struct words others = words;
    others.nonce ^= 2; /* of the process before this one */
    hear_answer(w, 2, others);
    settle(w);
    assert_int_equal(c->done, 0);
    hear_answer(w, 2, words);
    settle(w);
    assert_int_equal(c->done, 1);
    assert_int_equal(commit_error(c), 3); /* the catalogue is fresh, and has no such topic */
    call_free(c);
    world_free(w);
}

static size_t transfers(const struct world *w)
{
    uint32_t ignored;
    return fake_transfers(w->replica, &ignored);
}

/* How long it takes until the shard is given away. */
static int64_t until_given_away(struct world *w)
{
    int64_t since_us = w->now_us;
    size_t before = transfers(w);
    while (transfers(w) == before && w->now_us < since_us + 10 * SECOND)
        pass(w, MS);
    return w->now_us - since_us;
}

/* Not to be undone for seconds by whoever gives the shard back, as an administrator may. */
static void test_who_is_behind_gives_the_shard_to_who_passed_it_on(void **state)
{
    (void)state;
    char group[] = "a";
    uint32_t shard, which;
    struct call *c;
    struct world *w = cut_world(group, &shard, &c);
    fake_take(w->replica, 2);
    for (uint64_t turn = 0; turn < 3; turn++) {
        struct words words = until_all_are_asked(w);
        words.index = 1000;
        hear_answer(w, 2, words);
        pass(w, ELECTION_TIMEOUT / 2 - 20 * MS);
        assert_int_equal(transfers(w), turn); /* perhaps it catches up */
        assert_true(until_given_away(w) <= 2 * ELECTION_TIMEOUT);
        assert_int_equal(fake_transfers(w->replica, &which), turn + 1);
        assert_int_equal(which, shard);
        assert_int_equal(fake_transferred_to(w->replica), 2);
        assert_int_equal(c->done, 0);
        fake_role(w->replica, shard, REPLICA_FOLLOWER, 3 + 2 * turn, 2);
        assert_int_equal(c->done, 1);
        call_free(c);
        pass(w, 10 * MS);
        fake_serve(w->replica, shard, 4 + 2 * turn);
        c = commit(w, group, 1);
        pass(w, MS);
    }
    fake_take(w->replica, 0);
    struct words words = until_all_are_asked(w);
    words.index = 1000;
    hear_answer(w, 2, words);
    until_given_away(w);
    assert_int_equal(transfers(w), 5); /* node 2 has no vote: to any */
    assert_int_equal(fake_transferred_to(w->replica), 0);
    fake_role(w->replica, shard, REPLICA_FOLLOWER, 20, 2);
    call_free(c);
    world_free(w);
}

static void test_a_question_is_passed_on(void **state)
{
    (void)state;
    struct world *w = world_new(4, false);
    uint32_t to;
    const struct words words = {.serial = 7, .nonce = 5};
    turn_begin(w, MS);
    hear_ask(w, 3, words, 12);
    assert_int_equal(fake_sent(w->replica), 0); /* to whom? */
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 2, 2);
    hear_ask(w, 3, words, 8);                                                 /* it is asked for a leader */
    hear_ask(w, 2, words, 12);                                                /* the leader asks, of another term then */
    hear_ask(w, 3, (struct words){.serial = 7, .nonce = 5, .origin = 4}, 16); /* passed on already */
    assert_int_equal(fake_sent(w->replica), 0);
    hear_ask(w, 3, words, 12);
    assert_int_equal(fake_sent(w->replica), 1);
    const uint8_t *data = fake_sent_data(w->replica, &to);
    assert_int_equal(to, 2);
    assert_int_equal(fake_sent_bytes(w->replica), 16);
    assert_int_equal(get_le64(data), 7);
    assert_int_equal(get_le32(data + 8), 5);
    assert_int_equal(get_le32(data + 12), 3);
    hear_answer(w, 2, (struct words){.serial = 7, .index = 9, .nonce = 5, .origin = 3});
    assert_int_equal(fake_sent(w->replica), 2);
    data = fake_sent_data(w->replica, &to);
    assert_int_equal(to, 3);
    assert_int_equal(get_le64(data + 8), 9);
    assert_int_equal(get_le32(data + 20), 3);
    turn_end(w);
    world_free(w);
}

static void test_what_was_passed_on_is_answered_the_same_way(void **state)
{
    (void)state;
    struct world *w = serving_world(2);
    uint32_t to;
    turn_begin(w, MS);
    size_t before = fake_sent(w->replica);
    hear_ask(w, 3, (struct words){.serial = 7, .nonce = 5, .origin = 4}, 16);
    assert_int_equal(fake_sent(w->replica), before); /* not before a majority has said that this node leads */
    settle(w);
    assert_int_equal(fake_sent(w->replica), before + 1);
    const uint8_t *data = fake_sent_data(w->replica, &to);
    assert_int_equal(to, 3);
    assert_int_equal(fake_sent_bytes(w->replica), 24);
    assert_int_equal(get_le64(data), 7);
    assert_true(get_le64(data + 8) > 0);
    assert_int_equal(get_le32(data + 16), 5);
    assert_int_equal(get_le32(data + 20), 4);
    turn_begin(w, MS);
    hear_ask(w, 3, (struct words){.serial = 8, .nonce = 5}, 12);
    settle(w);
    assert_int_equal(fake_sent(w->replica), before + 2);
    assert_int_equal(fake_sent_bytes(w->replica), 16); /* nothing was in between */
    world_free(w);
}

/* Of any other length than those there are, whatever stands in it; and from or to whoever is no node. */
static void test_words_of_no_form_say_nothing(void **state)
{
    (void)state;
    char group[] = "a";
    uint32_t shard;
    struct call *c;
    uint8_t absurd[64];
    memset(absurd, 0xff, sizeof(absurd));
    struct world *asked = serving_world(2);
    turn_begin(asked, MS);
    size_t before = fake_sent(asked->replica);
    for (size_t len = 0; len <= sizeof(absurd); len++) {
        if (len != 8 && len != 12 && len != 16)
            fake_message(asked->replica, 3, COORD_CHANNEL_BARRIER_ASK, absurd, len);
    }
    settle(asked);
    assert_int_equal(fake_sent(asked->replica), before);
    turn_begin(asked, MS);
    hear_ask(asked, 77, (struct words){.serial = UINT64_MAX, .nonce = UINT32_MAX, .origin = UINT32_MAX}, 16);
    settle(asked);
    world_free(asked);
    struct world *w = cut_world(group, &shard, &c);
    struct words words = until_all_are_asked(w);
    put_le32(absurd + 16, words.nonce);
    put_le32(absurd + 20, words.origin);
    for (size_t len = 0; len <= sizeof(absurd); len++) {
        if (len != 16 && len != 24)
            fake_message(w->replica, 2, COORD_CHANNEL_BARRIER_ANSWER, absurd, len);
    }
    hear_answer(w, 2, (struct words){.serial = UINT64_MAX, .nonce = words.nonce, .origin = 77});
    hear_answer(w, 2, (struct words){.serial = UINT64_MAX, .nonce = words.nonce, .origin = 0});
    settle(w);
    assert_int_equal(c->done, 0);
    hear_answer(w, 2, words);
    settle(w);
    assert_int_equal(c->done, 1);
    call_free(c);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_not_answered_asks_by_way_of_others),
        cmocka_unit_test(test_who_is_behind_gives_the_shard_to_who_passed_it_on),
        cmocka_unit_test(test_a_question_is_passed_on),
        cmocka_unit_test(test_what_was_passed_on_is_answered_the_same_way),
        cmocka_unit_test(test_words_of_no_form_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
