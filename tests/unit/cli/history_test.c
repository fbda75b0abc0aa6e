/* history_test.c: what people read of a group's rebalances: the sentence of each cause, and the tables. The answers are made up. */
#include "run.h"

#include "history_view.h"

#include <muster/group.h>

typedef struct group_history_response_cause cause;
typedef struct group_history_response_count cause_count;
typedef struct group_history_response_move move;

static int setup(void **state)
{
    struct arena *arena = calloc(1, sizeof(*arena));
    assert_non_null(arena);
    arena_init(arena, 0);
    *state = arena;
    return 0;
}

static int teardown(void **state)
{
    arena_fini(*state);
    free(*state);
    return 0;
}

/* 2023-11-14T22:13:20Z */
enum { CLOCK_MS = 5000, SECONDS = 1700000000 };

static cause made_cause(const char *name)
{
    return (cause){.cause = str_of(name),
                   .clock_ms = CLOCK_MS,
                   .wall_ms = SECONDS * INT64_C(1000),
                   .epoch = 4,
                   .member_id = STR("m-1"),
                   .client_id = STR("app"),
                   .host = STR("/10.0.0.1"),
                   .instance_id = STR_NULL,
                   .reason = STR_NULL,
                   .timeout_ms = -1,
                   .by_client_id = STR_NULL,
                   .by_host = STR_NULL};
}

/* A rebalance of a classic group, from generation 3 to 4, over after 1.2 s; each cause counts once. */
static history_rebalance made_rebalance(struct arena *arena, cause *causes, int32_t count)
{
    cause_count *counts = ARENA_NEW(arena, cause_count, count);
    for (int32_t i = 0; i < count; i++) {
        counts[i] = (cause_count){causes[i].cause, 1};
    }
    return (history_rebalance){.rebalance = 7,
                               .group_type = STR("classic"),
                               .began_clock_ms = CLOCK_MS,
                               .began_wall_ms = SECONDS * INT64_C(1000),
                               .epoch_before = 3,
                               .epoch_after = 4,
                               .members = 2,
                               .prepared_clock_ms = CLOCK_MS + 1000,
                               .settled_clock_ms = CLOCK_MS + 1250,
                               .last_member_id = STR("m-2"),
                               .moved = 2,
                               .causes = {causes, count},
                               .counts = {counts, count}};
}

static history_answer made_answer(history_rebalance *r, int32_t count)
{
    return (history_answer){.error_message = STR_NULL,
                            .group_type = STR("classic"),
                            .group_state = STR("Stable"),
                            .epoch = 4,
                            .clock_ms = CLOCK_MS + 61500,
                            .recorded = true,
                            .rebalances = {r, count}};
}

static void assert_why(const history_rebalance *r, const char *expected, struct arena *arena)
{
    history_rebalance one = *r;
    history_answer h = made_answer(&one, 1);
    struct str why = history_why(STR("g"), &h, arena);
    assert_string_equal(arena_printf(arena, "%.*s", STR_ARG(why)).ptr, expected);
}

/* ---- the causes ---------------------------------------------------------------------------------------------------------------------- */

#define WHO "member m-1 (client app at /10.0.0.1)"

static const struct words {
    const char *cause, *text;
    int32_t timeout_ms;
} words[] = {
    {"other", "of other", -1},
    {"member_joined", WHO " joined", -1},
    {"member_left", WHO " left", -1},
    {"session_expired", WHO " was not heard of for 45 s", 45000},
    {"rebalance_timeout", WHO " did not rejoin within 5 min 0 s", 300000},
    {"sync_timeout", WHO " did not sync within its time", -1},
    {"revocation_timeout", WHO " did not give up what it had to within 999 ms", 999},
    {"subscription_changed", WHO " changed its subscription", -1},
    {"leader_rejoined", "the leader, " WHO ", asked for it", -1},
    {"static_member_replaced", WHO " was replaced by its instance's next process", -1},
    {"topics_changed", "the topics that it reads changed", -1},
    {"topology_changed", "its topology changed", -1},
    {"configs_changed", "its configs changed", -1},
    {"warmup_done", "a warm-up task had caught up", -1},
    {"group_converted", "it changed over to another protocol", -1},
    {"coordinator_moved", "the coordinator moved while the join of " WHO " waited", -1},
    {"admin", WHO " was removed", -1},
    {"member_changed", WHO " changed what it says of itself", -1},
};

