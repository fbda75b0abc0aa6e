/* history.c: muster groups history, muster groups why. */
#include "columns.h"
#include "commands.h"
#include "group_view.h"
#include "history_view.h"
#include "log_options.h"
#include "out.h"

#include <inttypes.h>

enum { CAUSE_COLUMNS = 8, GROUP_ID_NOT_FOUND = 69 };

static int16_t error_of(const void *answer)
{
    return ((const history_answer *)answer)->error_code;
}

int history_fetch(struct client *c, struct str group, struct arena *arena, const history_answer **ret)
{
    struct group_history_request request;
    const void *answer;
    wire_init(&wire_group_history_request, &request);
    request.group_id = group;
    struct client_call call = {.key = API_KEY_GROUP_HISTORY, .max_version = -1, .request = &request};
    int rc = client_group_call(c, group, &call, error_of, arena, &answer);
    if (rc == 0) {
        *ret = answer;
    }
    return rc;
}

/* ---- for programs ----------------------------------------------------------------------------------------------------------------------- */

static json_t *time_json(int64_t wall_ms, struct arena *arena)
{
    return out_json_text(out_time(wall_ms, arena));
}

static json_t *cause_json(const struct group_history_response_cause *c, struct arena *arena)
{
    json_t *one = json_object();
    out_json_set(one, "time", time_json(c->wall_ms, arena));
    out_json_set(one, "clockMs", json_integer(c->clock_ms));
    out_json_set(one, "cause", out_json_text(c->cause));
    out_json_set(one, "epoch", json_integer(c->epoch));
    out_json_set(one, "member", out_json_text(c->member_id));
    out_json_set(one, "instance", out_json_text(c->instance_id));
    out_json_set(one, "clientId", out_json_text(c->client_id));
    out_json_set(one, "host", out_json_text(c->host));
    out_json_set(one, "reason", out_json_text(c->reason));
    out_json_set(one, "timeoutMs", c->timeout_ms < 0 ? json_null() : json_integer(c->timeout_ms));
    out_json_set(one, "byClientId", out_json_text(c->by_client_id));
    out_json_set(one, "byHost", out_json_text(c->by_host));
    out_json_set(one, "topics", names_json(&c->topics));
    out_json_set(one, "topicsNotTold", json_integer(c->topics_more));
    return one;
}

static json_t *move_json(const struct group_history_response_move *m)
{
    json_t *one = json_object(), *partitions = json_array();
    for (int32_t i = 0; i < m->partitions.len; i++) {
        out_json_add(partitions, json_integer(m->partitions.v[i]));
    }
    out_json_set(one, "from", out_json_text(m->from_member_id));
    out_json_set(one, "to", out_json_text(m->to_member_id));
    out_json_set(one, "name", out_json_text(m->name));
    out_json_set(one, "partitions", partitions);
    out_json_set(one, "count", json_integer(m->count));
    return one;
}

static json_t *rebalance_json(const history_rebalance *r, struct arena *arena)
{
    json_t *one = json_object(), *causes = json_array(), *counts = json_object(), *moves = json_array();
    for (int32_t i = 0; i < r->causes.len; i++) {
        out_json_add(causes, cause_json(&r->causes.v[i], arena));
    }
    for (int32_t i = 0; i < r->counts.len; i++) {
        out_json_set(counts, arena_printf(arena, "%.*s", STR_ARG(r->counts.v[i].cause)).ptr, json_integer(r->counts.v[i].count));
    }
    for (int32_t i = 0; i < r->moves.len; i++) {
        out_json_add(moves, move_json(&r->moves.v[i]));
    }
    bool over = r->settled_clock_ms >= 0;
    out_json_set(one, "rebalance", json_integer(r->rebalance));
    out_json_set(one, "type", out_json_text(r->group_type));
    out_json_set(one, "began", time_json(r->began_wall_ms, arena));
    out_json_set(one, "beganClockMs", json_integer(r->began_clock_ms));
    out_json_set(one, "epochBefore", json_integer(r->epoch_before));
    out_json_set(one, "epochAfter", json_integer(r->epoch_after));
    out_json_set(one, "members", json_integer(r->members));
    out_json_set(one, "causes", causes);
    out_json_set(one, "causeCounts", counts);
    out_json_set(one, "moved", json_integer(r->moved));
    out_json_set(one, "moves", moves);
    out_json_set(one, "movesNotTold", json_integer(r->moves_more));
    out_json_set(one, "preparedAfterMs", r->prepared_clock_ms < 0 ? json_null() : json_integer(r->prepared_clock_ms - r->began_clock_ms));
    out_json_set(one, "settledAfterMs", over ? json_integer(r->settled_clock_ms - r->began_clock_ms) : json_null());
    out_json_set(one, "last", out_json_text(r->last_member_id));
    return one;
}

