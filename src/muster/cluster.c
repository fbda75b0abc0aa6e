/* cluster.c: muster cluster status, transfer. */
#include "columns.h"
#include "commands.h"
#include "group_view.h"
#include "out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROLE_LEADER = 2, NODES_MAX = CLIENT_NODES_MAX, ANSWER_MS = 1000 };

/* ---- what the nodes say ---- */

struct node_view {
    int32_t id;
    const char *host;
    int32_t port;
    const struct cluster_status_response *status; /* NULL: did not answer */
    const char *why;                              /* not */
    bool serves;                                  /* confirmed that every shard it leads has its own reads answered */
};
struct cluster_view {
    struct str cluster_id;
    struct node_view nodes[NODES_MAX];
    int node_count;
    int shard_count;
    const struct cluster_status_response_node_status *peers; /* as the first node that answered knows them */
    int peer_count;
};

/* A list of no groups is refused as long as a shard of the node cannot answer: the answer is what a client would get. */
static bool confirm_serving(struct client *c, struct client_node *node, struct arena *arena)
{
    struct list_groups_request request;
    const void *answer;
    struct str no_state = STR("none");
    wire_init(&wire_list_groups_request, &request);
    request.states_filter.v = &no_state;
    request.states_filter.len = 1;
    struct client_call call = {.key = API_KEY_LIST_GROUPS, .min_version = 4, .max_version = -1, .request = &request};
    return client_node_call(c, node, &call, arena, &answer) == 0 && ((const struct list_groups_response *)answer)->error_code == 0;
}

static void ask_node(struct client *c, struct client_node *node, struct arena *arena, struct node_view *ret)
{
    struct cluster_status_request request;
    const void *answer = NULL;
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    *ret = (struct node_view){.id = node->id, .host = arena_printf(arena, "%s", node->host).ptr, .port = node->port};
    int rc = client_node_call(c, node, &call, arena, &answer);
    const struct cluster_status_response *status = answer;
    if (rc < 0) {
        ret->why = arena_printf(arena, "%s", c->error).ptr;
    } else if (status->error_code != 0) {
        ret->why = kafka_error_text(status->error_code, status->error_message, arena);
    } else {
        ret->status = status;
        ret->serves = confirm_serving(c, node, arena);
    }
}

static int compare_nodes(const void *a, const void *b)
{
    int32_t x = ((const struct node_view *)a)->id;
    int32_t y = ((const struct node_view *)b)->id;
    return (x > y) - (x < y);
}