static const struct words *words_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].cause, name) == 0) {
            return &words[i];
        }
    }
    fail_msg("no words for %s", name);
    return NULL;
}

static void each_cause_has_a_sentence(void **state)
{
    struct arena *arena = *state;
    for (int i = 0; i < GROUP_CAUSE_COUNT; i++) {
        const struct words *w = words_of(group_cause_name(i));
        cause c = made_cause(w->cause);
        c.timeout_ms = w->timeout_ms;
        history_rebalance r = made_rebalance(arena, &c, 1);
        struct str expected = arena_printf(arena,
                                           "Group g rebalanced at 2023-11-14T22:13:20.000Z (generation 3 to 4) because %s; 2 partitions "
                                           "changed hands, and it was settled after 1.2 s, with 2 members, of which m-2 was the last.",
                                           w->text);
        assert_why(&r, expected.ptr, arena);
    }
}

static void a_member_is_told_as_far_as_it_is_known(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("member_left");
    history_rebalance r = made_rebalance(arena, &c, 1);
    r.moved = 1;
    r.members = 1;
#define BEGIN "Group g rebalanced at 2023-11-14T22:13:20.000Z (generation 3 to 4) because "
#define END   "; 1 partition changed hands, and it was settled after 1.2 s, with 1 member."
    c.instance_id = STR("i-1");
    c.reason = STR("bye 'now'");
    assert_why(&r, BEGIN "static member m-1 of instance i-1 (client app at /10.0.0.1) left, saying 'bye 'now''" END, arena);
    c = made_cause("admin");
    c.by_client_id = STR("adminclient-1");
    c.by_host = STR("/10.0.0.9");
    c.client_id = STR_NULL;
    assert_why(&r, BEGIN "member m-1 was removed by client adminclient-1 at /10.0.0.9" END, arena);
    c = made_cause("member_joined");
    c.member_id = STR("");
    c.client_id = STR_NULL;
    assert_why(&r, BEGIN "a member joined" END, arena);
#undef BEGIN
#undef END
}

static void topics_are_named(void **state)
{
    struct arena *arena = *state;
    struct str names[] = {STR("orders"), STR("returns")};
    cause c = made_cause("topics_changed");
    history_rebalance r = made_rebalance(arena, &c, 1);
    history_answer h = made_answer(&r, 1);
    c.topics.v = names;
    c.topics.len = 1;
    assert_non_null(strstr(history_why(STR("g"), &h, arena).ptr, "because the topics that it reads changed (orders); 2 partitions"));
    c.topics.len = 2;
    c.topics_more = 3;
    assert_non_null(strstr(history_why(STR("g"), &h, arena).ptr, "changed (orders,returns and 3 more); 2 partitions"));
    struct cli cli;
    struct run run;
    cli_begin(&cli, &run, false);
    history_print(&cli, STR("g"), &h, 0);
    cli_end(&cli, &run, CLI_OK);
    assert_non_null(strstr(run.out, "  /10.0.0.1  orders,returns and 3 more\n"));
    run_fini(&run);
    json_t *one = history_json(STR("g"), &h, arena);
    json_t *told = json_array_get(json_object_get(json_array_get(json_object_get(one, "rebalances"), 0), "causes"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(told, "topics"), 1)), "returns");
    assert_int_equal(json_integer_value(json_object_get(told, "topicsNotTold")), 3);
    json_decref(one);
}

static void many_causes_are_counted(void **state)
{
    struct arena *arena = *state;
    cause causes[] = {made_cause("member_joined"), made_cause("member_left"), made_cause("session_expired"), made_cause("admin")};
    history_rebalance r = made_rebalance(arena, causes, 2);
    assert_non_null(strstr(history_why(STR("g"), &(history_answer){.rebalances = {&r, 1}}, arena).ptr,
                           "because " WHO " joined, and " WHO " left; 2 partitions"));
    r = made_rebalance(arena, causes, 4);
    r.counts.v[0].count = 5;
    assert_non_null(
        strstr(history_why(STR("g"), &(history_answer){.rebalances = {&r, 1}}, arena).ptr,
               " was not heard of for its time, and of 5 more (in all member_joined x5, member_left, session_expired, admin);"));
    r = made_rebalance(arena, causes, 0);
    assert_non_null(
        strstr(history_why(STR("g"), &(history_answer){.rebalances = {&r, 1}}, arena).ptr, "because of what the history does not tell; "));
}