static json_t *coordinator_move_json(const history_answer *h, const coordinator_move *m, struct arena *arena)
{
    json_t *one = json_object();
    out_json_set(one, "time", time_json(m->wall_ms, arena));
    out_json_set(one, "clockMs", json_integer(m->clock_ms));
    out_json_set(one, "from", m->from_node_id < 0 ? json_null() : json_integer(m->from_node_id));
    out_json_set(one, "to", json_integer(m->node_id));
    out_json_set(one, "term", json_integer(m->term));
    out_json_set(one, "handedOver", json_boolean(m->handed_over));
    out_json_set(one, "leaderlessAtMostMs", m->silent_ms < 0 ? json_null() : json_integer(m->silent_ms));
    out_json_set(one, "effect", out_json_text(history_move_is_within(h, m) ? STR("while it rebalanced") : STR("none")));
    return one;
}

json_t *history_json(struct str group, const history_answer *h, struct arena *arena)
{
    json_t *one = json_object(), *rebalances = json_array(), *moves = json_array();
    for (int32_t i = 0; i < h->coordinator_moves.len; i++) {
        out_json_add(moves, coordinator_move_json(h, &h->coordinator_moves.v[i], arena));
    }
    for (int32_t i = 0; i < h->rebalances.len; i++) {
        out_json_add(rebalances, rebalance_json(&h->rebalances.v[i], arena));
    }
    out_json_set(one, "group", out_json_text(group));
    out_json_set(one, "type", out_json_text(h->group_type));
    out_json_set(one, "state", out_json_text(h->group_state));
    out_json_set(one, "epoch", json_integer(h->epoch));
    out_json_set(one, "recorded", json_boolean(h->recorded));
    out_json_set(one, "rebalances", rebalances);
    out_json_set(one, "coordinatorMoves", moves);
    return one;
}

/* ---- for people ------------------------------------------------------------------------------------------------------------------------- */

/* The coordinator's moves from *at on that came before that time, in rows of their own. */
static void add_coordinator_moves(struct cli *cli, struct table *t, const history_answer *h, int64_t before_clock_ms, int32_t *at)
{
    enum { COLUMNS_BETWEEN = 6 };
    for (; *at < h->coordinator_moves.len && h->coordinator_moves.v[*at].clock_ms < before_clock_ms; (*at)++) {
        const coordinator_move *m = &h->coordinator_moves.v[*at];
        table_text(t, STR_NULL);
        table_text(t, out_time(m->wall_ms, &cli->arena));
        for (int i = 0; i < COLUMNS_BETWEEN; i++) {
            table_text(t, STR_NULL);
        }
        table_text(t, history_move_is_within(h, m) ? STR("coordinator moved") : STR("coordinator moved, no effect"));
    }
}

