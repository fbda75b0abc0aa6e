/* kafka_test.c: beside what Apache Kafka 4.4.0 did: kafka_steps.txt has joins and leaves there, of settled groups and of such whose
 * members had not yet all taken what they were to have.
 *
 * Whom it gives the odd task and where among equals a copy goes depends there on the order of hash tables, so only what does not is compared: how many tasks
 * each member has, how many moved, how many copies there are. Where Kafka's own result is uneven (processes with different numbers of members), ours is not. */
#include "shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line: subtopologies ("4s,3": 4 tasks with state, 3 without), replicas, processes, members, active tasks that moved; then for each member its
 * process, the tasks and the standbys it had, and how many of each it got ("0:0,1:4:2:1"). */
struct step {
    struct shape shape;
    int32_t moves;
    int32_t active[SHAPE_MEMBERS], standby[SHAPE_MEMBERS];
};

static const char *path;

static void read_tasks(struct shape_list *list, char *text)
{
    char *place = NULL;
    for (char *word = strtok_r(text, ",", &place); word != NULL && strcmp(word, "-") != 0; word = strtok_r(NULL, ",", &place)) {
        shape_list_add(list, (int32_t)strtol(word, NULL, 10));
    }
}

static void read_subtopologies(struct shape *s, char *text, int32_t processes)
{
    struct assign_subtopology subtopologies[SHAPE_SUBTOPOLOGIES];
    int32_t count = 0;
    char *place = NULL;
    for (char *word = strtok_r(text, ",", &place); word != NULL; word = strtok_r(NULL, ",", &place)) {
        assert_true(count < SHAPE_SUBTOPOLOGIES);
        subtopologies[count++] = (struct assign_subtopology){(int32_t)strtol(word, NULL, 10), word[strlen(word) - 1] == 's'};
    }
    shape_init(s, subtopologies, count, processes);
}

static void read_step(struct step *step, const char *line)
{
    char subtopologies[64], active[512], standby[512];
    int32_t replicas, processes, members, process;
    int at = 0, length = 0;
    assert_int_equal(sscanf(line, "%63s %d %d %d %d%n", subtopologies, &replicas, &processes, &members, &step->moves, &at), 5);
    read_subtopologies(&step->shape, subtopologies, processes);
    step->shape.standby_replicas = replicas;
    for (int32_t m = 0; m < members; m++) {
        assert_int_equal(sscanf(line + at, " %d:%511[^:]:%511[^:]:%d:%d%n", &process, active, standby, &step->active[m], &step->standby[m],
                                &length),
                         5);
        at += length;
        struct shape_member *member = shape_join(&step->shape, process);
        read_tasks(&member->active, active);
        read_tasks(&member->standby, standby);
    }
}

static int number_cmp(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static bool compare_step(struct step *step)
{
    struct shape *s = &step->shape;
    int32_t ours[SHAPE_MEMBERS], moves = 0, copies = 0, n = s->member_count;
    shape_assign(s);
    for (int32_t m = 0; m < n; m++) {
        ours[m] = s->shares[m].active_len;
        copies += s->shares[m].standby_len - step->standby[m];
    }
    for (int32_t t = 0; t < s->tasks; t++) {
        int32_t was = shape_was_active(s, t);
        moves += was >= 0 && was != shape_owner(s, t);
    }
    qsort(ours, (size_t)n, sizeof(int32_t), number_cmp);
    qsort(step->active, (size_t)n, sizeof(int32_t), number_cmp);
    assert_int_equal(copies, 0);
    assert_true(ours[n - 1] - ours[0] <= 1);
    if (step->active[n - 1] - step->active[0] > 1) {
        return false;
    }
    assert_memory_equal(ours, step->active, (size_t)n * sizeof(int32_t));
    assert_int_equal(moves, step->moves);
    return true;
}

static void test_steps(void **state)
{
    (void)state;
    char line[4096];
    int same = 0, uneven = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        struct step step;
        read_step(&step, line);
        if (compare_step(&step)) {
            same++;
        } else {
            uneven++;
        }
        shape_fini(&step.shape);
    }
    fclose(f);
    assert_true(same > 600);
    assert_in_range(uneven, 1, same / 10);
}

int run_kafka_tests(const char *steps)
{
    path = steps;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests_name("kafka", tests, NULL, NULL);
}