static bool is_viewed(const struct cluster_view *cluster, int32_t id)
{
    for (int i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Nodes of the cluster that Metadata does not name: clients are not sent to a node that is down. */
static void add_missing(struct cluster_view *cluster, struct arena *arena)
{
    for (int i = 0; i < cluster->peer_count && cluster->node_count < NODES_MAX; i++) {
        const struct cluster_status_response_node_status *peer = &cluster->peers[i];
        if (!is_viewed(cluster, peer->node_id)) {
            cluster->nodes[cluster->node_count++] = (struct node_view){.id = peer->node_id,
                                                                       .host = arena_printf(arena, "%.*s", STR_ARG(peer->host)).ptr,
                                                                       .port = peer->port,
                                                                       .why = "the other nodes have no connection to it"};
        }
    }
    qsort(cluster->nodes, (size_t)cluster->node_count, sizeof(cluster->nodes[0]), compare_nodes);
}

/* 0 (some nodes may not have answered), or a client error: none did. */
static int fetch_cluster(struct client *c, struct arena *arena, struct cluster_view *ret)
{
    const struct metadata_response *metadata;
    *ret = (struct cluster_view){0};
    int rc = client_metadata(c, NULL, 0, arena, &metadata);
    if (rc < 0) {
        return rc;
    }
    ret->cluster_id = metadata->cluster_id;
    struct client_node *node = client_broker(c, 0);
    for (int n = 0; node != NULL && n < NODES_MAX; node = client_broker(c, ++n)) {
        struct node_view *view = &ret->nodes[ret->node_count++];
        ask_node(c, node, arena, view);
        if (view->status != NULL && ret->peers == NULL) {
            ret->peers = view->status->nodes.v;
            ret->peer_count = view->status->nodes.len;
        }
        if (view->status != NULL && view->status->shards.len > ret->shard_count) {
            ret->shard_count = view->status->shards.len;
        }
    }
    add_missing(ret, arena);
    return ret->peers != NULL ? MUSTER_E_OK : MUSTER_E_VERSION;
}

static const struct cluster_status_response_shard_status *shard_on(const struct node_view *node, int32_t shard)
{
    for (int32_t i = 0; node->status != NULL && i < node->status->shards.len; i++) {
        if (node->status->shards.v[i].shard == shard) {
            return &node->status->shards.v[i];
        }
    }
    return NULL;
}

/* The node that leads the shard: of those that say so the one of the highest term. NULL: none that answered. */
static const struct node_view *leader_of(const struct cluster_view *cluster, int32_t shard)
{
    const struct node_view *leader = NULL;
    int64_t term = -1;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct cluster_status_response_shard_status *s = shard_on(&cluster->nodes[i], shard);
        if (s != NULL && s->role == ROLE_LEADER && s->term > term) {
            leader = &cluster->nodes[i];
            term = s->term;
        }
    }
    return leader;
}

/* Two replicas that applied the same index and hold another state. */
static bool diverged(const struct cluster_view *cluster, int32_t shard)
{
    for (int i = 0; i < cluster->node_count; i++) {
        for (int k = i + 1; k < cluster->node_count; k++) {
            const struct cluster_status_response_shard_status *a = shard_on(&cluster->nodes[i], shard);
            const struct cluster_status_response_shard_status *b = shard_on(&cluster->nodes[k], shard);
            if (a != NULL && b != NULL && a->applied_index == b->applied_index && a->state_hash != b->state_hash) {
                return true;
            }
        }
    }
    return false;
}

static int led_by(const struct cluster_view *cluster, const struct node_view *node)
{
    int count = 0;
    for (int32_t shard = 0; shard < cluster->shard_count; shard++) {
        count += leader_of(cluster, shard) == node;
    }
    return count;
}

static struct str peer_address(const struct cluster_view *cluster, int32_t id)
{
    for (int i = 0; i < cluster->peer_count; i++) {
        if (cluster->peers[i].node_id == id) {
            return cluster->peers[i].peer_address;
        }
    }
    return STR_NULL;
}

/* ---- status ---- */

static json_t *node_json(const struct cluster_view *cluster, const struct node_view *node)
{
    json_t *one = json_object();
    out_json_set(one, "id", json_integer(node->id));
    out_json_set(one, "host", out_json_text(str_of(node->host)));
    out_json_set(one, "port", json_integer(node->port));
    out_json_set(one, "peerAddress", out_json_text(peer_address(cluster, node->id)));
    out_json_set(one, "up", json_boolean(node->status != NULL));
    out_json_set(one, "version", node->status != NULL ? out_json_text(node->status->version) : json_null());
    out_json_set(one, "leads", json_integer(led_by(cluster, node)));
    return one;
}

static json_t *replica_json(const struct node_view *node, const struct cluster_status_response_shard_status *s)
{
    char hash[20];
    json_t *one = json_object();
    snprintf(hash, sizeof(hash), "%016" PRIx64, (uint64_t)s->state_hash);
    out_json_set(one, "node", json_integer(node->id));
    out_json_set(one, "term", json_integer(s->term));
    out_json_set(one, "firstIndex", json_integer(s->first_index));
    out_json_set(one, "lastIndex", json_integer(s->last_index));
    out_json_set(one, "commitIndex", json_integer(s->commit_index));
    out_json_set(one, "appliedIndex", json_integer(s->applied_index));
    out_json_set(one, "snapshotIndex", json_integer(s->snapshot_index));
    out_json_set(one, "stateHash", json_string(hash));
    return one;
}

static json_t *shard_json(const struct cluster_view *cluster, int32_t shard)
{
    const struct node_view *leader = leader_of(cluster, shard);
    json_t *one = json_object();
    json_t *replicas = json_array();
    out_json_set(one, "shard", json_integer(shard));
    out_json_set(one, "leader", json_integer(leader != NULL ? leader->id : -1));
    out_json_set(one, "serving", json_boolean(leader != NULL && leader->serves));
    out_json_set(one, "diverged", json_boolean(diverged(cluster, shard)));
    if (leader != NULL) {
        const struct cluster_status_response_shard_status *s = shard_on(leader, shard);
        out_json_set(one, "term", json_integer(s->term));
        out_json_set(one, "commitIndex", json_integer(s->commit_index));
        out_json_set(one, "groups", json_integer(s->groups));
        out_json_set(one, "members", json_integer(s->members));
        out_json_set(one, "offsets", json_integer(s->offsets));
        out_json_set(one, "memoryBytes", json_integer(s->memory_bytes));
    }
    for (int i = 0; i < cluster->node_count; i++) {
        const struct cluster_status_response_shard_status *s = shard_on(&cluster->nodes[i], shard);
        if (s != NULL) {
            out_json_add(replicas, replica_json(&cluster->nodes[i], s));
        }
    }
    out_json_set(one, "replicas", replicas);
    return one;
}

static void print_json(struct cli *cli, const struct cluster_view *cluster, int32_t controller)
{
    json_t *document = json_object();
    json_t *nodes = json_array();
    json_t *shards = json_array();
    for (int i = 0; i < cluster->node_count; i++) {
        out_json_add(nodes, node_json(cluster, &cluster->nodes[i]));
    }
    for (int32_t shard = 0; shard < cluster->shard_count; shard++) {
        out_json_add(shards, shard_json(cluster, shard));
    }
    out_json_set(document, "clusterId", out_json_text(cluster->cluster_id));
    out_json_set(document, "controller", json_integer(controller));
    out_json_set(document, "nodes", nodes);
    out_json_set(document, "shards", shards);
    out_json_print(document, cli->out);
}

static void print_nodes(struct cli *cli, const struct cluster_view *cluster)
{
    static const char *const headers[] = {"NODE", "ADDRESS", "PEER-ADDRESS|", "STATE", "LEADS", "VERSION"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_view *node = &cluster->nodes[i];
        table_number(&t, node->id);
        table_text(&t, node->port > 0 ? arena_printf(&cli->arena, "%s:%d", node->host, node->port) : STR_NULL);
        table_text(&t, peer_address(cluster, node->id));
        table_text(&t, str_of(node->status != NULL ? "up" : "unreachable"));
        table_number(&t, led_by(cluster, node));
        table_text(&t, node->status != NULL ? node->status->version : STR_NULL);
    }
    table_print(&t, cli->out);
}

/* Entries that the others have yet to apply: "2:0 3:17". */
static struct str behind_text(struct cli *cli, const struct cluster_view *cluster, int32_t shard, const struct node_view *leader)
{
    struct str text = STR_NULL;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_view *node = &cluster->nodes[i];
        const struct cluster_status_response_shard_status *s = shard_on(node, shard);
        if (node == leader || leader == NULL) {
            continue;
        }
        int64_t behind = s != NULL ? shard_on(leader, shard)->commit_index - s->applied_index : 0;
        struct str one = s != NULL ? arena_printf(&cli->arena, "%d:%" PRId64, node->id, behind > 0 ? behind : 0)
                                   : arena_printf(&cli->arena, "%d:?", node->id);
        text = text.len > 0 ? arena_printf(&cli->arena, "%.*s %.*s", STR_ARG(text), STR_ARG(one)) : one;
    }
    return text;
}

