/* mixed_test.c: the uniform assignor where members subscribe to different topics, beside a slow twin: each member has as many partitions, no more of them
 * move; and no partition could go to another subscriber and make them more even. */
#include "crowd.h"

#include <string.h>

/* ---- the twin: one partition at a time, everything looked for anew --------------------------------------------------------------------- */

struct twin {
    const struct crowd *c;
    int32_t order[CROWD_MEMBERS]; /* members as they are taken */
    int32_t rank[CROWD_MEMBERS];
    int32_t owner[CROWD_TOPICS][CROWD_PARTITIONS];
    int32_t load[CROWD_MEMBERS];
    bool fresh[CROWD_PARTITIONS]; /* received while a topic is being evened out */
};

/* Where Kafka's hash tables have the member: the one that the assignor is given, then the one it comes from. */
static uint64_t place_of(const struct crowd *c, int32_t member)
{
    uint32_t hash = 0, buckets = 16, slots = 2;
    while (c->member_count * 4 > (int32_t)buckets * 3) {
        buckets *= 2;
    }
    while (c->member_count * 3 > (int32_t)slots * 4) {
        slots *= 2;
    }
    for (const char *s = c->members[member].id; *s != '\0'; s++) {
        hash = 31 * hash + (unsigned char)*s;
    }
    uint64_t product = (uint64_t)(int64_t)(int32_t)hash * 11400714819323198485u;
    uint32_t slot = 0;
    for (uint32_t half = slots / 2; half > 0; half /= 2, product <<= 1) {
        slot += product >> 63 != 0 ? half : 0;
    }
    return ((uint64_t)((hash ^ hash >> 16) % buckets) << 32) + slot;
}

static void twin_order(struct twin *t)
{
    int32_t n = t->c->member_count;
    for (int32_t m = 0; m < n; m++) {
        t->rank[m] = 0;
        for (int32_t other = 0; other < n; other++) {
            uint64_t mine = place_of(t->c, m), its = place_of(t->c, other);
            t->rank[m] += its < mine || (its == mine && other > m);
        }
        t->order[t->rank[m]] = m;
    }
}

static int32_t subscribers(const struct crowd *c, int32_t topic)
{
    int32_t count = 0;
    for (int32_t m = 0; m < c->member_count; m++) {
        count += c->members[m].wants[topic];
    }
    return count;
}

static bool goes_before(const struct crowd *c, int32_t a, int32_t b)
{
    int32_t left = c->partitions[a] * subscribers(c, b), right = c->partitions[b] * subscribers(c, a);
    if (left != right) {
        return left > right;
    }
    return subscribers(c, a) != subscribers(c, b) ? subscribers(c, a) < subscribers(c, b) : a < b;
}

static int32_t topics_in_order(const struct crowd *c, int32_t *topics)
{
    int32_t count = 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        int32_t place = 0;
        for (int32_t other = 0; other < c->topic_count; other++) {
            place += crowd_wanted(c, other) && goes_before(c, other, t);
        }
        if (crowd_wanted(c, t)) {
            topics[place] = t;
            count++;
        }
    }
    return count;
}

/* The subscribers by load, then rank. */
static int32_t twin_line(const struct twin *t, int32_t topic, int32_t *line)
{
    int32_t len = 0;
    for (int32_t r = 0; r < t->c->member_count; r++) {
        int32_t m = t->order[r], at = len;
        if (!t->c->members[m].wants[topic]) {
            continue;
        }
        for (; at > 0 && t->load[line[at - 1]] > t->load[m]; at--) {
            line[at] = line[at - 1];
        }
        line[at] = m;
        len++;
    }
    return len;
}

static int32_t lowest(const struct twin *t, const int32_t *line, int32_t len)
{
    int32_t best = line[0];
    for (int32_t i = 1; i < len; i++) {
        best = t->load[line[i]] < t->load[best] ? line[i] : best;
    }
    return best;
}

static void twin_deal(struct twin *t, int32_t topic)
{
    int32_t line[CROWD_MEMBERS], len = twin_line(t, topic, line);
    for (int32_t p = 0; p < t->c->partitions[topic]; p++) {
        if (t->owner[topic][p] == CROWD_NOBODY) {
            t->owner[topic][p] = lowest(t, line, len);
            t->load[t->owner[topic][p]]++;
        }
    }
}

