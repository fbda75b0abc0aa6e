/* cluster_recover.c: muster cluster recover: what one node's folder holds becomes a new cluster of that node alone. */
#include "commands.h"
#include "log.h"
#include "new_folder.h"
#include "out.h"
#include "progress.h"
#include "snapshot_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char warning[] =
    "================================================ WARNING ================================================\n"
    "This gives up the cluster that %s belonged to. What this one folder holds becomes a new cluster\n"
    "of one node, under another cluster id. It is for a majority of nodes whose disks are gone for good.\n"
    "\n"
    "  * Changes that the other nodes stored and this one did not are lost, although clients were told that\n"
    "    they had been made. Nothing in this folder says how many: compare the indexes below with those of\n"
    "    other folders (muster log verify --data DIR) and take the node that has most.\n"
    "  * Changes at the end of this folder's log that no client was told of become true.\n"
    "  * No other node of the old cluster may be started again beside the new one: clients that find it\n"
    "    would be served twice. The new cluster refuses them.\n"
    "==========================================================================================================\n";

struct recovering {
    struct cli *cli;
    char dir[4096 - 64], beside[4096], aside[4096]; /* the folder, the new one, and where the old one goes */
    struct store_port port;
    struct store_identity old, identity;
    struct table table;
    json_t *shards;
    int code; /* of making the new folder */
};

/* ---- the folder as it is ---- */

static int take_folder(struct recovering *r)
{
    struct cli *cli = r->cli;
    const char *data = cli_text(cli, "data");
    struct stat st;
    if (data == NULL) {
        return cli_fail(cli, CLI_USAGE, "--data DIR is missing");
    }
    size_t len = strlen(data);
    while (len > 1 && data[len - 1] == '/') {
        len--;
    }
    if (len >= sizeof(r->dir)) {
        return cli_fail(cli, CLI_USAGE, "--data is too long");
    }
    memcpy(r->dir, data, len);
    if (stat(r->dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
        return cli_fail(cli, CLI_FAILED, "the data folder %s cannot be opened: there is no such folder", r->dir);
    }
    int rc = store_port_posix_init(&r->port, r->dir, false);
    if (rc < 0) {
        r->port.ctx = NULL;
        return cli_fail(cli, CLI_FAILED, "the data folder %s cannot be opened: %s", r->dir,
                        errno != 0 ? strerror(errno) : muster_strerror(rc));
    }
    rc = r->port.lock(r->port.ctx);
    if (rc < 0) {
        return cli_fail(cli, CLI_FAILED, "the data folder %s is in use: stop the node first", r->dir);
    }
    rc = store_identity_read(&r->port, &r->old);
    if (rc == MUSTER_E_NOT_FOUND) {
        return cli_fail(cli, CLI_FAILED, "%s is not the data folder of a node that was part of a cluster", r->dir);
    }
    return rc < 0 ? cli_fail(cli, CLI_CORRUPT, "%s does not say whose it is: its identity is damaged", r->dir) : CLI_OK;
}

static void draw(struct uuid *ret)
{
    MUSTER_CHECK(getrandom(ret->b, sizeof(ret->b), 0) == sizeof(ret->b));
    ret->b[0] &= 0x7f; /* an id that begins with a dash would pass for an option */
}

/* The node alone, under new ids. */
static int plan(struct recovering *r)
{
    r->identity = r->old;
    draw(&r->identity.cluster_id);
    draw(&r->identity.incarnation);
    r->identity.joined = false; /* it is the founder of the new one */
    r->identity.peer_count = 0;
    for (uint32_t i = 0; i < r->old.peer_count; i++) {
        if (r->old.peers[i].node_id == r->old.node_id) {
            r->identity.peers[0] = r->old.peers[i];
            r->identity.peers[0].incarnation = r->identity.incarnation;
            r->identity.peer_count = 1;
        }
    }
    if (r->identity.peer_count == 0 || r->old.hash_version != HASH_VERSION) {
        return cli_fail(r->cli, CLI_FAILED, "%s was made by another release: use the `muster` of that one", r->dir);
    }
    char stamp[32];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    MUSTER_CHECK(gmtime_r(&now.tv_sec, &tm) != NULL && strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm) > 0);
    (void)snprintf(r->beside, sizeof(r->beside), "%s.recovering", r->dir);
    (void)snprintf(r->aside, sizeof(r->aside), "%s.before-recover-%s", r->dir, stamp);
    return access(r->aside, F_OK) == 0 ? cli_fail(r->cli, CLI_FAILED, "%s is there already", r->aside) : CLI_OK;
}

/* ---- the folder to be ---- */

/* Shard 0 must not be behind what another shard has acted on, or that one would wait for it for ever: its numbers go on from there. */
static uint64_t first_index(const struct log_shard *shards, size_t count)
{
    uint64_t index = shards[0].index;
    for (size_t i = 0; i < count; i++) {
        uint64_t acted_on = (uint64_t)group_set_cursor(shards[i].set);
        index = acted_on > index ? acted_on : index;
    }
    return index;
}

static struct store_backup_section section_of(const struct log_shard *s)
{
    return (struct store_backup_section){.shard = s->shard, .index = s->index, .term = s->term, .state_hash = group_set_hash(s->set)};
}

static int make(struct recovering *r, const struct log_shard *shards, size_t count)
{
    struct new_folder folder;
    int code = new_folder_begin(r->cli, r->beside, &r->identity, &folder);
    if (code != CLI_OK) {
        return code;
    }
    for (size_t i = 0; code == CLI_OK && i < count; i++) {
        const struct log_shard *s = &shards[i];
        uint64_t index = s->index;
        progress(r->cli, "shards", (int64_t)i, (int64_t)count);
        if (s->shard == 0) {
            index = first_index(shards, count);
        }
        new_folder_forget_nodes(s->set, index);
        code = new_folder_shard(&folder, s->shard, index, s->term + 1, s->set);
    }
    progress_end(r->cli);
    if (code == CLI_OK) {
        return new_folder_commit(&folder);
    }
    new_folder_abort(&folder);
    return code;
}