/* What a reset that fences does to many members is said once. */
static void causes_that_differ_in_the_member_only_are_one(void **state)
{
    struct arena *arena = *state;
    cause causes[6];
    for (int i = 0; i < 5; i++) {
        causes[i] = made_cause("admin");
        causes[i].member_id = arena_printf(arena, "m-%d", i);
        causes[i].by_client_id = STR("muster");
        causes[i].by_host = STR("/10.0.0.9");
        causes[i].reason = STR("offsets reset g --fence");
    }
    history_rebalance r = made_rebalance(arena, causes, 5);
    r.counts.v[0].count = 5;
    r.counts.len = 1;
#define BEGIN "Group g rebalanced at 2023-11-14T22:13:20.000Z (generation 3 to 4) because "
#define BY    " were removed by client muster at /10.0.0.9, saying 'offsets reset g --fence'"
#define END   "; 2 partitions changed hands, and it was settled after 1.2 s, with 2 members, of which m-2 was the last."
#define THREE "members m-0 (client app at /10.0.0.1), m-1 (client app at /10.0.0.1), m-2 (client app at /10.0.0.1) and "
    assert_why(&r, BEGIN THREE "2 more" BY END, arena);
    r.counts.v[0].count = 40; /* only so many are listed */
    assert_why(&r, BEGIN THREE "37 more" BY END, arena);
    r.causes.len = 1;
    assert_why(&r, BEGIN "members m-0 (client app at /10.0.0.1) and 39 more" BY END, arena);
    r.causes.len = 2;
    r.counts.v[0].count = 2;
    assert_why(&r, BEGIN "members m-0 (client app at /10.0.0.1) and m-1 (client app at /10.0.0.1)" BY END, arena);
    r = made_rebalance(arena, causes, 4);
    causes[1].reason = STR("another");
    causes[2].reason = STR("another");
    causes[3] = made_cause("member_joined");
    r.counts.v[0].count = 3;
    r.counts.v[1] = (cause_count){STR("member_joined"), 1};
    r.counts.len = 2;
    assert_why(&r,
               BEGIN "member m-0 (client app at /10.0.0.1) was removed by client muster at /10.0.0.9, saying 'offsets reset g --fence', "
                     "members m-1 (client app at /10.0.0.1) and m-2 (client app at /10.0.0.1) were removed by client muster at /10.0.0.9, "
                     "saying 'another', and member m-1 (client app at /10.0.0.1) joined" END,
               arena);
#undef BEGIN
#undef BY
#undef END
#undef THREE
}

static void what_came_of_it(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("warmup_done");
    history_rebalance r = made_rebalance(arena, &c, 1);
    r.group_type = STR("streams");
    r.settled_clock_ms = -1;
#define SINCE   "Group g rebalances since 2023-11-14T22:13:20.000Z "
#define BECAUSE " because a warm-up task had caught up; "
    assert_why(&r, SINCE "(epoch 3 to 4)" BECAUSE "2 tasks changed hands, and it is not settled yet, after 1 min 1 s.", arena);
    r.moved = 0;
    assert_why(&r, SINCE "(epoch 3 to 4)" BECAUSE "it is not settled yet, after 1 min 1 s.", arena);
    r.epoch_after = 3; /* a classic group's generation comes when all have joined */
    assert_why(&r, SINCE "(from epoch 3 on)" BECAUSE "it is not settled yet, after 1 min 1 s.", arena);
    r.epoch_after = 4;
    r.settled_clock_ms = CLOCK_MS + 3;
    r.members = 0;
    assert_why(&r, "Group g rebalanced at 2023-11-14T22:13:20.000Z (epoch 3 to 4)" BECAUSE "no task changed hands, and nobody is left.",
               arena);
#undef SINCE
#undef BECAUSE
}

