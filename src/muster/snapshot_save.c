/* snapshot_save.c: muster snapshot save: every shard's state, read from its leader (ReadShard), into one file. */
#include "columns.h"
#include "client.h"
#include "commands.h"
#include "out.h"
#include "progress.h"
#include "snapshot_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { PIECE_BYTES = 128 << 10, MOST_BEGINNINGS = 100, CUT_IS_GONE = 70 };

struct saving {
    struct cli *cli;
    const char *path;
    struct client client;
    struct arena arena; /* of one answer */
    struct store_port port;
    struct store_backup_writer *writer;
    struct store_backup_info info;
    struct table table;
    json_t *shards;
    bool begun;    /* a section */
    char why[256]; /* the last beginning came to nothing */
};

static int write_failed(struct saving *s, int rc)
{
    return cli_fail(s->cli, CLI_FAILED, "%s cannot be written: %s", s->path,
                    rc == MUSTER_E_IO && errno != 0 ? strerror(errno) : muster_strerror(rc));
}

/* Time counts from the last step forward: a large state takes as long as it takes. */
static void go_on(struct saving *s)
{
    s->client.deadline_ms = client_now_ms() + s->cli->timeout_ms;
}

/* ---- whom to ask ---- */

static int ask_status(struct saving *s, const struct cluster_status_response **ret)
{
    struct cluster_status_request request;
    const void *answer;
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    arena_clear(&s->arena);
    int rc = client_any_call(&s->client, &call, &s->arena, &answer, NULL);
    if (rc == 0) {
        *ret = answer;
    }
    return rc;
}

/* The shard's leader as some node knows it; NULL: nobody knows, or the leader is not among the nodes that clients are told of. */
static int find_leader(struct saving *s, int32_t shard, struct client_node **ret)
{
    const struct cluster_status_response *status;
    const struct metadata_response *metadata;
    int rc = ask_status(s, &status);
    *ret = NULL;
    if (rc < 0 || shard >= status->shards.len) {
        return rc;
    }
    int32_t leader = status->shards.v[shard].leader;
    rc = client_metadata(&s->client, NULL, 0, &s->arena, &metadata);
    *ret = rc == 0 && leader >= 0 ? client_node_by_id(&s->client, leader) : NULL;
    if (rc == 0 && *ret == NULL) {
        (void)snprintf(s->why, sizeof(s->why), "shard %d has no leader that can be reached", shard);
    }
    return rc;
}

/* ---- one shard ---- */

enum outcome { DONE, AGAIN, FAILED };

static enum outcome ask(struct saving *s, struct client_node *node, const struct read_shard_request *request,
                        const struct read_shard_response **ret, int *code)
{
    const void *answer;
    struct client_call call = {.key = API_KEY_READ_SHARD, .max_version = -1, .request = request};
    arena_clear(&s->arena);
    int rc = client_node_call(&s->client, node, &call, &s->arena, &answer);
    if (rc == MUSTER_E_VERSION || rc == MUSTER_E_MALFORMED) {
        *code = cli_client_failed(s->cli, &s->client, rc);
        return FAILED;
    }
    if (rc < 0) {
        (void)snprintf(s->why, sizeof(s->why), "%.*s", (int)sizeof(s->why) - 1, s->client.error);
        return AGAIN;
    }
    const struct read_shard_response *response = answer;
    if (response->error_code == 0) {
        *ret = response;
        return DONE;
    }
    const char *text = kafka_error_text(response->error_code, response->error_message, &s->arena);
    (void)snprintf(s->why, sizeof(s->why), "shard %d: %s", request->shard, text);
    if (client_coordinator_moves(response->error_code) || response->error_code == CUT_IS_GONE) {
        return AGAIN;
    }
    *code = cli_fail(s->cli, CLI_FAILED, "%s", s->why);
    return FAILED;
}

static int take_piece(struct saving *s, const struct read_shard_response *piece, struct store_backup_section *section)
{
    int rc = MUSTER_E_OK;
    if (!s->begun) {
        section->index = (uint64_t)piece->index;
        section->term = (uint64_t)piece->term;
        section->state_hash = (uint64_t)piece->state_hash;
        section->catalog_index = (uint64_t)piece->catalog_index;
        s->begun = true;
        rc = store_backup_begin(s->writer, section);
    }
    return rc < 0 ? rc : store_backup_add(s->writer, piece->data);
}

