/* log_verify.c: muster log verify. */
#include "columns.h"
#include "commands.h"
#include "log.h"
#include "log_options.h"
#include "out.h"
#include "progress.h"

#include <muster/group.h>

#include <inttypes.h>
#include <string.h>

/* Of how much of the log it holds what is said of it: "" where all of it was read. */
static const char *extent_of(const struct log_folder *f)
{
    bool elsewhere = f->report.only_past || strncmp(f->report.corrupt_file, "snap-", 5) == 0;
    return f->told == CLI_OK        ? ""
           : f->told == CLI_TORN    ? " before the torn tail"
           : f->told != CLI_CORRUPT ? " before the error"
           : elsewhere              ? " outside of the damage"
                                    : " before the damage";
}

/* The reader counts a segment when it has come to its end, which damage keeps it from. */
static uint64_t segments_read(const struct log_folder *f)
{
    uint64_t begun = 0;
    for (size_t i = 0; i < f->extent.count; i++) {
        begun += f->extent.v[i].first_sequence <= f->pass.sequence;
    }
    return begun > f->report.segments ? begun : f->report.segments;
}

/* "3 batches in 1 segment before the damage". */
static struct str read_text(const struct log_folder *f, struct arena *arena)
{
    return arena_printf(arena, "%.*s in %.*s%s", STR_ARG(out_count(f->report.batches, "batch", "batches", arena)),
                        STR_ARG(out_count(segments_read(f), "segment", "segments", arena)), extent_of(f));
}

/* How much of what was verified is the state itself: without a snapshot's hash there was nothing to hold it against. */
static struct str verdict(const struct log_folder *f, const struct log_compared *c, int code, struct arena *arena)
{
    struct str snapshots = out_count(c->snapshots, "snapshot", "snapshots", arena);
    struct str hashes = c->hashes_compared == 0 ? STR_NULL
                                                : arena_printf(arena, ", and with %.*s that leaders wrote into the log",
                                                               STR_ARG(out_count(c->hashes_compared, "hash", "hashes", arena)));
    if (c->snapshots_compared + c->hashes_compared > 0) {
        return arena_printf(arena, "%.*s; the state agreed with %" PRIu64 " of them%.*s", STR_ARG(snapshots), c->snapshots_compared,
                            STR_ARG(hashes));
    }
    bool applied = code == f->told; /* else something is wrong with what the entries make, which was said */
    return arena_printf(arena, "%s: no state hash was there to compare with. Verified are the checksums%s%s%s",
                        c->snapshots == 0 ? "no snapshots" : "snapshots only where the log does not reach",
                        applied ? ", and that every entry" : "; not every entry could be applied", applied ? extent_of(f) : "",
                        applied ? " can be applied" : "");
}