/* Who comes into a group that a reset has emptied is not why it rebalanced; who reset it is. */
static void what_emptied_it_is_said_too(void **state)
{
    struct arena *arena = *state;
    cause admin = made_cause("admin"), joined = made_cause("member_joined");
    admin.by_client_id = STR("muster");
    admin.by_host = STR("/10.0.0.9");
    history_rebalance both[] = {made_rebalance(arena, &admin, 1), made_rebalance(arena, &joined, 1)};
    history_answer h = made_answer(both, 2);
    const char *emptied = " It had been empty since 2023-11-14T22:13:20.000Z, because " WHO " was removed by client muster at /10.0.0.9.";
    assert_null(strstr(history_why(STR("g"), &h, arena).ptr, "empty"));
    both[0].members = 0;
    const char *said = strstr(history_why(STR("g"), &h, arena).ptr, emptied);
    assert_non_null(said);
    assert_int_equal(strlen(said), strlen(emptied));
    both[0].settled_clock_ms = -1;
    assert_null(strstr(history_why(STR("g"), &h, arena).ptr, "empty"));
}

/* Who is behind the group's epoch keeps the others waiting; when nobody is, who lacks something does. */
static void whom_it_waits_for(void **state)
{
    struct arena *arena = *state;
    int32_t zero = 0;
    struct topic_partitions one = {STR("t"), {&zero, 1}};
    struct member_view members[5];
    for (int i = 0; i < 5; i++) {
        members[i] = (struct member_view){
            .member_id = arena_printf(arena, "m-%d", i), .instance_id = STR_NULL, .client_id = STR("app"), .host = STR("/h"), .epoch = 7};
    }
    struct group_view g = {.epoch = 7, .members = members, .member_count = 5};
    assert_true(str_is_empty(history_waits(&g, arena)));
    members[1].target = (struct topic_partitions_list){&one, 1};
    assert_string_equal(history_waits(&g, arena).ptr, " It waits for member m-1 (client app at /h).");
    members[2].epoch = 6;
    assert_string_equal(history_waits(&g, arena).ptr, " It waits for member m-2 (client app at /h).");
    members[0].epoch = members[3].epoch = members[4].epoch = 6;
    assert_non_null(strstr(history_waits(&g, arena).ptr, "m-3 (client app at /h) and 1 more."));
}

static void nothing_is_said_of_nothing(void **state)
{
    struct arena *arena = *state;
    history_answer h = made_answer(NULL, 0);
    assert_string_equal(history_why(STR("g"), &h, arena).ptr, "Group g has not rebalanced since its history is recorded.");
    h.recorded = false;
    assert_string_equal(history_why(STR("g"), &h, arena).ptr, "Nothing is recorded of group g.");
}

/* ---- the tables ---------------------------------------------------------------------------------------------------------------------- */

static int32_t partitions[] = {0, 3, 4};

static void tables(void **state)
{
    struct arena *arena = *state;
    cause causes[] = {made_cause("member_joined"), made_cause("member_left")};
    move moves[] = {{STR("m-1"), STR("m-2"), STR("orders"), {partitions, 3}, 3}, {STR_NULL, STR("m-2"), STR("orders"), {partitions, 1}, 9}};
    history_rebalance r[] = {made_rebalance(arena, causes, 1), made_rebalance(arena, causes, 2)};
    struct group_history_response_count counts[] = {{STR("member_joined"), 3}, {STR("member_left"), 1}};
    history_answer h = made_answer(r, 2);
    struct cli cli;
    struct run run;
    causes[0].instance_id = STR("i-1");
    causes[1].reason = STR("bye");
    r[0].moves.v = moves;
    r[0].moves.len = 2;
    r[0].moves_more = 4;
    r[1].rebalance = 8;
    r[1].counts.v = counts;
    r[1].counts.len = 2;
    r[1].settled_clock_ms = -1;
    r[1].last_member_id = STR_NULL;
    cli_begin(&cli, &run, false);
    history_print(&cli, STR("g"), &h, 0);
    cli_end(&cli, &run, CLI_OK);
    assert_string_equal(
        run.out,
        "GROUP  g\n\n"
        "REBALANCE  BEGAN                     TYPE     EPOCHS  MEMBERS  MOVED  SETTLED-AFTER  LAST  CAUSES\n"
        "        7  2023-11-14T22:13:20.000Z  classic  3-4           2      2  1.2 s          m-2   member_joined\n"
        "        8  2023-11-14T22:13:20.000Z  classic  3-4           2      2  -              -     member_joined x3, member_left\n"
        "\n"
        "REBALANCE  TIME                      CAUSE          MEMBER  INSTANCE  CLIENT-ID  HOST       REASON\n"
        "        7  2023-11-14T22:13:20.000Z  member_joined  m-1     i-1       app        /10.0.0.1  -\n"
        "        8  2023-11-14T22:13:20.000Z  member_joined  m-1     i-1       app        /10.0.0.1  -\n"
        "        8  2023-11-14T22:13:20.000Z  member_left    m-1     -         app        /10.0.0.1  bye\n"
        "        8  -                         2 more causes  -       -         -          -          -\n"
        "\n"
        "REBALANCE  FROM  TO   TOPIC   PARTITIONS\n"
        "        7  m-1   m-2  orders  0,3,4\n"
        "        7  -     m-2  orders  0 and 8 more\n"
        "        7  -     -    -       4 more\n");
    assert_columns_told(run, "groups", "history");
}