static void print_shards(struct cli *cli, const struct cluster_view *cluster)
{
    static const char *const headers[] = {"SHARD",         "LEADER",        "STATE",  "TERM|",   "COMMIT-INDEX|COMMIT",
                                          "LOG-FROM|FROM", "SNAPSHOT|SNAP", "GROUPS", "MEMBERS", "OFFSETS",
                                          "KBYTES|",       "BEHIND"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t shard = 0; shard < cluster->shard_count; shard++) {
        const struct node_view *leader = leader_of(cluster, shard);
        const struct cluster_status_response_shard_status *s = leader != NULL ? shard_on(leader, shard) : NULL;
        const char *state = leader == NULL ? "no leader" : leader->serves ? "serving" : "not serving";
        table_number(&t, shard);
        table_number_or_dash(&t, leader != NULL ? leader->id : -1);
        table_text(&t, str_of(diverged(cluster, shard) ? "DIVERGED" : state));
        table_number_or_dash(&t, s != NULL ? s->term : -1);
        table_number_or_dash(&t, s != NULL ? s->commit_index : -1);
        table_number_or_dash(&t, s != NULL ? s->first_index : -1);
        table_number_or_dash(&t, s != NULL ? s->snapshot_index : -1);
        table_number_or_dash(&t, s != NULL ? s->groups : -1);
        table_number_or_dash(&t, s != NULL ? s->members : -1);
        table_number_or_dash(&t, s != NULL ? s->offsets : -1);
        table_number_or_dash(&t, s != NULL ? (s->memory_bytes + 1023) / 1024 : -1);
        table_text(&t, behind_text(cli, cluster, shard, leader));
    }
    fputc('\n', cli->out);
    table_print(&t, cli->out);
}