/* The whole shard from its present leader, or nothing of it. */
static enum outcome read_shard(struct saving *s, struct store_backup_section *section, int *code)
{
    struct client_node *node;
    struct read_shard_request request;
    const struct read_shard_response *piece = NULL;
    int rc = find_leader(s, (int32_t)section->shard, &node);
    if (rc == MUSTER_E_VERSION || rc == MUSTER_E_MALFORMED) {
        *code = cli_client_failed(s->cli, &s->client, rc);
        return FAILED;
    }
    if (rc < 0) {
        (void)snprintf(s->why, sizeof(s->why), "%.*s", (int)sizeof(s->why) - 1, s->client.error);
    }
    if (rc < 0 || node == NULL) {
        return AGAIN;
    }
    wire_init(&wire_read_shard_request, &request);
    request.shard = (int32_t)section->shard;
    request.max_bytes = PIECE_BYTES;
    for (bool last = false; !last; request.sequence++) {
        enum outcome outcome = ask(s, node, &request, &piece, code);
        if (outcome != DONE) {
            return outcome;
        }
        go_on(s);
        rc = take_piece(s, piece, section);
        if (rc < 0) {
            *code = write_failed(s, rc);
            return FAILED;
        }
        request.cut_id = piece->cut_id;
        last = piece->last;
    }
    rc = store_backup_end(s->writer);
    s->begun = false;
    *code = rc < 0 ? write_failed(s, rc) : CLI_OK;
    return rc < 0 ? FAILED : DONE;
}

static void note_section(struct saving *s, const struct store_backup_section *section, uint64_t bytes)
{
    struct str hash = arena_printf(&s->cli->arena, "%016" PRIx64, section->state_hash);
    table_number(&s->table, section->shard);
    table_number(&s->table, (int64_t)section->index);
    table_number(&s->table, (int64_t)section->term);
    table_number(&s->table, (int64_t)bytes);
    table_text(&s->table, hash);
    json_t *one = json_object();
    out_json_set(one, "shard", json_integer(section->shard));
    out_json_set(one, "index", json_integer((json_int_t)section->index));
    out_json_set(one, "term", json_integer((json_int_t)section->term));
    out_json_set(one, "bytes", json_integer((json_int_t)bytes));
    out_json_set(one, "stateHash", out_json_text(hash));
    out_json_add(s->shards, one);
}

/* A leader that dies or moves, or that needs the state for a snapshot of its own, costs a new beginning of the shard. */
static int save_shard(struct saving *s, uint32_t shard)
{
    int code = CLI_OK;
    uint64_t before = store_backup_bytes(s->writer);
    go_on(s);
    for (int beginning = 1;; beginning++) {
        struct store_backup_section section = {.shard = shard};
        enum outcome outcome = read_shard(s, &section, &code);
        if (outcome == DONE) {
            note_section(s, &section, store_backup_bytes(s->writer) - before);
        }
        if (outcome != AGAIN) {
            return code;
        }
        if (beginning == 1) {
            cli_say(s->cli, "shard %" PRIu32 " is begun again: %s", shard, s->why);
        }
        if (s->begun) {
            s->begun = false;
            int rc = store_backup_drop(s->writer);
            if (rc < 0) {
                return write_failed(s, rc);
            }
        }
        if (beginning == MOST_BEGINNINGS || !client_pause(&s->client, beginning < 4 ? beginning : 4)) {
            return cli_fail(s->cli, CLI_UNREACHABLE, "shard %" PRIu32 " cannot be read: %s", shard, s->why);
        }
    }
}

/* ---- the whole ---- */

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int learn_cluster(struct saving *s)
{
    const struct cluster_status_response *status;
    int rc = ask_status(s, &status);
    if (rc < 0) {
        return cli_client_failed(s->cli, &s->client, rc);
    }
    s->info = (struct store_backup_info){.taken_ms = wall_ms(),
                                         .shard_count = (uint32_t)status->shards.len,
                                         .hash_version = HASH_VERSION,
                                         .version = MUSTER_VERSION};
    if (status->error_code != 0 || uuid_parse(status->cluster_id, &s->info.cluster_id) < 0 || status->shards.len == 0) {
        return cli_fail(s->cli, CLI_FAILED, "the node does not say which cluster it belongs to");
    }
    MUSTER_CHECK(getrandom(&s->info.draw, sizeof(s->info.draw), 0) == sizeof(s->info.draw));
    return CLI_OK;
}

static void print_saved(struct saving *s, uint64_t bytes)
{
    struct cli *cli = s->cli;
    char id[23];
    uuid_text(s->info.cluster_id, id);
    if (!cli->json) {
        table_print(&s->table, cli->out);
        fprintf(cli->out, "\nSaved cluster %s to %s, %" PRIu64 " bytes\n", id, s->path, bytes);
        return;
    }
    json_t *document = json_object();
    out_json_set(document, "file", out_json_text(str_of(s->path)));
    out_json_set(document, "bytes", json_integer((json_int_t)bytes));
    out_json_set(document, "clusterId", json_string(id));
    out_json_set(document, "savedAtMs", json_integer((json_int_t)s->info.taken_ms));
    out_json_set(document, "shards", json_incref(s->shards));
    out_json_print(document, cli->out);
}