/* What was verified: as a table, or, with --json, what it returns. */
static json_t *show_verified(struct cli *cli, const struct log_folder *f, const struct log_replay *r, int code)
{
    static const char *const headers[] = {"SHARD", "APPLIED", "ENTRIES", "GROUPS", "MEMBERS", "OFFSETS", "TOPICS", "STATE-HASH"};
    struct table t;
    json_t *shards = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    size_t count;
    const struct log_shard *all = log_replay_shards(r, &count);
    const struct log_compared compared = log_replay_compared(r);
    for (size_t i = 0; i < count; i++) {
        const struct log_shard *s = &all[i];
        struct group_set_counts counts;
        group_set_counts(s->set, &counts);
        struct str hash = arena_printf(&cli->arena, "%016" PRIx64, group_set_hash(s->set));
        const int64_t numbers[] = {s->shard,       (int64_t)s->index, (int64_t)s->entries, counts.groups,
                                   counts.members, counts.offsets,    counts.topics};
        static const char *const names[] = {"shard", "appliedIndex", "entries", "groups", "members", "offsets", "topics"};
        json_t *one = json_object();
        for (size_t k = 0; k < COUNT_OF(numbers); k++) {
            table_number(&t, numbers[k]);
            out_json_set(one, names[k], json_integer(numbers[k]));
        }
        table_text(&t, hash);
        out_json_set(one, "stateHash", out_json_text(hash));
        out_json_add(shards, one);
    }
    if (!cli->json) {
        table_print(&t, cli->out);
        fprintf(cli->out, "\n%.*s, %.*s\n", STR_ARG(read_text(f, &cli->arena)), STR_ARG(verdict(f, &compared, code, &cli->arena)));
        json_decref(shards);
        return NULL;
    }
    json_t *document = json_object();
    out_json_set(document, "batches", json_integer((json_int_t)f->report.batches));
    out_json_set(document, "segments", json_integer((json_int_t)segments_read(f)));
    out_json_set(document, "snapshots", json_integer((json_int_t)compared.snapshots));
    out_json_set(document, "snapshotsCompared", json_integer((json_int_t)compared.snapshots_compared));
    out_json_set(document, "hashes", json_integer((json_int_t)compared.hashes));
    out_json_set(document, "hashesCompared", json_integer((json_int_t)compared.hashes_compared));
    out_json_set(document, "shards", shards);
    return document;
}

static int verify_one(struct cli *cli, struct log_folder *f, int64_t shard, struct log_states *states, json_t **ret)
{
    int code;
    if (shard >= (int64_t)f->log_shards && f->log_shards > 0) {
        *ret = NULL;
        return cli_fail(cli, CLI_FAILED, "there is no shard %" PRId64 ": the log is of %" PRIu32, shard, f->log_shards);
    }
    struct log_replay *r = log_replay_verify(cli, f, shard, states, &code);
    *ret = show_verified(cli, f, r, code);
    log_replay_free(r);
    return code;
}

int log_verify_folder(struct cli *cli, struct log_folder *f, int64_t shard)
{
    json_t *document;
    int code = verify_one(cli, f, shard, NULL, &document);
    if (document != NULL) {
        out_json_print(document, cli->out);
    }
    return code;
}

int log_verify_folders(struct cli *cli, struct log_folder *a, const char *a_name, struct log_folder *b, const char *b_name, int64_t shard)
{
    struct log_folder *const folders[] = {a, b};
    const char *const names[] = {a_name, b_name};
    struct log_states states[2];
    json_t *documents[2], *compared = NULL;
    int code = CLI_OK;
    for (int i = 0; i < 2; i++) {
        if (!cli->json) {
            fprintf(cli->out, "%s%.*s:\n", i > 0 ? "\n" : "", STR_ARG(out_text(str_of(names[i]), &cli->arena)));
        }
        log_states_init(&states[i], folders[i]->log_shards);
        int one = verify_one(cli, folders[i], shard, &states[i], &documents[i]);
        code = one > code ? one : code;
    }
    int differ = log_states_compare(cli, states, folders, names, cli->json ? &compared : NULL);
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "data", documents[0] != NULL ? documents[0] : json_null());
        out_json_set(document, "with", documents[1] != NULL ? documents[1] : json_null());
        out_json_set(document, "states", compared);
        out_json_print(document, cli->out);
    }
    log_states_fini(&states[0]);
    log_states_fini(&states[1]);
    return code != CLI_OK ? code : differ;
}

struct checksums {
    struct log_folder *folder;
    uint64_t snapshots;
};

static void count_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    (void)meta;
    ((struct checksums *)ctx)->snapshots++;
}

static void pass_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)records;
    ((struct checksums *)ctx)->folder->pass.sequence = sequence;
    log_folder_progress(((struct checksums *)ctx)->folder, "KiB of the log read", sequence, offset);
}

