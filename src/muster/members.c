/* members.c: muster cluster members. */
#include "commands.h"
#include "members_view.h"
#include "out.h"

#include <inttypes.h>

enum { ANSWER_MS = 1000, CHANGE_UNDER_WAY = 0, CHANGE_DONE = 1 };

static const char *change_state(int8_t state)
{
    return state == CHANGE_UNDER_WAY ? "under way" : state == CHANGE_DONE ? "done" : "given up";
}

/* What the nodes do for the change: the leaders of the shards each know their own part. */
static struct str doing_of(const struct members_view *view)
{
    struct str doing = view->base->doing;
    for (int i = 0; i < view->answer_count && str_is_empty(doing); i++) {
        doing = view->answers[i]->doing;
    }
    return doing;
}

static json_t *member_json(const struct members_view *view, const struct cluster_members_response_member *m)
{
    struct member_progress p = members_progress(view, m->node_id);
    char incarnation[23];
    uuid_text(m->incarnation, incarnation);
    json_t *one = json_object();
    out_json_set(one, "id", json_integer(m->node_id));
    out_json_set(one, "host", out_json_text(m->port > 0 ? m->host : STR_NULL));
    out_json_set(one, "port", m->port > 0 ? json_integer(m->port) : json_null());
    out_json_set(one, "peerAddress", out_json_text(m->peer_address));
    out_json_set(one, "incarnation", json_string(incarnation));
    out_json_set(one, "standing", json_string(member_standing_name(m->standing)));
    out_json_set(one, "connected", json_boolean(m->connected));
    out_json_set(one, "votesIn", json_integer(p.votes));
    out_json_set(one, "learnsIn", json_integer(p.learns));
    out_json_set(one, "lag", p.lag >= 0 ? json_integer(p.lag) : json_null());
    out_json_set(one, "featureLevel", m->feature_level > 0 ? json_integer(m->feature_level) : json_null());
    out_json_set(one, "version", out_json_text(m->release));
    return one;
}

static json_t *change_json(const struct members_view *view)
{
    const struct cluster_members_response *r = view->base;
    if (r->change_id < 0) {
        return json_null();
    }
    json_t *one = json_object();
    out_json_set(one, "id", json_integer(r->change_id));
    out_json_set(one, "kind", json_string(member_change_name(r->change_kind)));
    out_json_set(one, "node", json_integer(r->change_node));
    out_json_set(one, "state", json_string(change_state(r->change_state)));
    out_json_set(one, "beganMs", json_integer(r->change_began_wall_ms));
    out_json_set(one, "reason", out_json_text(r->change_reason));
    out_json_set(one, "doing", out_json_text(r->change_state == CHANGE_UNDER_WAY ? doing_of(view) : STR_NULL));
    return one;
}

static void print_json(struct cli *cli, const struct members_view *view)
{
    json_t *document = json_object();
    json_t *members = json_array();
    for (int32_t i = 0; i < view->base->members.len; i++) {
        out_json_add(members, member_json(view, &view->base->members.v[i]));
    }
    out_json_set(document, "featureLevel", json_integer(view->base->feature_level));
    out_json_set(document, "shards", json_integer(members_shards(view)));
    out_json_set(document, "change", change_json(view));
    out_json_set(document, "members", members);
    out_json_print(document, cli->out);
}

static void print_table(struct cli *cli, const struct members_view *view)
{
    static const char *const headers[] = {"NODE",           "ADDRESS",          "PEER-ADDRESS|", "STANDING", "STATE",
                                          "VOTES-IN|VOTES", "LEARNS-IN|LEARNS", "LAG",           "VERSION",  "LEVEL"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < view->base->members.len; i++) {
        const struct cluster_members_response_member *m = &view->base->members.v[i];
        struct member_progress p = members_progress(view, m->node_id);
        table_number(&t, m->node_id);
        table_text(&t, m->port > 0 ? arena_printf(&cli->arena, "%.*s:%d", STR_ARG(m->host), m->port) : STR_NULL);
        table_text(&t, m->peer_address);
        table_text(&t, str_of(member_standing_name(m->standing)));
        table_text(&t, str_of(m->connected ? "connected" : "unreachable"));
        table_number(&t, p.votes);
        table_number(&t, p.learns);
        table_number_or_dash(&t, p.lag);
        table_text(&t, m->release);
        table_number_or_dash(&t, m->feature_level);
    }
    table_print(&t, cli->out);
}

static void print_change(struct cli *cli, const struct members_view *view)
{
    const struct cluster_members_response *r = view->base;
    fprintf(cli->out, "\n%.*s, feature level %d\n", STR_ARG(out_count((uint64_t)members_shards(view), "shard", "shards", &cli->arena)),
            r->feature_level);
    if (r->change_id < 0) {
        return;
    }
    fprintf(cli->out, "Change %" PRId64 ", %s of node %d: %s", r->change_id, member_change_name(r->change_kind), r->change_node,
            change_state(r->change_state));
    struct str more = r->change_state == CHANGE_UNDER_WAY ? doing_of(view) : r->change_reason;
    if (!str_is_empty(more)) {
        fprintf(cli->out, " (%.*s)", STR_ARG(out_text(more, &cli->arena)));
    }
    fputc('\n', cli->out);
}

static int run_members(struct cli *cli)
{
    struct client c;
    struct members_view *view = arena_get(&cli->arena, sizeof(*view));
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    c.attempt_ms = ANSWER_MS; /* a node that hangs must not keep the others from being shown */
    int rc = members_fetch(&c, &cli->arena, view);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (cli->json) {
        print_json(cli, view);
    } else {
        print_table(cli, view);
        print_change(cli, view);
    }
    client_fini(&c);
    return code;
}

static const struct cli_column members_columns[] = {
    {"ADDRESS, PEER-ADDRESS", "where clients reach the node, and where the other nodes do"},
    {"STANDING", "what the cluster wants of it: a voter, a learner (it is sent everything but has no vote), joining or leaving"},
    {"STATE", "connected, or unreachable, as the node has it that leads shard 0"},
    {"VOTES-IN, LEARNS-IN", "in how many shards it is a voter or a learner already"},
    {"LAG", "how many entries it misses in the shard where it misses most"},
    {"VERSION, LEVEL", "of its program, and the highest feature level that it knows ('muster cluster upgrade')"},
};

const struct cli_command command_cluster_members = {
    .noun = "cluster",
    .verb = "members",
    .operands = "",
    .watchable = true,
    .summary = "Shows the nodes of the cluster, what they may do in its shards, and the newest change of them.",
    .details =
        "To stop a node for a while end it with SIGTERM (systemctl stop): it hands over what it leads, and clients notice nothing. Do not\n"
        "remove it.",
    .columns = members_columns,
    .column_count = COUNT_OF(members_columns),
    .run = run_members};