/* As a script would want to know it: whether there is something that nobody serves. */
static int judge(struct cli *cli, const struct cluster_view *cluster)
{
    int without = 0;
    for (int32_t shard = 0; shard < cluster->shard_count; shard++) {
        without += leader_of(cluster, shard) == NULL;
    }
    return without == 0 ? CLI_OK
                        : cli_fail(cli, CLI_FAILED, "%d of %.*s %s no leader: their groups are not served", without,
                                   STR_ARG(out_count((uint64_t)cluster->shard_count, "shard", "shards", &cli->arena)),
                                   without == 1 ? "has" : "have");
}

static int run_status(struct cli *cli)
{
    struct client c;
    struct cluster_view *cluster = arena_get(&cli->arena, sizeof(*cluster));
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    c.attempt_ms = ANSWER_MS; /* a node that hangs must not keep the others from being shown */
    int rc = fetch_cluster(&c, &cli->arena, cluster);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
        client_fini(&c);
        return code;
    }
    if (cli->json) {
        print_json(cli, cluster, c.controller);
    } else {
        struct str controller = c.controller < 0 ? STR("none") : arena_printf(&cli->arena, "node %d", c.controller);
        fprintf(cli->out, "Cluster %.*s, controller: %.*s\n\n", STR_ARG(out_text(cluster->cluster_id, &cli->arena)), STR_ARG(controller));
        print_nodes(cli, cluster);
        print_shards(cli, cluster);
    }
    for (int i = 0; i < cluster->node_count; i++) {
        if (cluster->nodes[i].status == NULL) {
            cli_say(cli, "node %d: %s", cluster->nodes[i].id, cluster->nodes[i].why);
        }
    }
    client_fini(&c);
    return judge(cli, cluster);
}

static const struct cli_column status_columns[] = {
    {"ADDRESS, PEER-ADDRESS", "where clients reach the node, and where the other nodes do"},
    {"STATE", "of a node: up, or unreachable: it did not answer this command; of a shard: serving, not serving, no leader, DIVERGED"},
    {"LEADS", "how many shards the node leads: it is the coordinator of their groups"},
    {"VERSION", "of the node's program"},
    COLUMN_SHARD,
    {"LEADER", "the node that leads the shard; all that follows is as it tells"},
    {"TERM", "counts the elections: each leader has another one"},
    {"COMMIT-INDEX", "the newest entry of the shard's log that a majority has on its disks"},
    {"LOG-FROM", "the oldest entry that the leader has in memory"},
    {"SNAPSHOT", "the entry up to which its newest snapshot holds the state: a node that starts goes on from there; 0: there is none yet"},
    COLUMN_GROUPS_OFFSETS,
    {"KBYTES", "memory that the state takes, in KiB"},
    {"BEHIND", "NODE:ENTRIES, how many each other node has yet to apply; '?' where it does not answer"},
};

const struct cli_command command_cluster_status = {
    .noun = "cluster",
    .verb = "status",
    .operands = "",
    .watchable = true,
    .summary = "Shows the nodes and the shards: who leads, how far each replica is.",
    .details =
        "Every node is asked. A shard is serving when its leader answers confirmed reads of the shards it leads. DIVERGED: two replicas\n"
        "differ at the same index, which is never right.\n"
        "Exit code 0 when every shard has a leader, 1 when a shard has none: a majority of its nodes has to answer each other. Nodes that\n"
        "do not answer are named on standard error and do not count by themselves.\n"
        "To stop a node for a while end it with SIGTERM (systemctl stop): it hands over what it leads, and clients notice nothing. Do not\n"
        "remove it.",
    .columns = status_columns,
    .column_count = COUNT_OF(status_columns),
    .run = run_status};

