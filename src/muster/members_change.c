/* members_change.c: muster cluster add, promote, remove, replace, rebalance, upgrade. */
#include "commands.h"
#include "members_view.h"
#include "out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_ADD = 1, KIND_PROMOTE = 2, KIND_REMOVE = 3, KIND_REPLACE = 4 };
enum { KAFKA_REASSIGNMENT_IN_PROGRESS = 60 };
enum { CHANGE_UNDER_WAY = 0, CHANGE_DONE = 1 };
enum { STANDING_VOTER = 2 };
enum { ANSWER_MS = 1000, WAIT_SECONDS = 300, WAIT_MOST_SECONDS = 86400, LOOK_EVERY_ATTEMPT = 4 };

/* ---- watching a change ---------------------------------------------------------------------------------------------------------- */

struct watch {
    struct cli *cli;
    struct client *c;
    struct members_view *view;
    int64_t change;
    int32_t node;
    int8_t kind;
    char said[512];
};

static void say_progress(struct watch *w)
{
    char text[sizeof(w->said)];
    struct arena *arena = &w->cli->arena;
    struct member_progress p = members_progress(w->view, w->node);
    const struct cluster_members_response_member *m = members_find(w->view, w->node);
    struct str doing = w->view->base->doing;
    for (int i = 0; i < w->view->answer_count && str_is_empty(doing); i++) {
        doing = w->view->answers[i]->doing;
    }
    struct str shown = str_is_empty(doing) ? STR("") : out_text(doing, arena);
    snprintf(text, sizeof(text), "node %d: %s, voter in %d and learner in %d of %d shards%s%.*s", w->node,
             m != NULL ? member_standing_name(m->standing) : "gone", p.votes, p.learns, members_shards(w->view), shown.len > 0 ? "; " : "",
             STR_ARG(shown));
    if (strcmp(text, w->said) != 0) {
        cli_say(w->cli, "%s", text);
        memcpy(w->said, text, sizeof(text));
    }
}

static int print_done(struct watch *w)
{
    struct cli *cli = w->cli;
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "change", json_integer(w->change));
        out_json_set(document, "kind", json_string(member_change_name(w->kind)));
        out_json_set(document, "node", json_integer(w->node));
        out_json_set(document, "state", json_string("done"));
        out_json_print(document, cli->out);
    } else {
        static const char *const words[] = {"", "is added", "is a voter", "is removed", "is replaced"};
        fprintf(cli->out, "Node %d %s.\n", w->node, words[w->kind]);
    }
    return CLI_OK;
}

/* -1: it is under way still. */
static int look(struct watch *w)
{
    struct cli *cli = w->cli;
    const struct cluster_members_response *r = w->view->base;
    if (r->change_id > w->change) {
        return cli_fail(cli, CLI_FAILED, "change %" PRId64 " was followed by another one: muster cluster members shows what became of it",
                        w->change);
    }
    if (r->change_id < w->change || r->change_state == CHANGE_UNDER_WAY) {
        if (r->change_id == w->change) {
            say_progress(w);
        }
        return -1;
    }
    if (r->change_state == CHANGE_DONE) {
        return print_done(w);
    }
    return cli_fail(cli, CLI_FAILED, "the change was given up: %.*s", STR_ARG(out_text(r->change_reason, &cli->arena)));
}

static int await(struct watch *w, int64_t seconds)
{
    int64_t until_ms = client_now_ms() + 1000 * seconds;
    for (;;) {
        struct arena *arena = &w->cli->arena;
        w->c->deadline_ms = client_now_ms() + w->cli->timeout_ms;
        if (members_fetch(w->c, arena, w->view) == 0) {
            int code = look(w);
            if (code >= 0) {
                return code;
            }
        }
        if (client_now_ms() >= until_ms) {
            return cli_fail(w->cli, CLI_FAILED,
                            "change %" PRId64 " goes on, but is not done after %" PRId64 " seconds: muster cluster members shows it",
                            w->change, seconds);
        }
        client_pause(w->c, LOOK_EVERY_ATTEMPT);
    }
}