/* The last partition that the member has to give. */
static int32_t to_give(const struct twin *t, int32_t topic, int32_t member)
{
    int32_t p = t->c->partitions[topic] - 1;
    while (p >= 0 && (t->owner[topic][p] != member || t->fresh[p])) {
        p--;
    }
    return p;
}

/* Those who have most give in turns, from the last to the first; who has nothing to give is replaced by the last one, who has had its turn. */
static bool twin_even_out(struct twin *t, int32_t topic)
{
    int32_t line[CROWD_MEMBERS], rest[CROWD_MEMBERS], givers[CROWD_MEMBERS], len = twin_line(t, topic, line), left = len, count = 0;
    int32_t level = t->load[line[len - 1]] + 1;
    bool moved = false;
    memcpy(rest, line, sizeof(line));
    memset(t->fresh, 0, sizeof(t->fresh));
    while (count > 0 || left > 0) {
        level = count == 0 ? t->load[rest[left - 1]] : level - 1;
        while (left > 0 && t->load[rest[left - 1]] == level) {
            memmove(&givers[1], &givers[0], (size_t)count * sizeof(givers[0]));
            givers[0] = rest[--left];
            count++;
        }
        for (int32_t i = count - 1; i >= 0; i--) {
            int32_t from = givers[i], to = lowest(t, line, len), p = to_give(t, topic, from);
            if (p < 0) {
                givers[i] = givers[--count];
                continue;
            }
            if (t->load[from] - t->load[to] <= 1) {
                return moved;
            }
            t->owner[topic][p] = to;
            t->fresh[p] = moved = true;
            t->load[from]--;
            t->load[to]++;
        }
    }
    return moved;
}

static void twin_assign(struct twin *t, const struct crowd *c)
{
    int32_t topics[CROWD_TOPICS], count = topics_in_order(c, topics);
    memset(t, 0, sizeof(*t));
    memset(t->owner, -1, sizeof(t->owner));
    t->c = c;
    twin_order(t);
    for (int32_t k = 0; k < c->topic_count; k++) {
        for (int32_t p = 0; p < c->partitions[k]; p++) {
            /* Of two that had it, the first in order. */
            for (int32_t r = 0; r < c->member_count && t->owner[k][p] == CROWD_NOBODY; r++) {
                const struct crowd_member *m = &c->members[t->order[r]];
                t->owner[k][p] = m->had[k][p] && m->wants[k] ? t->order[r] : CROWD_NOBODY;
            }
            if (t->owner[k][p] != CROWD_NOBODY) {
                t->load[t->owner[k][p]]++;
            }
        }
    }
    for (int32_t i = 0; i < count; i++) {
        twin_deal(t, topics[i]);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (int32_t i = 0; i < count; i++) {
            moved = twin_even_out(t, topics[i]) || moved;
        }
    }
}

static int32_t twin_moves(const struct twin *t)
{
    int32_t moves = 0;
    for (int32_t k = 0; k < t->c->topic_count; k++) {
        for (int32_t p = 0; p < t->c->partitions[k]; p++) {
            int32_t was = crowd_was(t->c, k, p);
            moves += was != CROWD_NOBODY && t->owner[k][p] != was;
        }
    }
    return moves;
}

/* ---- what holds ------------------------------------------------------------------------------------------------------------------------- */

static void expect_even(const struct crowd *c)
{
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t]; p++) {
            for (int32_t m = 0; crowd_wanted(c, t) && m < c->member_count; m++) {
                assert_true(!c->members[m].wants[t] || crowd_holds(c, c->owner[t][p]) - crowd_holds(c, m) <= 1);
            }
        }
    }
}

/* Nobody gave up a partition and got another one for it, of the topic or one with the same subscribers. */
static void expect_stays(const struct crowd *c)
{
    bool came[CROWD_MEMBERS][CROWD_TOPICS] = {{false}}, went[CROWD_MEMBERS][CROWD_TOPICS] = {{false}};
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t] && crowd_wanted(c, t); p++) {
            int32_t was = crowd_was(c, t, p);
            if (was != c->owner[t][p]) {
                came[c->owner[t][p]][t] = true;
            }
            if (was != CROWD_NOBODY && was != c->owner[t][p]) {
                went[was][t] = true;
            }
        }
    }
    for (int32_t m = 0; m < c->member_count; m++) {
        for (int32_t t = 0; t < c->topic_count; t++) {
            for (int32_t other = 0; other < c->topic_count; other++) {
                assert_false(went[m][t] && came[m][other] && crowd_kindred(c, t, other));
            }
        }
    }
}