static void print_rebalances(struct cli *cli, const history_answer *h, int width)
{
    static const char *const headers[] = {"REBALANCE|#",        "BEGAN", "TYPE|", "EPOCHS", "MEMBERS|OF", "MOVED",
                                          "SETTLED-AFTER|TOOK", "LAST",  "CAUSES"};
    struct table t;
    int32_t moves = 0;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_keep(&t, COUNT_OF(headers) - 1);
    for (int32_t i = 0; i < h->rebalances.len; i++) {
        const history_rebalance *r = &h->rebalances.v[i];
        add_coordinator_moves(cli, &t, h, r->began_clock_ms, &moves);
        bool over = r->settled_clock_ms >= 0;
        table_number(&t, r->rebalance);
        table_text(&t, out_time(r->began_wall_ms, &cli->arena));
        table_text(&t, r->group_type);
        table_text(&t, arena_printf(&cli->arena, "%d-%d", (int)r->epoch_before, (int)r->epoch_after));
        table_number(&t, r->members);
        table_number(&t, r->moved);
        table_text(&t, over ? history_duration(r->settled_clock_ms - r->began_clock_ms, &cli->arena) : STR_NULL);
        table_text(&t, r->last_member_id);
        table_text(&t, history_causes(r, &cli->arena));
    }
    add_coordinator_moves(cli, &t, h, INT64_MAX, &moves);
    table_print_within(&t, width, cli->out);
}

/* A rebalance keeps only some of its causes one by one, but counts all. */
static void add_untold_causes(struct cli *cli, struct table *t, const history_rebalance *r)
{
    int64_t more = -(int64_t)r->causes.len;
    for (int32_t i = 0; i < r->counts.len; i++) {
        more += r->counts.v[i].count;
    }
    if (more <= 0) {
        return;
    }
    table_number(t, r->rebalance);
    table_text(t, STR_NULL);
    table_text(t, arena_printf(&cli->arena, "%" PRId64 " more cause%s", more, more == 1 ? "" : "s"));
    for (int i = 0; i < CAUSE_COLUMNS - 3; i++) {
        table_text(t, STR_NULL);
    }
}

static void print_causes(struct cli *cli, const history_answer *h, int width)
{
    static const char *const headers[CAUSE_COLUMNS] = {"REBALANCE|#",      "TIME", "CAUSE", "MEMBER", "INSTANCE",
                                                       "CLIENT-ID|CLIENT", "HOST", "REASON"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_keep(&t, 2);
    for (int32_t i = 0; i < h->rebalances.len; i++) {
        const history_rebalance *r = &h->rebalances.v[i];
        for (int32_t k = 0; k < r->causes.len; k++) {
            table_number(&t, r->rebalance);
            table_text(&t, out_time(r->causes.v[k].wall_ms, &cli->arena));
            table_text(&t, r->causes.v[k].cause);
            table_text(&t, r->causes.v[k].member_id);
            table_text(&t, r->causes.v[k].instance_id);
            table_text(&t, r->causes.v[k].client_id);
            table_text(&t, r->causes.v[k].host);
            table_text(&t, r->causes.v[k].topics.len > 0 ? history_topics_text(&r->causes.v[k], &cli->arena) : r->causes.v[k].reason);
        }
        add_untold_causes(cli, &t, r);
    }
    fputc('\n', cli->out);
    table_print_within(&t, width, cli->out);
}

static struct str partitions_text(const struct group_history_response_move *m, struct arena *arena)
{
    struct str text = STR("");
    for (int32_t i = 0; i < m->partitions.len; i++) {
        text = arena_printf(arena, "%.*s%s%d", STR_ARG(text), i > 0 ? "," : "", (int)m->partitions.v[i]);
    }
    return m->count > m->partitions.len ? arena_printf(arena, "%.*s and %d more", STR_ARG(text), (int)(m->count - m->partitions.len))
                                        : text;
}

static void print_moves(struct cli *cli, const history_answer *h, int width)
{
    static const char *const headers[] = {"REBALANCE|#", "FROM", "TO", "TOPIC", "PARTITIONS"};
    static const char *const task_headers[] = {"REBALANCE|#", "FROM", "TO", "SUBTOPOLOGY", "TASKS"};
    struct table t;
    table_init(&t, &cli->arena, str_eq(h->group_type, STR("streams")) ? task_headers : headers, COUNT_OF(headers));
    for (int32_t i = 0; i < h->rebalances.len; i++) {
        const history_rebalance *r = &h->rebalances.v[i];
        for (int32_t k = 0; k < r->moves.len; k++) {
            table_number(&t, r->rebalance);
            table_text(&t, r->moves.v[k].from_member_id);
            table_text(&t, r->moves.v[k].to_member_id);
            table_text(&t, r->moves.v[k].name);
            table_text(&t, partitions_text(&r->moves.v[k], &cli->arena));
        }
        if (r->moves_more > 0) {
            table_number(&t, r->rebalance);
            table_text(&t, STR_NULL);
            table_text(&t, STR_NULL);
            table_text(&t, STR_NULL);
            table_text(&t, arena_printf(&cli->arena, "%d more", (int)r->moves_more));
        }
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print_within(&t, width, cli->out);
    }
}

static void print_coordinator_moves(struct cli *cli, const history_answer *h, int width)
{
    static const char *const headers[] = {"COORDINATOR", "FROM-NODE|FROM", "TO-NODE|TO", "TERM", "NOBODY-LED", "HOW"};
    struct table t;
    if (h->coordinator_moves.len == 0) {
        return;
    }
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < h->coordinator_moves.len; i++) {
        const coordinator_move *m = &h->coordinator_moves.v[i];
        table_text(&t, out_time(m->wall_ms, &cli->arena));
        table_number_or_dash(&t, m->from_node_id);
        table_number(&t, m->node_id);
        table_number(&t, m->term);
        table_text(&t, m->silent_ms < 0 ? STR_NULL
                                        : arena_printf(&cli->arena, "%.*s at most", STR_ARG(history_duration(m->silent_ms, &cli->arena))));
        table_text(&t, m->handed_over ? STR("handed over") : m->from_node_id < 0 ? STR_NULL : STR("lost"));
    }
    fputc('\n', cli->out);
    table_print_within(&t, width, cli->out);
}

