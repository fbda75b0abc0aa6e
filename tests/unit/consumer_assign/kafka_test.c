/* kafka_test.c: beside what the assignors of Apache Kafka 4.4.0 answered to random groups in random lives: kafka-4.4.0.txt, a line each:
 *
 *     ASSIGNOR COUNTS | MEMBER... | SHARE...
 *
 * ASSIGNOR: range, uniform, or mixed: uniform, and it was told that subscriptions differ by names, even if they are the same by topics that exist.
 * COUNTS: the partitions of each topic, 0: it is gone. MEMBER: id[@instance]:topics:what it had; topics by number, partitions as topic.partition or
 * topic.first-last, with commas; "-": none. SHARE: what the member got, in the same order.
 *
 * Range: the same partitions. Uniform with the same topics for all: the same partitions, too, as long as no topic has more than 16; above that the order of
 * hash tables decides which of its partitions a member gives up, not how many. Uniform with mixed subscriptions: each member has as many, fewer partitions
 * move, or they are the same. */
#include "crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS_IN_ORDER = 16 };

static const char *cases_path;

struct answer {
    int32_t owner[CROWD_TOPICS][CROWD_PARTITIONS];
    int32_t holds[CROWD_MEMBERS];
    int32_t moves;
};

struct tally {
    int range, alike, wide, same, better;
};

/* "0.3,1.0-2": calls for each. */
static void each_partition(char *text, void (*each)(void *ctx, int32_t topic, int32_t partition), void *ctx)
{
    char *place = NULL;
    for (char *word = strtok_r(text, ",", &place); word != NULL && strcmp(word, "-") != 0; word = strtok_r(NULL, ",", &place)) {
        int32_t topic, first, last;
        int read = sscanf(word, "%d.%d-%d", &topic, &first, &last);
        assert_true(read >= 2);
        for (int32_t p = first; p <= (read == 3 ? last : first); p++) {
            each(ctx, topic, p);
        }
    }
}

static void set_had(void *ctx, int32_t topic, int32_t partition)
{
    struct crowd_member *m = ctx;
    m->had[topic][partition] = true;
}

static void read_member(struct crowd *c, char *word)
{
    char *place = NULL, *number = NULL;
    char *id = strtok_r(word, ":", &place), *topics = strtok_r(NULL, ":", &place), *had = strtok_r(NULL, ":", &place);
    char *instance = strchr(id, '@');
    if (instance != NULL) {
        *instance++ = '\0';
    }
    struct crowd_member *m = crowd_join(c, id);
    assert_non_null(m);
    assert_ptr_equal(m, &c->members[c->member_count - 1]);
    m->is_static = instance != NULL;
    (void)snprintf(m->instance, sizeof(m->instance), "%s", instance != NULL ? instance : "");
    for (char *topic = strtok_r(topics, ",", &number); topic != NULL && strcmp(topic, "-") != 0; topic = strtok_r(NULL, ",", &number)) {
        m->wants[strtol(topic, NULL, 10)] = true;
    }
    each_partition(had, set_had, m);
}

struct share {
    struct answer *answer;
    int32_t member;
};
static void set_share(void *ctx, int32_t topic, int32_t partition)
{
    struct share *s = ctx;
    s->answer->owner[topic][partition] = s->member;
    s->answer->holds[s->member]++;
}

static void read_case(struct crowd *c, struct answer *a, char *line)
{
    char *place = NULL, *word = NULL, *number = NULL;
    char *head = strtok_r(line, "|", &place), *members = strtok_r(NULL, "|", &place), *shares = strtok_r(NULL, "|", &place);
    enum consumer_assignor assignor;
    char *name = strtok_r(head, " ", &word);
    bool mixed = strcmp(name, "mixed") == 0;
    assert_true(consumer_assignor_find(str_of(mixed ? "uniform" : name), &assignor));
    crowd_init(c, assignor, 0);
    c->mixed = mixed;
    for (char *count = strtok_r(strtok_r(NULL, " ", &word), ",", &number); count != NULL; count = strtok_r(NULL, ",", &number)) {
        c->partitions[c->topic_count++] = (int32_t)strtol(count, NULL, 10);
    }
    for (char *m = strtok_r(members, " ", &word); m != NULL; m = strtok_r(NULL, " ", &word)) {
        read_member(c, m);
    }
    memset(a, 0, sizeof(*a));
    memset(a->owner, -1, sizeof(a->owner));
    struct share share = {a, 0};
    for (char *s = strtok_r(shares, " \n", &word); s != NULL; s = strtok_r(NULL, " \n", &word), share.member++) {
        each_partition(s, set_share, &share);
    }
    assert_int_equal(share.member, c->member_count);
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t]; p++) {
            int32_t was = crowd_was(c, t, p);
            a->moves += was != CROWD_NOBODY && a->owner[t][p] != was;
        }
    }
}

static bool wide(const struct crowd *c)
{
    bool is = false;
    for (int32_t t = 0; t < c->topic_count; t++) {
        is = is || c->partitions[t] > PARTITIONS_IN_ORDER;
    }
    return is;
}

static void compare(const struct crowd *c, const struct answer *a, const char *line, struct tally *tally)
{
    bool same = memcmp(c->owner, a->owner, sizeof(a->owner)) == 0, alike = crowd_alike(c), range = c->assignor == ASSIGNOR_RANGE;
    int32_t moves = crowd_moves(c);
    bool fair = same;
    if (!range && !same) {
        fair = alike ? wide(c) && moves == a->moves : moves < a->moves;
        for (int32_t m = 0; m < c->member_count; m++) {
            fair = fair && crowd_holds(c, m) == a->holds[m];
        }
    }
    if (!fair) {
        fail_msg("%d moves, not %d: %s", moves, a->moves, line);
    }
    tally->range += range;
    tally->alike += !range && alike && same;
    tally->wide += !range && alike && !same;
    tally->same += !range && !alike && same;
    tally->better += !range && !alike && !same;
}

static void recorded(void **state)
{
    (void)state;
    static char line[16384], text[16384];
    struct tally tally = {0};
    FILE *file = fopen(cases_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] == '#' || line[0] == '\n') {
            continue;
        }
        static struct crowd c;
        static struct answer a;
        memcpy(text, line, sizeof(line));
        read_case(&c, &a, text);
        crowd_assign(&c);
        compare(&c, &a, line, &tally);
        crowd_fini(&c);
    }
    (void)fclose(file);
    assert_true(tally.range > 100 && tally.alike > 100 && tally.same > 100);
    assert_in_range(tally.wide, 1, 20);
    assert_in_range(tally.better, 1, 10);
}

int run_kafka_tests(const char *cases)
{
    cases_path = cases;
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded)};
    return cmocka_run_group_tests_name("kafka", tests, NULL, NULL);
}
