/* What a shard's leader does next for the members that the cluster wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Wishes and members as words: "1v 2v 4l" are nodes that are to be, or are, voters and learners; 'j' joining, 'x' leaving; '?' behind a member: it does not
 * answer. The leader is the first member. */
static size_t read_wishes(const char *text, struct membership_wish *ret)
{
    size_t count = 0;
    for (char *end; *text != '\0'; text = *end == ' ' ? end + 1 : end) {
        uint32_t node = (uint32_t)strtoul(text, &end, 10);
        static const char letters[] = "jlvx"; /* in the order of enum member_standing */
        ret[count++] = (struct membership_wish){node, (enum member_standing)(strchr(letters, *end) - letters)};
        end++;
    }
    return count;
}

static struct membership_shard read_shard(const char *text)
{
    struct membership_shard shard = {.committed = true};
    for (char *end; *text != '\0'; text = *end == ' ' ? end + 1 : end) {
        struct membership_replica *r = &shard.v[shard.count++];
        r->node = (uint32_t)strtoul(text, &end, 10);
        r->voter = *end++ == 'v';
        r->answers = *end != '?';
        end += *end == '?';
    }
    shard.self = shard.v[0].node;
    return shard;
}

static const char *next_of(const char *wishes, const struct membership_shard *shard)
{
    static const char *const names[] = {"right", "wait", "add", "promote", "remove"};
    static char text[32];
    struct membership_wish w[CATALOG_MAX_MEMBERS];
    size_t count = read_wishes(wishes, w);
    struct membership_step step = membership_next(w, count, shard);
    assert_true(step.act == MEMBERSHIP_RIGHT || strlen(step.why) > 0);
    snprintf(text, sizeof text, step.node != 0 ? "%s %u" : "%s", names[step.act], step.node);
    return text;
}

static const char *next(const char *wishes, const char *members)
{
    struct membership_shard shard = read_shard(members);
    return next_of(wishes, &shard);
}

static bool agrees(const char *wishes, const char *members, bool committed)
{
    struct membership_wish w[CATALOG_MAX_MEMBERS];
    struct replica_member m[CATALOG_MAX_MEMBERS];
    size_t count = read_wishes(wishes, w);
    struct membership_shard shard = read_shard(members);
    for (size_t i = 0; i < shard.count; i++) {
        m[i] = (struct replica_member){shard.v[i].node, shard.v[i].voter ? REPLICA_VOTER : REPLICA_LEARNER};
    }
    return membership_agrees(w, count, m, shard.count, committed);
}

static void nothing_is_done_at_rest(void **unused)
{
    (void)unused;
    assert_string_equal(next("1v 2v 3v", "1v 2v 3v"), "right");
    assert_string_equal(next("1v 2v 3v", "1v 2v? 3v?"), "right");
    assert_string_equal(next("1v 2v 3v 4l", "1v 2v 3v 4l"), "right");
    assert_string_equal(next("", "1v 2v 3v"), "right"); /* nobody has said anything yet: not even that nobody is wanted */
}

static void one_change_at_a_time(void **unused)
{
    (void)unused;
    struct membership_shard shard = read_shard("1v 2v 3v");
    shard.committed = false;
    assert_string_equal(next_of("1v 2v 3v 4v", &shard), "wait");
    assert_string_equal(next_of("1v 2v 3v", &shard), "wait");
}

static void a_node_comes(void **unused)
{
    (void)unused;
    assert_string_equal(next("1v 2v 3v 4j", "1v 2v 3v"), "right"); /* it has no identity yet */
    assert_string_equal(next("1v 2v 3v 4v", "1v 2v 3v"), "add 4");
    assert_string_equal(next("1v 2v 3v 4l", "1v 2v 3v"), "add 4");
    assert_string_equal(next("1v 2v 3v 4v", "1v 2v 3v 4l?"), "wait 4");
    assert_string_equal(next("1v 2v 3v 4v", "1v 2v 3v 4l"), "promote 4");
    assert_string_equal(next("1v 2v 3v 4v 5v", "1v 2v 3v 4l? 5l"), "promote 5"); /* one that does not answer holds up nobody else */
    assert_string_equal(next("1v 2v", "1v"), "add 2");
    assert_string_equal(next("1v 2v", "1v 2l"), "promote 2");
}

static void a_promotion_needs_a_majority_of_what_will_be(void **unused)
{
    (void)unused;
    assert_string_equal(next("1v 2v 3v 4v", "1v 2v 3v? 4l"), "promote 4"); /* three of four */
    assert_string_equal(next("1v 2v 3v 4v", "1v 2v? 3v? 4l"), "wait 4");   /* two of four */
    assert_string_equal(next("1v 2v 3v 4v 5v", "1v 2v 3v? 4v? 5l"), "promote 5");
    assert_string_equal(next("1v 2v 3v 4v 5v", "1v 2v? 3v? 4v? 5l"), "wait 5");
}