/* ---- transfer ---- */

/* What is asked of the cluster, and where it stood. */
struct transfer {
    int32_t shard, to; /* to -1: whichever node is best placed */
    int32_t from;      /* -1: nobody led */
    int64_t term;
    struct cluster_view *cluster;   /* as last seen */
    const struct node_view *leader; /* in it; NULL: none */
    int16_t refusal;                /* of the last request */
    const char *refusal_text;
    json_t *moves; /* NULL: what was moved is a document of its own */
};

static void print_transferred(struct cli *cli, const struct transfer *t, int32_t leader)
{
    if (cli->json) {
        json_t *move = json_object();
        out_json_set(move, "shard", json_integer(t->shard));
        out_json_set(move, "from", t->from < 0 ? json_null() : json_integer(t->from));
        out_json_set(move, "to", json_integer(leader));
        if (t->moves != NULL) {
            out_json_add(t->moves, move);
        } else {
            out_json_print(move, cli->out);
        }
    } else if (leader == t->from) {
        fprintf(cli->out, "shard %d: node %d leads it already\n", t->shard, leader);
    } else {
        fprintf(cli->out, "shard %d: node %d -> node %d\n", t->shard, t->from, leader);
    }
}

static bool arrived(const struct transfer *t)
{
    return t->leader != NULL && (t->to >= 0 ? t->leader->id == t->to : t->leader->id != t->from);
}

static int not_in_time(struct cli *cli, const struct transfer *t)
{
    if (arrived(t)) {
        return cli_fail(cli, CLI_FAILED, "shard %d: node %d leads it but does not serve it yet", t->shard, t->leader->id);
    }
    if (t->refusal != 0) {
        return cli_fail(cli, CLI_FAILED, "shard %d: %s", t->shard, t->refusal_text);
    }
    return cli_fail(cli, CLI_FAILED, "shard %d: the transfer did not succeed in time; %s %d", t->shard,
                    t->leader != NULL ? "it is led by node" : "it has no leader, was led by node",
                    t->leader != NULL ? t->leader->id : t->from);
}

/* CLI_OK also when the shard's leader says that it cannot just now: it has just taken office, or is handing over already. */
static int send_transfer(struct cli *cli, struct client *c, struct transfer *t)
{
    struct transfer_shard_request request;
    const void *answer = NULL;
    wire_init(&wire_transfer_shard_request, &request);
    request.shard = t->shard;
    request.node_id = t->to;
    struct client_call call = {.key = API_KEY_TRANSFER_SHARD, .max_version = -1, .request = &request, .changes = true};
    struct client_node *node = t->leader != NULL ? client_node_by_id(c, t->leader->id) : NULL;
    int rc = node != NULL ? client_node_call(c, node, &call, &cli->arena, &answer) : client_any_call(c, &call, &cli->arena, &answer, NULL);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    const struct transfer_shard_response *response = answer;
    t->refusal = response->error_code;
    t->refusal_text = kafka_error_text(response->error_code, response->error_message, &cli->arena);
    return t->refusal == 0 || client_coordinator_moves(t->refusal) ? CLI_OK : not_in_time(cli, t);
}

static int first_look(struct cli *cli, struct client *c, struct transfer *t)
{
    int rc = fetch_cluster(c, &cli->arena, t->cluster);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    if (t->shard >= t->cluster->shard_count) {
        return cli_fail(cli, CLI_FAILED, "there is no shard %d: the cluster has %d", t->shard, t->cluster->shard_count);
    }
    t->leader = leader_of(t->cluster, t->shard);
    t->from = t->leader != NULL ? t->leader->id : -1;
    t->term = t->leader != NULL ? shard_on(t->leader, t->shard)->term : 0;
    return CLI_OK;
}