/* Shard 0 last: whatever a state has acted on is then in the catalogue that is read. */
static int save_all(struct saving *s, const char *name)
{
    int rc = store_backup_create(&s->port, name, (unsigned)getpid(), &s->info, &s->writer);
    if (rc < 0) {
        return write_failed(s, rc);
    }
    int code = CLI_OK;
    for (uint32_t i = 0; code == CLI_OK && i < s->info.shard_count; i++) {
        progress(s->cli, "saving shards", i, s->info.shard_count);
        code = save_shard(s, (i + 1) % s->info.shard_count);
    }
    progress_end(s->cli);
    if (code != CLI_OK) {
        store_backup_abort(s->writer);
        return code;
    }
    rc = store_backup_commit(s->writer);
    return rc < 0 ? write_failed(s, rc) : CLI_OK;
}

static int save_to(struct saving *s, const char *dir, const char *name)
{
    struct store_port looking;
    int rc = store_port_posix_init(&looking, dir, true); /* one that writes would make the folder */
    if (rc >= 0) {
        int place = out_place(s->path);
        store_port_posix_fini(&looking);
        if (place < 0) {
            return cli_fail(s->cli, CLI_FAILED, "%s cannot be written: %s", s->path, muster_strerror(place));
        }
        if (place > 0 && !cli_flag(s->cli, "force")) {
            return cli_fail(s->cli, CLI_FAILED, "%s is there already (--force takes its place)", s->path);
        }
        rc = store_port_posix_init(&s->port, dir, false);
    }
    if (rc < 0) {
        return cli_fail(s->cli, CLI_FAILED, "%s cannot be written: %s", s->path,
                        rc == MUSTER_E_NOT_FOUND ? "there is no such folder" : strerror(errno));
    }
    int code = learn_cluster(s);
    code = code != CLI_OK ? code : save_all(s, name);
    if (code == CLI_OK) {
        uint64_t bytes = 0;
        int file;
        if (s->port.open(s->port.ctx, name, false, false, &file) >= 0) {
            (void)s->port.size(s->port.ctx, file, &bytes);
            s->port.close(s->port.ctx, file);
        }
        print_saved(s, bytes);
    }
    store_port_posix_fini(&s->port);
    return code;
}

static int run_save(struct cli *cli)
{
    static const char *const headers[] = {"SHARD", "INDEX", "TERM", "BYTES", "STATE-HASH"};
    struct saving s = {.cli = cli, .path = cli->operands[0]};
    const char *name;
    const char *dir = snapshot_path_split(s.path, &cli->arena, &name);
    if (*name == '\0') {
        return cli_fail(cli, CLI_USAGE, "'%s' is no name of a file", s.path);
    }
    int code = cli_connect(cli, &s.client);
    if (code != CLI_OK) {
        return code;
    }
    arena_init(&s.arena, 0);
    table_init(&s.table, &cli->arena, headers, COUNT_OF(headers));
    s.shards = json_array();
    code = save_to(&s, dir, name);
    json_decref(s.shards);
    arena_fini(&s.arena);
    client_fini(&s.client);
    return code;
}

static const struct cli_option save_options[] = {
    {"force", NULL, "in the place of a file that is there already"},
};

static const struct cli_column save_columns[] = {
    COLUMN_SHARD,
    {"INDEX, TERM", "the newest entry in the shard's state, and the term of the leader that wrote it"},
    COLUMN_STATE_HASH,
};

const struct cli_command command_snapshot_save = {
    .noun = "snapshot",
    .verb = "save",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Saves a backup of the whole cluster while it runs.",
    .details =
        "Every shard is read from its leader as of one entry: everything that a client was told before the save began is in the file, and\n"
        "the catalogue (topics, configs) is at least as new as whatever the groups go by. The file is written beside FILE (FILE.PID.tmp) "
        "and\n"
        "takes its name when it is whole; a FILE that is there already is kept, but with --force. --timeout is how long the cluster may\n"
        "take for one step, not for all of it. 'muster snapshot verify' tries the file, 'muster snapshot restore' makes a new cluster of "
        "it.",
    .options = save_options,
    .option_count = COUNT_OF(save_options),
    .columns = save_columns,
    .column_count = COUNT_OF(save_columns),
    .run = run_save};
