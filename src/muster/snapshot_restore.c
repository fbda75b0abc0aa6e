/* snapshot_restore.c: muster snapshot restore: the data folder of one node of a new cluster that begins with a backup. */
#include "commands.h"
#include "new_folder.h"
#include "out.h"
#include "snapshot_file.h"

#include <muster/raft_host.h>

#include <string.h>

struct restoring {
    struct cli *cli;
    const char *dir;
    struct form_config peers;
    struct store_identity identity;
    struct table table;
    json_t *shards;
};

/* ---- who the new nodes are: what follows from file and arguments, so that all nodes agree without a word between them ---- */

static void add_bytes(struct buf *out, const void *data, size_t len)
{
    uint8_t head[8];
    put_le64(head, len);
    MUSTER_CHECK(buf_put(out, head, sizeof(head)) == 0 && buf_put(out, data, len) == 0);
}

static void add_number(struct buf *out, uint64_t number)
{
    uint8_t b[8];
    put_le64(b, number);
    add_bytes(out, b, sizeof(b));
}

static struct uuid uuid_of(const struct buf *from, uint64_t seed)
{
    struct uuid id;
    put_be64(id.b, hash_bytes(from->ptr, from->len, seed));
    put_be64(id.b + 8, hash_bytes(from->ptr, from->len, seed + 1));
    id.b[0] &= 0x7f; /* an id that begins with a dash would pass for an option */
    id.b[15] |= 1;   /* none is zero */
    return id;
}

static void add_plan(struct restoring *r, const struct store_backup_info *info, struct buf *out)
{
    const char *token = cli_text(r->cli, "token");
    token = token != NULL ? token : "";
    add_bytes(out, "muster restore 1", 16);
    add_bytes(out, info->cluster_id.b, 16);
    add_number(out, info->draw);
    add_number(out, (uint64_t)info->taken_ms);
    add_bytes(out, token, strlen(token));
    for (uint32_t i = 0; i < r->peers.peer_count; i++) {
        add_number(out, r->peers.peers[i].node_id);
        add_bytes(out, r->peers.peers[i].address, strlen(r->peers.peers[i].address));
    }
}

static int take_cluster_id(struct restoring *r, const struct store_backup_info *info, const struct buf *plan)
{
    const char *given = cli_text(r->cli, "cluster-id");
    if (given == NULL) {
        r->identity.cluster_id = uuid_of(plan, 1);
        return CLI_OK;
    }
    if (uuid_parse(str_of(given), &r->identity.cluster_id) < 0 || uuid_is_zero(r->identity.cluster_id)) {
        return cli_fail(r->cli, CLI_USAGE, "--cluster-id takes 22 characters of URL-safe base64, as Kafka's tools print them, not '%s'",
                        given);
    }
    if (uuid_eq(r->identity.cluster_id, info->cluster_id)) {
        return cli_fail(
            r->cli, CLI_USAGE,
            "--cluster-id is the id of the cluster that was saved: a restored cluster is another one, so that their nodes never mix");
    }
    return CLI_OK;
}

static int plan(struct restoring *r, const struct store_backup_info *info)
{
    struct buf text;
    buf_init(&text, 0);
    add_plan(r, info, &text);
    int code = take_cluster_id(r, info, &text);
    add_bytes(&text, r->identity.cluster_id.b, 16);
    r->identity.shard_count = info->shard_count;
    r->identity.hash_version = info->hash_version;
    r->identity.peer_count = r->peers.peer_count;
    for (uint32_t i = 0; i < r->peers.peer_count; i++) {
        struct store_peer *peer = &r->identity.peers[i];
        *peer = r->peers.peers[i];
        peer->incarnation = uuid_of(&text, 0x10000 + 2 * (uint64_t)peer->node_id);
        if (peer->node_id == r->identity.node_id) {
            r->identity.incarnation = peer->incarnation;
        }
    }
    buf_fini(&text);
    return code;
}

/* ---- the folder ---- */

static int restore_shards(struct restoring *r, struct snapshot_file *f, struct new_folder *folder)
{
    for (;;) {
        struct store_backup_section section;
        struct group_set *set;
        int code = snapshot_file_next(f, &section, &set);
        if (code != CLI_OK || set == NULL) {
            return code;
        }
        new_folder_forget_nodes(set, section.index);
        code = new_folder_shard(folder, section.shard, section.index, section.term, set);
        if (code != CLI_OK) {
            return code;
        }
        snapshot_row(r->cli, &r->table, r->shards, &section, set);
    }
}

static int restore_file(struct restoring *r, struct snapshot_file *f)
{
    struct new_folder folder;
    if (f->info.hash_version != HASH_VERSION) {
        return cli_fail(r->cli, CLI_FAILED, "%s was saved by a release whose groups lie in other shards", f->path);
    }
    int code = plan(r, &f->info);
    if (code == CLI_OK) {
        code = new_folder_begin(r->cli, r->dir, &r->identity, &folder);
    }
    if (code != CLI_OK) {
        return code;
    }
    code = restore_shards(r, f, &folder);
    if (code != CLI_OK) {
        new_folder_abort(&folder);
        return code;
    }
    return new_folder_commit(&folder);
}