/* A terminal of 80 columns: times, causes and the ends of ids stay. */
static void tables_on_a_terminal(void **state)
{
    struct arena *arena = *state;
    cause causes[] = {made_cause("static_member_replaced"), made_cause("session_expired")};
    history_rebalance r = made_rebalance(arena, causes, 2);
    history_answer h = made_answer(&r, 1);
    struct cli cli;
    struct run run;
    r.last_member_id = causes[0].member_id = causes[1].member_id = STR("rdkafka-0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0");
    causes[0].client_id = causes[1].client_id = STR("rdkafka");
    causes[0].reason = STR("static member of another process");
    cli_begin(&cli, &run, false);
    history_print(&cli, STR("g"), &h, 80);
    cli_end(&cli, &run, CLI_OK);
    assert_string_equal(run.out, "GROUP  g\n\n"
                                 "#  BEGAN 2023-11-14  EPOCHS  OF  MOVED  TOOK   LAST      CAUSES\n"
                                 "7  22:13:20.000Z     3-4      2      2  1.2 s  rdk…e9f0  static_member_replaced,\n"
                                 "                                                         session_expired\n"
                                 "\n"
                                 "#  TIME 2023-11-14  CAUSE                   MEMBER    CLIENT   HOST      REASON\n"
                                 "7  22:13:20.000Z    static_member_replaced  rdk…e9f0  rdkafka  /10….0.1  static …\n"
                                 "7  22:13:20.000Z    session_expired         rdk…e9f0  rdkafka  /10….0.1  -\n");
    run_fini(&run);
}

static void a_history_without_moves_has_no_table_of_them(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("topology_changed");
    history_rebalance r = made_rebalance(arena, &c, 1);
    history_answer h = made_answer(&r, 1);
    struct cli cli;
    struct run run;
    h.group_type = STR("streams");
    cli_begin(&cli, &run, false);
    history_print(&cli, STR("g"), &h, 0);
    cli_end(&cli, &run, CLI_OK);
    assert_int_equal(count_of(run.out, "REBALANCE"), 2);
    run_fini(&run);
    r.moves_more = 1;
    cli_begin(&cli, &run, false);
    history_print(&cli, STR("g"), &h, 0);
    cli_end(&cli, &run, CLI_OK);
    assert_non_null(strstr(run.out, "REBALANCE  FROM  TO  SUBTOPOLOGY  TASKS\n"));
    run_fini(&run);
}

/* ---- the coordinator moved ------------------------------------------------------------------------------------------------------------ */

static coordinator_move made_move(int32_t from, int32_t to, int64_t clock_ms)
{
    return (coordinator_move){.node_id = to,
                              .from_node_id = from,
                              .term = 7,
                              .clock_ms = clock_ms,
                              .wall_ms = SECONDS * INT64_C(1000) + clock_ms - CLOCK_MS,
                              .silent_ms = -1};
}