void history_print(struct cli *cli, struct str group, const history_answer *h, int width)
{
    fprintf(cli->out, "GROUP  %.*s\n\n", STR_ARG(out_text(group, &cli->arena)));
    print_rebalances(cli, h, width);
    if (h->rebalances.len > 0) {
        print_causes(cli, h, width);
        print_moves(cli, h, width);
    }
    print_coordinator_moves(cli, h, width);
}

/* ---- the commands ----------------------------------------------------------------------------------------------------------------------- */

/* NULL: *ret_code says why. */
static const history_answer *fetch(struct cli *cli, struct client *c, struct str group, int *ret_code)
{
    const history_answer *answer = NULL;
    int rc = history_fetch(c, group, &cli->arena, &answer);
    if (rc == MUSTER_E_VERSION) {
        *ret_code = cli_fail(cli, CLI_FAILED, "the cluster keeps no history of rebalances: %s", c->error);
        return NULL;
    }
    if (rc < 0) {
        *ret_code = cli_client_failed(cli, c, rc);
        return NULL;
    }
    if (answer->error_code != 0) {
        *ret_code = cli_fail(cli, CLI_FAILED, "group %.*s: %s%s", STR_ARG(out_quoted(group, &cli->arena)),
                             kafka_error_text(answer->error_code, answer->error_message, &cli->arena),
                             answer->error_code == GROUP_ID_NOT_FOUND ? group_meant(c, group, &cli->arena) : "");
        return NULL;
    }
    if (!answer->recorded) {
        cli_say(
            cli,
            "no history is recorded: by the cluster's feature level ('muster cluster upgrade'), or by muster.group.history.max.entries");
    }
    *ret_code = CLI_OK;
    return answer;
}

static int history_one(struct describing *d, struct str group)
{
    struct cli *cli = d->cli;
    int code;
    const history_answer *h = fetch(cli, &d->client, group, &code);
    if (h == NULL) {
        return code;
    }
    if (cli->json) {
        out_json_add(d->groups, history_json(group, h, &cli->arena));
        return CLI_OK;
    }
    describe_next(d);
    history_print(cli, group, h, out_terminal_width(cli->out));
    return CLI_OK;
}