static void a_node_goes(void **unused)
{
    (void)unused;
    assert_string_equal(next("1v 2v 3x", "1v 2v 3v"), "remove 3");
    assert_string_equal(next("1v 2v 3x", "1v 2v 3v?"), "remove 3");
    assert_string_equal(next("1v 2v 3x", "1v 2v? 3v"), "wait 3");          /* one of two would be left */
    assert_string_equal(next("1v 2v 3v 4x", "1v 2v? 3v? 4l"), "remove 4"); /* a learner counts for nobody */
    assert_string_equal(next("1v 2v", "1v 2v 3v"), "remove 3");            /* one that was given up */
    assert_string_equal(next("1v 2v 3j", "1v 2v 3l"), "remove 3");
    assert_string_equal(next("1x 2v 3v", "1v 2v 3v"), "remove 1"); /* the leader: it hands over first */
    assert_string_equal(next("1v 2x", "1v 2v"), "remove 2");
    assert_string_equal(next("1x", "1v"), "wait 1"); /* the last one stays */
    assert_string_equal(next("1v 2v 3v 4v 5x", "1v 2v 3v? 4v? 5v"), "wait 5");
    assert_string_equal(next("1v 2v 3v 4v 5x", "1v 2v 3v 4v? 5v?"), "remove 5");
}

static void who_comes_goes_before_who_leaves(void **unused)
{
    (void)unused;
    assert_string_equal(next("1v 2v 3x 4v", "1v 2v 3v"), "add 4");
    assert_string_equal(next("1v 2v 3x 4v", "1v 2v 3v 4l"), "promote 4");
    assert_string_equal(next("1v 2v 3x 4v", "1v 2v 3v? 4l?"), "remove 3"); /* the new one does not answer: the old one goes all the same */
    assert_string_equal(next("1v 2v 3x 4v", "1v 2v 3v 4v"), "remove 3");
}

static void a_shard_agrees(void **unused)
{
    (void)unused;
    assert_true(agrees("1v 2v 3v", "1v 2v 3v", true));
    assert_false(agrees("1v 2v 3v", "1v 2v 3v", false));
    assert_false(agrees("1v 2v 3v", "1v 2v", true));
    assert_false(agrees("1v 2v", "1v 2v 3v", true));
    assert_false(agrees("1v 2v 3v", "1v 2v 3l", true));
    assert_false(agrees("1v 2v 3l", "1v 2v 3v", true));
    assert_true(agrees("1v 2v 3x", "1v 2v", true));
    assert_true(agrees("1v 2v 3j", "1v 2v", true));
    assert_false(agrees("1v 2v 3v", "1v 2v 4v", true));
    assert_false(agrees("1v 2v 3v", "", true)); /* it has just joined and was told nothing */
}

/* Whatever the beginning, leaders that do what they are told reach the end, and at each step a majority of the voters answers. */
static void every_way_ends(void **unused)
{
    (void)unused;
    struct membership_wish wishes[6];
    for (unsigned code = 0; code < 4096; code++) {
        struct membership_shard shard = read_shard("1v 2v 3v");
        for (uint32_t i = 0; i < 6; i++) {
            static const enum member_standing standings[] = {MEMBER_VOTER, MEMBER_LEARNER, MEMBER_LEAVING, MEMBER_VOTER};
            wishes[i] =
                (struct membership_wish){i + 1, i < 3 && (code >> (2 * i) & 3) == 1 ? MEMBER_VOTER : standings[code >> (2 * i) & 3]};
        }
        wishes[0].standing = MEMBER_VOTER; /* somebody stays */
        int steps = 0;
        for (; steps < 20; steps++) {
            struct membership_step step = membership_next(wishes, 6, &shard);
            if (step.act == MEMBERSHIP_RIGHT) {
                break;
            }
            assert_int_not_equal(step.act, MEMBERSHIP_WAIT); /* all answer */
            size_t at = 0;
            while (at < shard.count && shard.v[at].node != step.node) {
                at++;
            }
            if (step.act == MEMBERSHIP_ADD) {
                assert_int_equal(at, shard.count);
                shard.v[shard.count++] = (struct membership_replica){step.node, false, true};
            } else if (step.act == MEMBERSHIP_PROMOTE) {
                assert_false(shard.v[at].voter);
                shard.v[at].voter = true;
            } else {
                shard.v[at] = shard.v[--shard.count];
            }
        }
        struct replica_member members[8];
        for (size_t i = 0; i < shard.count; i++) {
            members[i] = (struct replica_member){shard.v[i].node, shard.v[i].voter ? REPLICA_VOTER : REPLICA_LEARNER};
        }
        assert_true(steps < 20 && membership_agrees(wishes, 6, members, shard.count, true));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_done_at_rest),
        cmocka_unit_test(one_change_at_a_time),
        cmocka_unit_test(a_node_comes),
        cmocka_unit_test(a_promotion_needs_a_majority_of_what_will_be),
        cmocka_unit_test(a_node_goes),
        cmocka_unit_test(who_comes_goes_before_who_leaves),
        cmocka_unit_test(a_shard_agrees),
        cmocka_unit_test(every_way_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