static void a_move_in_words(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("member_joined");
    history_rebalance r = made_rebalance(arena, &c, 1); /* over after 1250 ms */
    history_answer h = made_answer(&r, 1);
    coordinator_move m = made_move(2, 1, CLOCK_MS + 1250);
    assert_string_equal(history_move_text(&h, &m, arena).ptr, "coordinator moved from node 2 to node 1 (term 7), without effect");
    m.silent_ms = 41;
    m.handed_over = true;
    assert_string_equal(
        history_move_text(&h, &m, arena).ptr,
        "coordinator moved from node 2, which handed over, to node 1 (term 7, nobody led for at most 41 ms), without effect");
    m = made_move(1, 1, CLOCK_MS + 1249);
    assert_string_equal(history_move_text(&h, &m, arena).ptr,
                        "coordinator, node 1, lost its office and took it again (term 7), while it rebalanced");
    m = made_move(-1, 3, CLOCK_MS - 1);
    assert_string_equal(history_move_text(&h, &m, arena).ptr, "coordinator moved to node 3 (term 7), without effect");
    r.settled_clock_ms = -1;
    m.clock_ms = CLOCK_MS + 100000;
    assert_true(history_move_is_within(&h, &m));
}

static void moves_since_the_last_rebalance_are_said(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("member_joined");
    history_rebalance r = made_rebalance(arena, &c, 1);
    coordinator_move moves[] = {made_move(3, 2, CLOCK_MS - 1), made_move(2, 1, CLOCK_MS + 2000), made_move(1, 2, CLOCK_MS + 3000)};
    history_answer h = made_answer(&r, 1);
    h.coordinator_moves.v = moves;
    h.coordinator_moves.len = 1;
    struct str before = history_why(STR("g"), &h, arena);
    assert_string_equal(strstr(before.ptr, " Shortly before"),
                        " Shortly before, at 2023-11-14T22:13:19.999Z, its coordinator moved from node 3 to node 2.");
    moves[0] = made_move(2, 2, CLOCK_MS - 150);
    moves[0].silent_ms = 14000;
    assert_string_equal(
        strstr(history_why(STR("g"), &h, arena).ptr, " Shortly before"),
        " Shortly before, at 2023-11-14T22:13:19.850Z, its coordinator, node 2, lost its office and took it again, and nobody had led "
        "for 14 s at most.");
    moves[0] = made_move(3, 2, CLOCK_MS - 61000);
    before = history_why(STR("g"), &h, arena);
    assert_null(strstr(before.ptr, "coordinator"));
    moves[0] = made_move(3, 2, CLOCK_MS - 1);
    h.coordinator_moves.len = 2;
    struct str expected =
        arena_printf(arena, "%.*s At 2023-11-14T22:13:22.000Z its coordinator moved from node 2 to node 1 (term 7), without effect.",
                     STR_ARG(before));
    assert_string_equal(history_why(STR("g"), &h, arena).ptr, expected.ptr);
    h.coordinator_moves.len = 3;
    assert_non_null(strstr(history_why(STR("g"), &h, arena).ptr, "to node 2 (term 7), without effect, the last of 2 such moves."));
    h.rebalances.len = 0;
    h.coordinator_moves.len = 1;
    assert_string_equal(history_why(STR("g"), &h, arena).ptr,
                        "Group g has not rebalanced since its history is recorded. At 2023-11-14T22:13:19.999Z its coordinator moved from "
                        "node 3 to node 2 (term 7), without effect.");
}