/* ---- beginning one ---------------------------------------------------------------------------------------------------------------- */

static int16_t change_error(const void *response)
{
    return ((const struct change_member_response *)response)->error_code;
}

/* How the change that stands in the way is ended: that is for additions alone, since it takes the node out. */
static const char *in_the_way(struct cli *cli, struct client *c)
{
    struct members_view *view = arena_get(&cli->arena, sizeof(*view));
    c->attempt_ms = ANSWER_MS;
    bool told = members_fetch(c, &cli->arena, view) == 0;
    return told && view->base->change_kind == KIND_ADD && view->base->change_state == CHANGE_UNDER_WAY
               ? arena_printf(&cli->arena, " (muster cluster remove %" PRId32 " --force ends it)", view->base->change_node).ptr
               : "";
}

static int begin(struct cli *cli, struct client *c, const struct change_member_request *request, int64_t *ret_change)
{
    const void *answer;
    struct client_call call = {.key = API_KEY_CHANGE_MEMBER, .max_version = -1, .request = request, .changes = true};
    int rc = client_controller_call(c, &call, change_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    const struct change_member_response *response = answer;
    if (response->error_code != 0) {
        bool forceable = request->kind == KIND_REPLACE && !request->force && response->error_message.len > 0 &&
                         memmem(response->error_message.ptr, (size_t)response->error_message.len, "force", 5) != NULL;
        return cli_fail(cli, CLI_FAILED, "node %d: %s%s", request->node_id,
                        kafka_error_text(response->error_code, response->error_message, &cli->arena),
                        forceable                                                ? " (--force)"
                        : response->error_code == KAFKA_REASSIGNMENT_IN_PROGRESS ? in_the_way(cli, c)
                                                                                 : "");
    }
    *ret_change = response->change_id;
    return CLI_OK;
}

static int print_begun(struct cli *cli, const struct change_member_request *q, int64_t change)
{
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "change", json_integer(change));
        out_json_set(document, "kind", json_string(member_change_name(q->kind)));
        out_json_set(document, "node", json_integer(q->node_id));
        out_json_set(document, "state", json_string("under way"));
        out_json_print(document, cli->out);
    } else {
        fprintf(cli->out, "Change %" PRId64 " is under way: muster cluster members shows it.\n", change);
    }
    return CLI_OK;
}

/* How many vote once the change is done; -1: it changes nothing about that, or nobody tells. */
static int voters_then(struct cli *cli, struct client *c, const struct change_member_request *q)
{
    struct members_view *view = arena_get(&cli->arena, sizeof(*view));
    if (q->kind == KIND_REPLACE || q->learner || members_fetch(c, &cli->arena, view) < 0) {
        return -1;
    }
    c->deadline_ms = client_now_ms() + cli->timeout_ms;
    int voters = q->kind != KIND_REMOVE;
    bool votes = false;
    for (int32_t i = 0; i < view->base->members.len; i++) {
        const struct cluster_members_response_member *m = &view->base->members.v[i];
        bool voter = m->standing == STANDING_VOTER;
        votes = votes || (voter && m->node_id == q->node_id);
        voters += voter && m->node_id != q->node_id;
    }
    return votes == (q->kind == KIND_REMOVE) ? voters : -1;
}

/* An even number of voters survives no more failures than one less, and two do not survive any. */
static void say_voters(struct cli *cli, int voters)
{
    if (voters == 1) {
        cli_say(cli, "with 1 voter the cluster survives no failure, and what that node's disk loses is lost");
    } else if (voters == 2) {
        cli_say(cli, "with 2 voters the cluster survives no failure: when either of them is down, nothing is served");
    } else if (voters > 0 && voters % 2 == 0) {
        cli_say(cli, "with %d voters the cluster survives %d failure%s, as with %d: an odd number is best", voters, voters / 2 - 1,
                voters == 4 ? "" : "s", voters - 1);
    }
}