/* Asks until the shard is where it shall be: a leader that is busy refuses, and one that cannot hand over within its election timeout gives up. */
static int transfer(struct cli *cli, struct client *c, struct transfer *t)
{
    int code = first_look(cli, c, t);
    for (int attempt = 0; code == CLI_OK; attempt++) {
        if (arrived(t) && t->leader->serves) {
            print_transferred(cli, t, t->leader->id);
            return CLI_OK;
        }
        if (t->leader != NULL && t->leader->id == t->from && shard_on(t->leader, t->shard)->term > t->term + 1) {
            return cli_fail(cli, CLI_FAILED, "shard %d was handed over and moved back to node %d, its home", t->shard, t->from);
        }
        if (!arrived(t)) {
            code = send_transfer(cli, c, t);
        }
        if (code == CLI_OK && !client_pause(c, attempt)) {
            return not_in_time(cli, t);
        }
        t->leader = fetch_cluster(c, &cli->arena, t->cluster) == 0 ? leader_of(t->cluster, t->shard) : NULL;
    }
    return code;
}

int cluster_transfer(struct cli *cli, struct client *c, int32_t shard, int32_t to, json_t *moves)
{
    struct transfer t = {.shard = shard, .to = to, .moves = moves, .cluster = arena_get(&cli->arena, sizeof(*t.cluster))};
    return transfer(cli, c, &t);
}

/* SHARD [NODE], or [NODE] with --group. *ret_shard is -1 then. */
static int take_transfer(struct cli *cli, int64_t *ret_shard, int64_t *ret_to)
{
    const char *group = cli_text(cli, "group");
    int node_at = group != NULL ? 0 : 1;
    *ret_shard = -1;
    *ret_to = -1;
    if (group == NULL && cli->operand_count == 0) {
        return cli_fail(cli, CLI_USAGE, "say what: SHARD, or --group GROUP");
    }
    if (cli->operand_count > node_at + 1) {
        return cli_fail(cli, CLI_USAGE, "say what once: SHARD, or --group GROUP");
    }
    if (group == NULL && !cli_parse_number(cli->operands[0], 0, INT32_MAX, ret_shard)) {
        return cli_fail(cli, CLI_USAGE, "'%s' is not the number of a shard; for the shard of a group: --group %s", cli->operands[0],
                        cli->operands[0]);
    }
    if (cli->operand_count > node_at && !cli_parse_number(cli->operands[node_at], 0, INT32_MAX, ret_to)) {
        return cli_fail(cli, CLI_USAGE, "'%s' is not the id of a node", cli->operands[node_at]);
    }
    return cli_number(cli, "to", 0, INT32_MAX, *ret_to, ret_to) ? CLI_OK : CLI_USAGE;
}

/* CLI_OK, or what it was that nobody said. */
static int find_shard(struct cli *cli, struct client *c, int64_t *ret_shard)
{
    const struct metadata_response *metadata;
    int rc = client_metadata(c, NULL, 0, &cli->arena, &metadata);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    *ret_shard = group_shard(c, str_of(cli_text(cli, "group")));
    return *ret_shard >= 0 ? CLI_OK : cli_fail(cli, CLI_FAILED, "nobody says how many shards there are: %s", c->error);
}

static int run_transfer(struct cli *cli)
{
    struct client c;
    int64_t shard;
    int64_t to;
    int code = take_transfer(cli, &shard, &to);
    code = code == CLI_OK ? cli_connect(cli, &c) : code;
    if (code != CLI_OK) {
        return code;
    }
    code = shard < 0 ? find_shard(cli, &c, &shard) : CLI_OK;
    code = code == CLI_OK ? cluster_transfer(cli, &c, (int32_t)shard, (int32_t)to, NULL) : code;
    client_fini(&c);
    return code;
}

static const struct cli_option transfer_options[] = {
    {"group", "GROUP", "the shard that this group is in; the first operand is the node then"},
    {"to", "NODE", "the node that shall lead the shard (whichever is best placed)"},
};

const struct cli_command command_cluster_transfer = {
    .noun = "cluster",
    .verb = "transfer",
    .operands = "[SHARD] [NODE]",
    .max_operands = 2,
    .summary = "Hands the leadership of a shard to another node and waits until that serves it.",
    .details =
        "The groups of the shard go on: their members keep what is left of their sessions. 'muster groups coordinator GROUP' says which\n"
        "shard a group is in; '--group GROUP' hands that one over. When all nodes have been calm for some seconds, leadership goes back "
        "to\n"
        "its home by itself.\n"
        "To stop a node for a while nothing has to be handed over: end it with SIGTERM (systemctl stop), which does so, and clients "
        "notice\n"
        "nothing. Do not remove it.",
    .options = transfer_options,
    .option_count = COUNT_OF(transfer_options),
    .run = run_transfer};