/* One pass over the bytes, and no state. */
static int verify_checksums(struct cli *cli, struct log_folder *f)
{
    struct checksums c = {.folder = f};
    struct store_visit visit = {.ctx = &c, .batch = pass_batch, .snapshot = count_snapshot};
    int scanned = store_scan(&f->port, &visit, &f->report);
    uint64_t snapshots = c.snapshots;
    progress_end(cli);
    int code = log_folder_judge(cli, f, scanned);
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "batches", json_integer((json_int_t)f->report.batches));
        out_json_set(document, "segments", json_integer((json_int_t)segments_read(f)));
        out_json_set(document, "snapshots", json_integer((json_int_t)snapshots));
        out_json_print(document, cli->out);
    } else {
        fprintf(cli->out, "%.*s, %.*s; the state was not made\n", STR_ARG(read_text(f, &cli->arena)),
                STR_ARG(out_count(snapshots, "snapshot", "snapshots", &cli->arena)));
    }
    return code;
}

static int verify_with(struct cli *cli, struct log_folder *f, const char *other, int64_t shard)
{
    struct log_folder with;
    const char *name = cli_text(cli, "data");
    int code = log_folder_open(cli, other, &with);
    if (code == CLI_OK) {
        code = log_verify_folders(cli, f, name != NULL ? name : "the live node", &with, other, shard);
        log_folder_close(&with);
    }
    return code;
}

static int run_verify(struct cli *cli)
{
    struct log_folder folder;
    int64_t shard;
    const char *other = cli_text(cli, "with");
    if ((other != NULL || cli_text(cli, "shard") != NULL) && cli_flag(cli, "checksums")) {
        return cli_fail(cli, CLI_USAGE, "--with and --shard are about states, which --checksums does not make");
    }
    if (!cli_number(cli, "shard", 0, UINT16_MAX, -1, &shard)) {
        return CLI_USAGE;
    }
    int code = log_source_open(cli, &folder);
    if (code == CLI_OK) {
        code = cli_flag(cli, "checksums") ? verify_checksums(cli, &folder)
               : other != NULL            ? verify_with(cli, &folder, other, shard)
                                          : log_verify_folder(cli, &folder, shard);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option verify_options[] = {
    OPTION_DATA,
    OPTION_NODE,
    {"with", "DIR", "the data folder of another node of the cluster: verified too, and whether both make the same states"},
    {"shard", "N", "only the state of that shard; the checksums of everything all the same"},
    {"checksums", NULL, "only the checksums: ten times as fast, but entries are not applied and no state is compared"},
};

static const struct cli_column verify_columns[] = {
    COLUMN_SHARD,
    {"APPLIED", "the index of the newest entry in the state"},
    {"ENTRIES", "how many were applied, behind the snapshot that was begun with"},
    COLUMN_GROUPS_OFFSETS,
    COLUMN_TOPICS,
    COLUMN_STATE_HASH,
    {"COMPARED, FIRST, LAST", "with --with: at how many indexes the states of both were compared, and from where to where"},
    {"FIRST-DIFFERENCE", "the first of them at which they differ"},
};

const struct cli_command command_log_verify = {
    .noun = "log",
    .verb = "verify",
    .reach = REACHES_LOG,
    .operands = "",
    .summary = "Verifies a log: every checksum, and the state that it makes.",
    .details =
        "Reads every batch and snapshot, applies the entries to an empty state or to the oldest snapshot that they follow, and compares\n"
        "the state's hash with the one each snapshot carries, and with those that leaders write into the log after every\n"
        "muster.state.hash.interval entries (a young log has none of both, which is said). Where a hash in the log is another, it is told\n"
        "between which entries the state went another way; at a snapshot the records that differ are told, and the entry that wrote\n"
        "each of them last. With --with the states of two nodes are compared at every index that both logs reach, and the first "
        "entry\n"
        "behind which they differ is shown. 'log diff' finds the entry in which two nodes' logs differ.",
    .options = verify_options,
    .option_count = COUNT_OF(verify_options),
    .columns = verify_columns,
    .column_count = COUNT_OF(verify_columns),
    .run = run_verify};