static int run_change(struct cli *cli, const struct change_member_request *q)
{
    struct client c;
    int64_t seconds, change = -1;
    if (!cli_number(cli, "wait-seconds", 1, WAIT_MOST_SECONDS, WAIT_SECONDS, &seconds)) {
        return CLI_USAGE;
    }
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    c.attempt_ms = ANSWER_MS;
    int voters = voters_then(cli, &c, q);
    c.attempt_ms = ANSWER_MS * 5;
    code = begin(cli, &c, q, &change);
    if (code == CLI_OK) {
        say_voters(cli, voters);
    }
    if (code == CLI_OK && cli_flag(cli, "no-wait")) {
        code = print_begun(cli, q, change);
    } else if (code == CLI_OK) {
        c.attempt_ms = ANSWER_MS;
        struct watch w = {.cli = cli, .c = &c, .change = change, .node = q->node_id, .kind = q->kind};
        w.view = arena_get(&cli->arena, sizeof(*w.view));
        code = await(&w, seconds);
    }
    client_fini(&c);
    return code;
}

static int node_operand(struct cli *cli, int8_t kind, struct change_member_request *ret)
{
    int64_t node;
    wire_init(&wire_change_member_request, ret);
    if (!cli_parse_number(cli->operands[0], 1, INT32_MAX, &node)) {
        return cli_fail(cli, CLI_USAGE, "'%s' is not the id of a node", cli->operands[0]);
    }
    ret->kind = kind;
    ret->node_id = (int32_t)node;
    ret->force = cli_flag(cli, "force");
    return CLI_OK;
}

/* ---- the commands -------------------------------------------------------------------------------------------------------------------- */

#define WAIT_OPTIONS                                                                                                                       \
    {"no-wait", NULL, "return as soon as the change is recorded"},                                                                         \
    {                                                                                                                                      \
        "wait-seconds", "N", "how long to wait for its end (300)"                                                                          \
    }

static int run_add(struct cli *cli)
{
    struct change_member_request q;
    char *end;
    const char *text = cli->operands[0];
    unsigned long id = strtoul(text, &end, 10);
    wire_init(&wire_change_member_request, &q);
    if (end == text || *end != '@' || id < 1 || id > INT32_MAX || strrchr(end, ':') == NULL) {
        return cli_fail(cli, CLI_USAGE, "'%s' is no peer: ID@HOST:PORT, as in muster.peers", text);
    }
    q.kind = KIND_ADD;
    q.node_id = (int32_t)id;
    q.peer_address = str_of(end + 1);
    q.learner = cli_flag(cli, "learner");
    return run_change(cli, &q);
}

static const struct cli_option add_options[] = {
    {"learner", NULL, "it stays a learner until it is promoted"},
    WAIT_OPTIONS,
};
const struct cli_command command_cluster_add = {
    .noun = "cluster",
    .verb = "add",
    .operands = "ID@HOST:PORT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Takes a node into the cluster: as a learner first, as a voter when it has caught up.",
    .details =
        "The node has to run on an empty folder, with the id and the peer listener that are given here and the cluster's "
        "muster.shards. One\n"
        "change is under way at a time; it goes on without this command, whoever leads. A node that does not come within\n"
        "muster.membership.join.timeout.ms (60000) is given up (exit code 1).\n"
        "Three voters survive the failure of one, five of two; four no more than three: nodes are best added by twos.\n"
        "The node's file lists all nodes and itself in muster.peers. Those of the other nodes need no change before they are started\n"
        "again: who belongs to the cluster is in their folders, and their logs say that the file is older.\n"
        "    node.id=4\n"
        "    muster.data.dir=data-4\n"
        "    muster.peers=1@10.0.0.1:9093,2@10.0.0.2:9093,3@10.0.0.3:9093,4@10.0.0.4:9093\n"
        "    muster.peer.listener=10.0.0.4:9093\n"
        "    listeners=PLAINTEXT://10.0.0.4:9092\n"
        "It is started there by 'musterd --config FILE'; then, anywhere:\n"
        "    muster cluster add 4@10.0.0.4:9093",
    .options = add_options,
    .option_count = COUNT_OF(add_options),
    .run = run_add};