static void moves_stand_among_the_rebalances(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("member_joined");
    history_rebalance r[] = {made_rebalance(arena, &c, 1), made_rebalance(arena, &c, 1)};
    coordinator_move moves[] = {made_move(3, 2, CLOCK_MS - 1000), made_move(2, 1, CLOCK_MS + 5000), made_move(1, 2, CLOCK_MS + 9000)};
    history_answer h = made_answer(r, 2);
    struct cli cli;
    struct run run;
    r[1].rebalance = 8;
    r[1].began_clock_ms += 8000;
    r[1].began_wall_ms += 8000;
    r[1].settled_clock_ms += 8000;
    moves[0].from_node_id = -1;
    moves[1].silent_ms = 1500;
    moves[2].silent_ms = 20;
    moves[2].handed_over = true;
    h.coordinator_moves.v = moves;
    h.coordinator_moves.len = 3;
    cli_begin(&cli, &run, false);
    history_print(&cli, STR("g"), &h, 0);
    cli_end(&cli, &run, CLI_OK);
    assert_non_null(
        strstr(run.out,
               "REBALANCE  BEGAN                     TYPE     EPOCHS  MEMBERS  MOVED  SETTLED-AFTER  LAST  CAUSES\n"
               "        -  2023-11-14T22:13:19.000Z  -        -             -      -  -              -     coordinator moved, no effect\n"
               "        7  2023-11-14T22:13:20.000Z  classic  3-4           2      2  1.2 s          m-2   member_joined\n"
               "        -  2023-11-14T22:13:25.000Z  -        -             -      -  -              -     coordinator moved, no effect\n"
               "        8  2023-11-14T22:13:28.000Z  classic  3-4           2      2  1.2 s          m-2   member_joined\n"
               "        -  2023-11-14T22:13:29.000Z  -        -             -      -  -              -     coordinator moved\n"));
    assert_non_null(strstr(run.out, "\n\n"
                                    "COORDINATOR               FROM-NODE  TO-NODE  TERM  NOBODY-LED     HOW\n"
                                    "2023-11-14T22:13:19.000Z          -        2     7  -              -\n"
                                    "2023-11-14T22:13:25.000Z          2        1     7  1.5 s at most  lost\n"
                                    "2023-11-14T22:13:29.000Z          1        2     7  20 ms at most  handed over\n"));
    assert_columns_told(run, "groups", "history");
    json_t *one = history_json(STR("g"), &h, arena), *told = json_object_get(one, "coordinatorMoves");
    assert_int_equal(json_array_size(told), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(told, 1), "effect")), "none");
    assert_string_equal(json_string_value(json_object_get(json_array_get(told, 2), "effect")), "while it rebalanced");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(told, 1), "from")), 2);
    assert_true(json_is_null(json_object_get(json_array_get(told, 0), "leaderlessAtMostMs")));
    json_decref(one);
}

static void as_json(void **state)
{
    struct arena *arena = *state;
    cause c = made_cause("session_expired");
    c.timeout_ms = 45000;
    history_rebalance r = made_rebalance(arena, &c, 1);
    history_answer h = made_answer(&r, 1);
    json_t *one = history_json(STR("g"), &h, arena), *told = json_array_get(json_object_get(one, "rebalances"), 0);
    json_t *expired = json_array_get(json_object_get(told, "causes"), 0);
    assert_int_equal(json_integer_value(json_object_get(told, "settledAfterMs")), 1250);
    assert_int_equal(json_integer_value(json_object_get(told, "preparedAfterMs")), 1000);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(told, "causeCounts"), "session_expired")), 1);
    assert_int_equal(json_integer_value(json_object_get(expired, "timeoutMs")), 45000);
    assert_true(json_is_null(json_object_get(expired, "reason")));
    json_decref(one);
    r.settled_clock_ms = r.prepared_clock_ms = -1;
    c.timeout_ms = -1;
    one = history_json(STR("g"), &h, arena);
    told = json_array_get(json_object_get(one, "rebalances"), 0);
    assert_true(json_is_null(json_object_get(told, "settledAfterMs")) && json_is_null(json_object_get(told, "preparedAfterMs")));
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(told, "causes"), 0), "timeoutMs")));
    json_decref(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_cause_has_a_sentence, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_is_told_as_far_as_it_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(topics_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(many_causes_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(causes_that_differ_in_the_member_only_are_one, setup, teardown),
        cmocka_unit_test_setup_teardown(what_came_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(whom_it_waits_for, setup, teardown),
        cmocka_unit_test_setup_teardown(what_emptied_it_is_said_too, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_said_of_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(tables, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_on_a_terminal, setup, teardown),
        cmocka_unit_test_setup_teardown(a_history_without_moves_has_no_table_of_them, setup, teardown),
        cmocka_unit_test_setup_teardown(a_move_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(moves_since_the_last_rebalance_are_said, setup, teardown),
        cmocka_unit_test_setup_teardown(moves_stand_among_the_rebalances, setup, teardown),
        cmocka_unit_test_setup_teardown(as_json, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