static int run_history(struct cli *cli)
{
    return describe_each(cli, history_one);
}

static const struct cli_option history_options[] = {
    OPTION_NAMED_GROUPS, OPTION_ALL_GROUPS, OPTION_AT, OPTION_DATA_AT, OPTION_NODE,
};

static const struct cli_column history_columns[] = {
    {"TYPE", "of the group: classic, consumer, streams"},
    {"REBALANCE, BEGAN", "its number, and when the group was not settled any more"},
    {"EPOCHS", "of the group before and after it; generations in a classic group"},
    {"MEMBERS", "how many there were at its end"},
    {"MOVED", "how many partitions or tasks members were given; not what nobody has any more"},
    {"SETTLED-AFTER", "how long it took; '-' while it goes on"},
    {"LAST", "who joined last in a classic group, else who was the last to have what it is to have"},
    {"CAUSES", "in short; the second table has each:"},
    {"TIME, MEMBER, INSTANCE", "when it came, of which member, and the id that a static one keeps over its restarts"},
    COLUMN_CLIENT_ID,
    {"CAUSE, REASON", "what it was; and what the client said, or the topics that changed"},
    {"FROM, TO", "who gave PARTITIONS of a TOPIC, or TASKS of a SUBTOPOLOGY, up and who got them; '-' is nobody"},
    {"COORDINATOR", "when the group's coordinator moved FROM-NODE TO-NODE, with the TERM of the new leader"},
    {"NOBODY-LED, HOW", "how long nobody led, at most, since the node before was last heard of; handed over, or lost"},
};

const struct cli_command command_groups_history = {
    .noun = "groups",
    .verb = "history",
    .operands = "GROUP...",
    .watchable = true,
    .min_operands = 1,
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Shows the latest rebalances of groups: causes, who, what moved, how long it took.",
    .details =
        "A rebalance lasts from the moment a settled group moves until it is settled again. Of many causes the first seven and the newest\n"
        "are shown. A row without a number says when the group's coordinator moved, which by itself does nothing to it. Of each shard the\n"
        "newest 32 moves are kept. 'muster groups why' says the newest rebalance in a sentence.",
    .options = history_options,
    .option_count = COUNT_OF(history_options),
    .columns = history_columns,
    .column_count = COUNT_OF(history_columns),
    .run = run_history};

static int why_one(struct describing *d, struct str group)
{
    struct cli *cli = d->cli;
    int code;
    const history_answer *h = fetch(cli, &d->client, group, &code);
    if (h == NULL) {
        return code;
    }
    struct str why = history_why(group, h, &cli->arena);
    struct group_view now;
    bool over = h->rebalances.len == 0 || h->rebalances.v[h->rebalances.len - 1].settled_clock_ms >= 0;
    if (!over && str_eq(h->group_type, STR("consumer")) && group_view_fetch(&d->client, group, &cli->arena, &now) == 0 && now.error == 0) {
        struct str waits = history_waits(&now, &cli->arena);
        why = arena_printf(&cli->arena, "%.*s%.*s", STR_ARG(why), STR_ARG(waits));
    }
    if (cli->json) {
        json_t *one = json_object();
        out_json_set(one, "group", out_json_text(group));
        out_json_set(one, "why", out_json_text(why));
        out_json_add(d->groups, one);
    } else {
        fprintf(cli->out, "%.*s\n", STR_ARG(why));
    }
    return CLI_OK;
}

static int run_why(struct cli *cli)
{
    return describe_each(cli, why_one);
}

const struct cli_command command_groups_why = {.noun = "groups",
                                               .verb = "why",
                                               .operands = "GROUP...",
                                               .min_operands = 1,
                                               .max_operands = -1,
                                               .named_by = {"group"},
                                               .summary = "Says in a sentence why groups rebalanced last.",
                                               .details = "'muster groups history' shows the rebalances before it.",
                                               .options = history_options,
                                               .option_count = COUNT_OF(history_options),
                                               .run = run_why};