static int run_promote(struct cli *cli)
{
    struct change_member_request q;
    int code = node_operand(cli, KIND_PROMOTE, &q);
    return code == CLI_OK ? run_change(cli, &q) : code;
}

static const struct cli_option promote_options[] = {WAIT_OPTIONS};
const struct cli_command command_cluster_promote = {.noun = "cluster",
                                                    .verb = "promote",
                                                    .operands = "ID",
                                                    .min_operands = 1,
                                                    .max_operands = 1,
                                                    .summary = "Makes a voter of a learner, in each shard when it has caught up.",
                                                    .options = promote_options,
                                                    .option_count = COUNT_OF(promote_options),
                                                    .run = run_promote};

static int run_remove(struct cli *cli)
{
    struct change_member_request q;
    int code = node_operand(cli, KIND_REMOVE, &q);
    return code == CLI_OK ? run_change(cli, &q) : code;
}

static const struct cli_option remove_options[] = {
    {"force", NULL, "give up the change of this node that is under way"},
    WAIT_OPTIONS,
};
const struct cli_command command_cluster_remove = {
    .noun = "cluster",
    .verb = "remove",
    .operands = "ID",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Takes a node out of the cluster, dead or alive; what it leads it hands over first.",
    .details =
        "Refused when the voters that are left would have no majority that answers. A node that runs ends by itself (exit code 8) and\n"
        "leaves a note in its folder.\n"
        "Three voters survive the failure of one, five of two; two survive none, and four no more than three.\n"
        "A node that is to come back is not removed: end it with SIGTERM (systemctl stop); it hands over what it leads, and clients "
        "notice\n"
        "nothing.",
    .options = remove_options,
    .option_count = COUNT_OF(remove_options),
    .run = run_remove};

static int run_replace(struct cli *cli)
{
    struct change_member_request q;
    int code = node_operand(cli, KIND_REPLACE, &q);
    return code == CLI_OK ? run_change(cli, &q) : code;
}

static const struct cli_option replace_options[] = {
    {"force", NULL, "although the node runs with its old folder"},
    WAIT_OPTIONS,
};
const struct cli_command command_cluster_replace = {
    .noun = "cluster",
    .verb = "replace",
    .operands = "ID",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Lets a node whose data folder was lost come back, empty, under its id.",
    .details = "Start the node on an empty folder, with the configuration that it had, then give this command. The old folder is let in "
               "nowhere from\n"
               "then on: it is taken out of every shard, and the new one comes as a learner and becomes what the old one was.\n"
               "    muster cluster replace 3\n"
               "For another machine at another address: 'muster cluster add' it under a new id, then 'muster cluster remove' the old one.",
    .options = replace_options,
    .option_count = COUNT_OF(replace_options),
    .run = run_replace};

/* ---- rebalance ----------------------------------------------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Shards are dealt out over the voters in order, as the nodes do by themselves after a while; -1: nobody votes that could lead. */
static int32_t home_of(const struct members_view *view, int32_t shard)
{
    int32_t voters[MEMBERS_MAX];
    size_t count = 0;
    const struct cluster_members_response_shard *s = members_shard(view, shard);
    for (int32_t i = 0; s != NULL && i < s->replicas.len && count < COUNT_OF(voters); i++) {
        if (s->replicas.v[i].voter) {
            voters[count++] = s->replicas.v[i].node_id;
        }
    }
    qsort(voters, count, sizeof(voters[0]), compare_ids);
    return count > 0 ? voters[(size_t)shard % count] : -1;
}