/* ---- the command ---- */

static void print_restored(struct restoring *r)
{
    struct cli *cli = r->cli;
    char id[23];
    uuid_text(r->identity.cluster_id, id);
    if (!cli->json) {
        table_print(&r->table, cli->out);
        fprintf(cli->out, "\nRestored into %s: node %u of the new cluster %s, %u nodes, %u shards\n", r->dir, r->identity.node_id, id,
                r->identity.peer_count, r->identity.shard_count);
        return;
    }
    json_t *document = json_object();
    out_json_set(document, "data", out_json_text(str_of(r->dir)));
    out_json_set(document, "node", json_integer(r->identity.node_id));
    out_json_set(document, "clusterId", json_string(id));
    out_json_set(document, "nodes", json_integer(r->identity.peer_count));
    out_json_set(document, "shards", json_incref(r->shards));
    out_json_print(document, cli->out);
}

static int take_arguments(struct restoring *r)
{
    int64_t node;
    struct cli *cli = r->cli;
    const char *peers = cli_text(cli, "peers");
    r->dir = cli_text(cli, "data");
    if (!cli_number(cli, "node-id", 1, INT32_MAX, 0, &node)) {
        return CLI_USAGE;
    }
    if (r->dir == NULL || node == 0) {
        return cli_fail(cli, CLI_USAGE, "%s is missing", r->dir == NULL ? "--data DIR" : "--node-id N");
    }
    if (cli_text(cli, "token") != NULL && cli_text(cli, "cluster-id") != NULL) {
        return cli_fail(cli, CLI_USAGE, "--cluster-id and --token exclude each other: the token is what an id is made from");
    }
    int code = peers_parse(cli, peers != NULL ? peers : "", &r->peers);
    for (uint32_t i = 0; code == CLI_OK && i < r->peers.peer_count; i++) {
        if (r->peers.peers[i].node_id == (uint32_t)node) {
            r->identity.node_id = (uint32_t)node;
        }
    }
    if (code == CLI_OK && r->identity.node_id == 0) {
        return cli_fail(cli, CLI_USAGE, "--peers does not name node %d", (int)node);
    }
    return code;
}

static int run_restore(struct cli *cli)
{
    struct restoring r = {.cli = cli};
    struct snapshot_file f;
    const char *const *headers;
    int columns;
    int code = take_arguments(&r);
    if (code == CLI_OK) {
        code = snapshot_file_open(cli, cli->operands[0], &f);
    }
    if (code != CLI_OK) {
        return code;
    }
    snapshot_row_headers(&headers, &columns);
    table_init(&r.table, &cli->arena, headers, columns);
    r.shards = json_array();
    code = restore_file(&r, &f);
    snapshot_file_close(&f);
    if (code == CLI_OK) {
        print_restored(&r);
    }
    json_decref(r.shards);
    return code;
}

static const struct cli_option restore_options[] = {
    {"node-id", "N", "node.id of the node that the folder is for"},
    {"peers", "ID@HOST:PORT,...", "every node of the new cluster with its peer listener, as muster.peers will have them"},
    {"data", "DIR", "the folder to make (muster.data.dir): it must not exist, or be empty"},
    {"token", "TEXT", "any text: other texts make other clusters of the same file"},
    {"cluster-id", "ID", "the new cluster's id, instead of one made from file, peers and token"},
};

const struct cli_command command_snapshot_restore = {
    .noun = "snapshot",
    .verb = "restore",
    .reach = REACHES_NOBODY,
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Makes the data folder of a node of a new cluster from a backup.",
    .details = "Run once for each node, with the same file, the same --peers and the same --token or --cluster-id: these nodes are one "
               "cluster, which\n"
               "need not be formed. It has another id than the cluster that was saved, and its nodes and those of that one refuse each "
               "other. Topics,\n"
               "configs, groups, members and offsets are as they were; members find the new nodes if they are told of them, and have a "
               "full session to\n"
               "do so. Start a node on its folder once: a folder that is restored again after its node ran is that of a node that has "
               "forgotten what it\n"
               "promised, and can make the cluster lose what it acknowledged. `muster cluster replace` is for that.\n"
               "    muster snapshot restore day.backup --node-id 1 --peers 1@10.1.0.1:9093,2@10.1.0.2:9093,3@10.1.0.3:9093 --data data-1\n"
               "Then start each node with node.id, muster.peers and muster.data.dir as they are given here, and muster.shards as it was.",
    .options = restore_options,
    .option_count = COUNT_OF(restore_options),
    .run = run_restore};
