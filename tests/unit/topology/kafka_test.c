/* What Kafka 4.4.0 did with random topologies, as it was recorded: TOPICS | TOPOLOGY | ANSWER. The answer is that of the first heartbeat: E130 and a text, or a
 * status (0 fine, 1 missing source topics, 2 partition counts, 3 missing internal topics) with its text; where the topology ran in the end, the tasks of each
 * subtopology and the partitions of each internal topic. Topologies in which 4.4.0 forces a fixed count upon foreign copartition groups are not among them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static const char *cases_path;

struct kafka_case {
    struct arena arena;
    struct text_topics topics;
    const topology *topology;
    struct str line, answer;
    struct resolved resolved;
};

static _Noreturn void differs(struct kafka_case *c, const char *what)
{
    fail_msg("%s: %d %.*s\n    %.*s", what, c->resolved.problem, STR_ARG(c->resolved.detail), STR_ARG(c->line));
    abort();
}

static bool begins(struct str text, const char *with)
{
    return text.len >= (int32_t)strlen(with) && memcmp(text.ptr, with, strlen(with)) == 0;
}

static void resolve(struct kafka_case *c)
{
    topology_resolve(c->topology, NULL, &c->topics.topics, &c->arena, &c->resolved);
}

static void compare_tasks(struct kafka_case *c, struct str tasks)
{
    int32_t seen = 0;
    for (struct str part; !str_is_null(part = part_of(&tasks, ","));) {
        struct str id = part_of(&part, "=");
        id = str_eq(id, STR("\"\"")) ? STR("") : id;
        for (int32_t i = 0; i < c->resolved.subtopology_count; i++) {
            if (str_eq(c->resolved.subtopologies[i].id, id)) {
                seen++;
                if (c->resolved.subtopologies[i].tasks != number_of(part)) {
                    differs(c, "tasks");
                }
            }
        }
    }
    assert_int_equal(seen, c->resolved.subtopology_count);
}

static void compare_topics(struct kafka_case *c, struct str topics)
{
    for (struct str part; topics.len > 0 && !str_is_null(part = part_of(&topics, ","));) {
        struct topic_view view;
        struct str name = part_of(&part, "=");
        if (!c->topics.topics.by_name(c->topics.topics.ctx, name, &view) || view.partitions != number_of(part)) {
            differs(c, "internal topic");
        }
    }
}

/* Runs at once, or after its topics have been made. */
static void compare_running(struct kafka_case *c, bool at_once, struct str answer)
{
    if (c->resolved.problem != (at_once ? TOPOLOGY_FINE : TOPOLOGY_MISSING_INTERNAL)) {
        differs(c, "status");
    }
    if (!at_once) {
        topics_create(&c->topics, topology_creation(&c->resolved, &c->arena));
        resolve(c);
    }
    if (c->resolved.problem != TOPOLOGY_FINE) {
        differs(c, "not fine in the end");
    }
    (void)part_of(&answer, "tasks ");
    struct str tasks = part_of(&answer, " made ");
    compare_tasks(c, tasks);
    compare_topics(c, answer);
}

static void compare(struct kafka_case *c)
{
    const struct group_settings settings = {0};
    struct str problem;
    struct str answer = c->answer;
    int16_t error = topology_check(c->topology, &settings, &c->arena, &problem);
    if (begins(answer, "E130 ")) {
        (void)part_of(&answer, " ");
        if (error != 130 || !str_eq(problem, answer)) {
            differs(c, "not refused as by Kafka");
        }
        return;
    }
    if (error != 0) {
        differs(c, "refused");
    }
    resolve(c);
    struct str status = part_of(&answer, " ");
    if (str_eq(status, STR("0")) || str_eq(status, STR("3"))) {
        compare_running(c, str_eq(status, STR("0")), answer);
    } else if ((int32_t)c->resolved.problem != number_of(status) || !str_eq(c->resolved.detail, answer)) {
        differs(c, "status");
    }
}

static void recorded(void **state)
{
    (void)state;
    static char line[8192];
    int count = 0;
    FILE *file = fopen(cases_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        struct kafka_case c = {.line = {line, (int32_t)strcspn(line, "\n")}};
        if (line[0] == '#' || c.line.len == 0) {
            continue;
        }
        arena_init(&c.arena, 0);
        topics_init(&c.topics);
        c.answer = c.line;
        topics_of_text(&c.topics, part_of(&c.answer, " | "));
        struct str text = part_of(&c.answer, " | ");
        c.topology = topology_of_text(arena_printf(&c.arena, "%.*s", STR_ARG(text)).ptr, &c.arena);
        compare(&c);
        arena_fini(&c.arena);
        count++;
    }
    fclose(file);
    assert_true(count >= 300);
}

int run_kafka_tests(const char *path)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded)};
    cases_path = path;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
