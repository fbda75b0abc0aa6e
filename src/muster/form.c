/* form.c: muster cluster form. */
#include "commands.h"
#include "out.h"

#include <muster/raft_host.h>

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SHARDS = 8, MOST_SHARDS = 256 };

/* "ID@HOST:PORT" of len bytes. */
static bool parse_peer(const char *text, size_t len, struct store_peer *ret)
{
    char *end;
    unsigned long id = strtoul(text, &end, 10);
    if (end == text || *end != '@' || id < 1 || id > INT32_MAX) {
        return false;
    }
    const char *address = end + 1;
    size_t address_len = (size_t)(text + len - address);
    if (address >= text + len || address_len >= sizeof(ret->address) || memchr(address, ':', address_len) == NULL) {
        return false;
    }
    *ret = (struct store_peer){.node_id = (uint32_t)id};
    memcpy(ret->address, address, address_len);
    return true;
}

static int compare_peers(const void *a, const void *b)
{
    uint32_t x = ((const struct store_peer *)a)->node_id;
    uint32_t y = ((const struct store_peer *)b)->node_id;
    return (x > y) - (x < y);
}

int peers_parse(struct cli *cli, const char *text, struct form_config *config)
{
    while (*text != '\0') {
        size_t len = strcspn(text, ",");
        if (config->peer_count == COUNT_OF(config->peers)) {
            return cli_fail(cli, CLI_USAGE, "--peers names more than %zu nodes", COUNT_OF(config->peers));
        }
        if (!parse_peer(text, len, &config->peers[config->peer_count++])) {
            return cli_fail(cli, CLI_USAGE, "'%.*s' is no peer: ID@HOST:PORT, as in muster.peers", (int)len, text);
        }
        text += len + (text[len] == ',');
    }
    if (config->peer_count == 0) {
        return cli_fail(cli, CLI_USAGE, "--peers ID@HOST:PORT,... is missing: every node's id and peer listener, as in muster.peers");
    }
    qsort(config->peers, config->peer_count, sizeof(config->peers[0]), compare_peers);
    for (uint32_t i = 1; i < config->peer_count; i++) {
        if (config->peers[i].node_id == config->peers[i - 1].node_id) {
            return cli_fail(cli, CLI_USAGE, "--peers names node %u twice", config->peers[i].node_id);
        }
    }
    return CLI_OK;
}

static void print_formed(struct cli *cli, struct uuid cluster_id, bool already, const struct form_config *config)
{
    char id[23];
    uuid_text(cluster_id, id);
    if (!cli->json) {
        fprintf(cli->out, "%s %s, %.*s, %.*s\n", already ? "The cluster was formed before:" : "The cluster is formed:", id,
                STR_ARG(out_count(config->peer_count, "node", "nodes", &cli->arena)),
                STR_ARG(out_count(config->shard_count, "shard", "shards", &cli->arena)));
        return;
    }
    json_t *document = json_object();
    out_json_set(document, "clusterId", json_string(id));
    out_json_set(document, "formedBefore", json_boolean(already));
    out_json_set(document, "nodes", json_integer(config->peer_count));
    out_json_set(document, "shards", json_integer(config->shard_count));
    out_json_print(document, cli->out);
}

static int run_form(struct cli *cli)
{
    struct form_config config = {.hash_version = HASH_VERSION};
    struct uuid cluster_id;
    int64_t shards;
    bool already = false;
    char text[RAFT_HOST_TEXT_BYTES] = "";
    const char *peers = cli_text(cli, "peers");
    if (!cli_number(cli, "shards", 1, MOST_SHARDS, DEFAULT_SHARDS, &shards)) {
        return CLI_USAGE;
    }
    int code = peers_parse(cli, peers != NULL ? peers : "", &config);
    if (code != CLI_OK) {
        return code;
    }
    config.shard_count = (uint32_t)shards;
    int rc = form_client_run(&config, (int)cli->timeout_ms, &cluster_id, &already, text);
    if (rc < 0) {
        return cli_fail(cli, rc == MUSTER_E_CLOSED ? CLI_UNREACHABLE : CLI_FAILED, "the cluster is not formed: %s",
                        text[0] != '\0' ? text : muster_strerror(rc));
    }
    if (!already) {
        (void)form_client_await(&config, (int)cli->timeout_ms);
    }
    print_formed(cli, cluster_id, already, &config);
    return CLI_OK;
}

static const struct cli_option form_options[] = {
    {"peers", "ID@HOST:PORT,...", "every node with its peer listener, as muster.peers has them"},
    {"shards", "N", "muster.shards of the nodes' configuration (8)"},
};

const struct cli_command command_cluster_form = {
    .noun = "cluster",
    .verb = "form",
    .reach = REACHES_PEERS,
    .operands = "",
    .summary = "Forms a cluster of empty nodes, once.",
    .details =
        "Every node has to run and be empty, and its configuration has to name the same peers and number of shards; otherwise nothing is\n"
        "done. Run again after an interruption it finishes what was begun. `musterd form` does the same with a node's configuration.",
    .options = form_options,
    .option_count = COUNT_OF(form_options),
    .run = run_form};