static void check(struct crowd *c, int *ret_fewer)
{
    static struct twin twin;
    crowd_assign(c);
    expect_even(c);
    expect_stays(c);
    if (crowd_alike(c)) {
        return;
    }
    twin_assign(&twin, c);
    for (int32_t m = 0; m < c->member_count; m++) {
        assert_int_equal(crowd_holds(c, m), twin.load[m]);
    }
    assert_true(crowd_moves(c) <= twin_moves(&twin));
    *ret_fewer += crowd_moves(c) < twin_moves(&twin);
}

static void lives(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    int fewer = 0;
    prng_seed(&p, 3);
    for (int life = 0; life < 300; life++) {
        struct crowd_bounds b = {.topics = 1 + life % CROWD_TOPICS,
                                 .partitions = 1 + life % 25,
                                 .members = 2 + life % 35,
                                 .mixed = life % 10 > 0};
        crowd_draw(&c, &p, ASSIGNOR_UNIFORM, b);
        c.mixed = life % 5 == 0;
        for (int step = 0; step < 10; step++) {
            check(&c, &fewer);
            crowd_take(&c);
            crowd_assign(&c);
            assert_int_equal(crowd_moves(&c), 0);
            crowd_change(&c, &p, b);
        }
        crowd_fini(&c);
    }
    assert_true(fewer > 20);
}

/* Few kinds of members, so that several topics have the same subscribers. */
static void any_history(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    int fewer = 0;
    prng_seed(&p, 31);
    for (int round = 0; round < 1500; round++) {
        struct crowd_bounds b = {.topics = 8, .partitions = round % 2 == 0 ? 6 : 20, .members = round % 4 < 2 ? 6 : 20, .mixed = true};
        crowd_draw(&c, &p, ASSIGNOR_UNIFORM, b);
        for (int32_t m = 3; round % 3 > 0 && m < c.member_count; m++) {
            memcpy(c.members[m].wants, c.members[m % 3].wants, sizeof(c.members[m].wants));
        }
        crowd_draw_had(&c, &p);
        for (int step = 0; step < 2; step++) {
            check(&c, &fewer);
            crowd_take(&c);
            crowd_change(&c, &p, b);
        }
        crowd_fini(&c);
    }
}

/* One had 256 partitions and more, one some. */
static void one_had_much(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    int fewer = 0;
    prng_seed(&p, 5);
    for (int round = 0; round < 40; round++) {
        crowd_draw(&c, &p, ASSIGNOR_UNIFORM, (struct crowd_bounds){.topics = CROWD_TOPICS, .partitions = 64, .members = 30, .mixed = true});
        for (int32_t m = 0; m < c.member_count && m < 2; m++) {
            for (int32_t t = 0; t < c.topic_count; t++) {
                c.partitions[t] = 64 - (round + t) % 3;
                c.members[m].wants[t] = true;
                memset(c.members[m].had[t], (t < 5 && m == 0) || (t == 5 && m == 1), sizeof(c.members[m].had[t]));
            }
        }
        check(&c, &fewer);
        crowd_fini(&c);
    }
}

/* Who subscribes to what nobody else does has it all; the others share the rest as evenly as that leaves them. */
static void one_has_more(void **state)
{
    (void)state;
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_UNIFORM, 2);
    c.partitions[0] = 9;
    c.partitions[1] = 6;
    for (int i = 0; i < 3; i++) {
        char id[2] = {(char)('a' + i), '\0'};
        struct crowd_member *m = crowd_join(&c, id);
        m->wants[0] = i == 0;
        m->wants[1] = true;
    }
    crowd_assign(&c);
    assert_int_equal(crowd_holds(&c, 0), 9);
    assert_int_equal(crowd_holds(&c, 1), 3);
    assert_int_equal(crowd_holds(&c, 2), 3);
    crowd_fini(&c);
}

int run_mixed_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lives),
        cmocka_unit_test(any_history),
        cmocka_unit_test(one_had_much),
        cmocka_unit_test(one_has_more),
    };
    return cmocka_run_group_tests_name("mixed", tests, NULL, NULL);
}