/* A node that was still joining may hold nothing of a shard. */
static void tell_missing(const struct recovering *r, const struct log_shard *shards, size_t count)
{
    size_t at = 0;
    for (uint32_t shard = 0; shard < r->old.shard_count; shard++) {
        if (at < count && shards[at].shard == shard) {
            at++;
        } else {
            cli_say(r->cli, "shard %" PRIu32 ": the folder holds nothing of it: ALL ITS GROUPS ARE LOST", shard);
        }
    }
}

static void found(void *ctx, const struct log_shard *shards, size_t count)
{
    struct recovering *r = ctx;
    struct cli *cli = r->cli;
    if (count == 0 || shards[0].shard != 0) {
        r->code = cli_fail(cli, CLI_FAILED, "the folder holds no log of shard 0: there is nothing to recover");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct store_backup_section section = section_of(&shards[i]);
        snapshot_row(cli, &r->table, r->shards, &section, shards[i].set);
    }
    fprintf(cli->err, warning, r->dir);
    tell_missing(r, shards, count);
    if (!cli->json) {
        table_print(&r->table, cli->out);
        fflush(cli->out);
    }
    if (!cli_flag(cli, "force-new-cluster")) {
        r->code = cli_fail(cli, CLI_USAGE, "nothing was done: --force-new-cluster says that this is wanted");
        return;
    }
    r->code = make(r, shards, count);
}

/* ---- one in the place of the other ---- */

static int sync_parent(const char *dir)
{
    char parent[4096];
    (void)snprintf(parent, sizeof(parent), "%s/..", dir);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* Between the two renames there is no folder: a node that starts then finds an empty one, and waits to be formed. */
static int exchange(struct recovering *r)
{
    if (rename(r->dir, r->aside) < 0) {
        return cli_fail(r->cli, CLI_FAILED, "%s cannot be renamed: %s. The new cluster's folder is %s", r->dir, strerror(errno), r->beside);
    }
    if (rename(r->beside, r->dir) < 0 || sync_parent(r->dir) < 0) {
        return cli_fail(r->cli, CLI_FAILED, "%s cannot be renamed: %s. The old folder is %s", r->beside, strerror(errno), r->aside);
    }
    return CLI_OK;
}

static void print_recovered(struct recovering *r)
{
    struct cli *cli = r->cli;
    char id[23];
    const struct store_peer *self = &r->identity.peers[0];
    uuid_text(r->identity.cluster_id, id);
    if (!cli->json) {
        fprintf(cli->out, "\nNode %u is a cluster of its own now: %s. The old folder is %s\n", self->node_id, id, r->aside);
        fprintf(cli->out, "Set muster.peers=%u@%s in its configuration, and start it.\n", self->node_id, self->address);
        return;
    }
    json_t *document = json_object();
    out_json_set(document, "data", out_json_text(str_of(r->dir)));
    out_json_set(document, "oldData", out_json_text(str_of(r->aside)));
    out_json_set(document, "node", json_integer(self->node_id));
    out_json_set(document, "clusterId", json_string(id));
    out_json_set(document, "peers", out_json_text(arena_printf(&cli->arena, "%u@%s", self->node_id, self->address)));
    out_json_set(document, "shards", json_incref(r->shards));
    out_json_print(document, cli->out);
}

static int recover(struct recovering *r)
{
    struct log_folder folder;
    int code = take_folder(r);
    code = code != CLI_OK ? code : plan(r);
    code = code != CLI_OK ? code : log_folder_open_port(r->cli, &r->port, &folder);
    if (code != CLI_OK) {
        return code;
    }
    code = log_replay_folder(r->cli, &folder, found, r);
    log_folder_close(&folder);
    if (code != CLI_OK && code != CLI_TORN) {
        return code;
    }
    code = r->code;
    code = code != CLI_OK ? code : exchange(r);
    if (code == CLI_OK) {
        print_recovered(r);
    }
    return code;
}

static int run_recover(struct cli *cli)
{
    struct recovering r = {.cli = cli, .shards = json_array()};
    const char *const *headers;
    int columns;
    snapshot_row_headers(&headers, &columns);
    table_init(&r.table, &cli->arena, headers, columns);
    int code = recover(&r);
    if (r.port.ctx != NULL) {
        store_port_posix_fini(&r.port);
    }
    json_decref(r.shards);
    return code;
}

static const struct cli_option recover_options[] = {
    {"data", "DIR", "the data folder (muster.data.dir) of a node that is stopped"},
    {"force-new-cluster", NULL, "do it; without it only what would be done is shown"},
};

const struct cli_command command_cluster_recover = {
    .noun = "cluster",
    .verb = "recover",
    .reach = REACHES_NOBODY,
    .operands = "",
    .summary = "Makes a new cluster of one node from a folder, when most nodes are lost.",
    .details =
        "For a cluster whose majority will never come back. MAY LOSE WHAT CLIENTS WERE TOLD HAD BEEN STORED. Take the folder whose indexes "
        "are\n"
        "highest. The old folder stays beside as DIR.before-recover-TIME. A damaged folder is refused, and so is one whose node runs. The\n"
        "node serves alone afterwards; others are added to it with empty folders. Where there is a backup that is good enough, `muster\n"
        "snapshot restore` is the better way.",
    .options = recover_options,
    .option_count = COUNT_OF(recover_options),
    .run = run_recover};