static int rebalance(struct cli *cli, struct client *c, struct members_view *view)
{
    int moved = 0, failed = 0;
    json_t *moves = json_array();
    for (int32_t shard = 0; shard < members_shards(view); shard++) {
        const struct cluster_members_response_shard *s = members_shard(view, shard);
        if (s == NULL || !s->leads) {
            cli_say(cli, "shard %d has no leader that answers", shard);
            failed++;
            continue;
        }
        int32_t home = home_of(view, shard);
        const struct cluster_members_response_member *m = members_find(view, home);
        if (home < 0 || s->leader == home || (m != NULL && (!m->connected || m->standing != STANDING_VOTER))) {
            continue;
        }
        c->deadline_ms = client_now_ms() + cli->timeout_ms;
        int code = cluster_transfer(cli, c, shard, home, moves);
        moved += code == CLI_OK;
        failed += code != CLI_OK;
    }
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "shards", json_integer(members_shards(view)));
        out_json_set(document, "moved", json_incref(moves));
        out_json_print(document, cli->out);
    } else {
        fprintf(cli->out, "%d of %.*s %s moved.\n", moved,
                STR_ARG(out_count((uint64_t)members_shards(view), "shard", "shards", &cli->arena)), moved == 1 ? "was" : "were");
    }
    json_decref(moves);
    return failed > 0 ? CLI_FAILED : CLI_OK;
}

static int run_rebalance(struct cli *cli)
{
    struct client c;
    struct members_view *view = arena_get(&cli->arena, sizeof(*view));
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    c.attempt_ms = ANSWER_MS;
    int rc = members_fetch(&c, &cli->arena, view);
    code = rc < 0 ? cli_client_failed(cli, &c, rc) : rebalance(cli, &c, view);
    client_fini(&c);
    return code;
}

const struct cli_command command_cluster_rebalance = {
    .noun = "cluster",
    .verb = "rebalance",
    .operands = "",
    .summary = "Spreads the leadership of the shards evenly over the voters, now.",
    .details =
        "The nodes do so by themselves when all have been calm for some seconds. Nodes that cannot be reached or are leaving get nothing.",
    .run = run_rebalance};

/* ---- upgrade -------------------------------------------------------------------------------------------------------------------------- */

static int16_t upgrade_error(const void *response)
{
    return ((const struct upgrade_cluster_response *)response)->error_code;
}

static int print_level(struct cli *cli, const struct upgrade_cluster_response *r, bool only_asked)
{
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "before", json_integer(r->before));
        out_json_set(document, "level", json_integer(r->level));
        out_json_set(document, "raised", json_boolean(!only_asked && r->level > r->before));
        out_json_print(document, cli->out);
    } else if (r->level == r->before) {
        fprintf(cli->out, "The feature level is %d: all nodes know it, and it is the highest that they do.\n", r->level);
    } else {
        fprintf(cli->out, "The feature level %s raised from %d to %d.\n", only_asked ? "can be" : "is", r->before, r->level);
    }
    return CLI_OK;
}

static int run_upgrade(struct cli *cli)
{
    struct client c;
    struct upgrade_cluster_request q;
    const void *answer;
    int64_t level;
    wire_init(&wire_upgrade_cluster_request, &q);
    if (!cli_number(cli, "level", 1, INT16_MAX, -1, &level)) {
        return CLI_USAGE;
    }
    q.level = (int16_t)level;
    q.validate_only = cli_flag(cli, "dry-run");
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    struct client_call call = {.key = API_KEY_UPGRADE_CLUSTER, .max_version = -1, .request = &q, .changes = true};
    int rc = client_controller_call(&c, &call, upgrade_error, &cli->arena, &answer);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else {
        const struct upgrade_cluster_response *r = answer;
        code = r->error_code != 0 ? cli_fail(cli, CLI_FAILED, "%s", kafka_error_text(r->error_code, r->error_message, &cli->arena))
                                  : print_level(cli, r, q.validate_only);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option upgrade_options[] = {
    {"level", "N", "the level, if it is not to be the highest that all nodes know"},
    {"dry-run", NULL, "only say whether it can be raised"},
};
const struct cli_command command_cluster_upgrade = {
    .noun = "cluster",
    .verb = "upgrade",
    .operands = "",
    .summary = "Ends an upgrade: raises the feature level to what all nodes know. There is no way back.",
    .details =
        "To upgrade, restart the nodes with the new program, one after the other. Until this command they write only what the old program\n"
        "knows, so that it can be put back. After it, an older program stops before it applies anything of the new level (exit code 7).",
    .options = upgrade_options,
    .option_count = COUNT_OF(upgrade_options),
    .run = run_upgrade};
