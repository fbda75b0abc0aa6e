/* log_stat.c: muster log stat: what a log consists of. One pass, memory bounded by what is counted by name. */
#include "columns.h"
#include "commands.h"
#include "log.h"
#include "log_options.h"
#include "out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1 << 16, SLOTS = 1 << 17, TOP_DEFAULT = 10 };

struct shard_stat {
    uint64_t entries, erased, bytes, records, first, last, first_term, last_term;
    int64_t from_ms, to_ms; /* wall clock of its commands; 0: none */
};
struct named_stat {
    struct str name; /* in the arena */
    uint64_t records, tombstones, bytes;
};
/* By name; beyond NAMES_MAX different ones the rest is counted together. */
struct named_stats {
    uint32_t *slots; /* place in v + 1 */
    struct named_stat *v;
    size_t count;
    struct named_stat others;
};
struct stat {
    struct cli *cli;
    const struct log_filter *filter;
    struct log_topic_ids topic_ids;
    struct shard_stat *shards;
    size_t shard_count;
    struct named_stats types, groups, clients;
    uint64_t snapshots, unreadable;
    struct arena names, scratch;
};

/* ---- by name ---- */

static void named_init(struct named_stats *n)
{
    n->slots = calloc(SLOTS, sizeof(*n->slots));
    n->v = calloc(NAMES_MAX, sizeof(*n->v)); /* pages that are not touched cost nothing */
    n->others.name = STR("(others)");
    MUSTER_CHECK(n->slots != NULL && n->v != NULL);
}

static void named_fini(struct named_stats *n)
{
    free(n->slots);
    free(n->v);
}

static struct named_stat *named(struct named_stats *n, struct str name, struct arena *arena)
{
    size_t at = hash_bytes(name.ptr, name.len > 0 ? (size_t)name.len : 0, 0) % SLOTS;
    for (; n->slots[at] != 0; at = (at + 1) % SLOTS) {
        if (str_eq(n->v[n->slots[at] - 1].name, name)) {
            return &n->v[n->slots[at] - 1];
        }
    }
    if (n->count == NAMES_MAX) {
        return &n->others;
    }
    n->v[n->count].name = arena_str(arena, name);
    n->slots[at] = (uint32_t)++n->count;
    return &n->v[n->count - 1];
}

static void count_named(struct stat *s, struct named_stats *n, struct str name, struct record record)
{
    struct named_stat *one = named(n, name, &s->names);
    one->records++;
    one->tombstones += record.value.len < 0;
    one->bytes += (uint64_t)record.key.len + (record.value.len > 0 ? (uint64_t)record.value.len : 0);
}

static int by_bytes(const void *a, const void *b)
{
    const struct named_stat *x = a;
    const struct named_stat *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return str_cmp(x->name, y->name);
}

/* ---- entries ---- */

static struct shard_stat *shard_of(struct stat *s, uint32_t shard)
{
    if (shard >= s->shard_count) {
        s->shards = reallocarray(s->shards, (size_t)shard + 1, sizeof(*s->shards));
        MUSTER_CHECK(s->shards != NULL);
        memset(s->shards + s->shard_count, 0, ((size_t)shard + 1 - s->shard_count) * sizeof(*s->shards));
        s->shard_count = (size_t)shard + 1;
    }
    return &s->shards[shard];
}

static void count_records(struct stat *s, struct shard_stat *shard, const struct log_entry *entry)
{
    for (int32_t i = 0; i < entry->records.len; i++) {
        int32_t c = entry->records.v[i].cause;
        const struct log_entry_cause *cause = c >= 0 && c < entry->causes.len ? &entry->causes.v[c] : NULL;
        struct record record = {entry->records.v[i].key, entry->records.v[i].value};
        log_topic_ids_learn(&s->topic_ids, s->filter->topic, record, &s->scratch);
        if (!log_filter_record(s->filter, &s->topic_ids, record, cause, &s->scratch)) {
            continue;
        }
        struct str group = log_record_group(record, &s->scratch);
        shard->records++;
        count_named(s, &s->types, log_record_type(record, &s->scratch), record);
        if (!str_is_null(group)) {
            count_named(s, &s->groups, group, record);
        }
        if (cause != NULL && !str_is_null(cause->client_id)) {
            count_named(s, &s->clients, cause->client_id, record);
        }
    }
}

static void count_item(void *ctx, const struct log_item *item)
{
    struct stat *s = ctx;
    struct log_entry entry;
    if (!log_filter_place(s->filter, item->shard, item->index)) {
        return;
    }
    struct shard_stat *shard = shard_of(s, item->shard);
    if (item->erased) {
        shard->erased++;
        return;
    }
    arena_clear(&s->scratch);
    bool command = item->kind == LOG_COMMAND;
    bool good = command && wire_decode(&wire_log_entry, 0, item->payload, &s->scratch, &entry, NULL) == 0;
    s->unreadable += command && !good;
    if (good && !log_filter_time(s->filter, entry.wall_ms)) {
        return;
    }
    shard->entries++;
    shard->bytes += (uint64_t)(item->payload.len > 0 ? item->payload.len : 0);
    shard->first = shard->first == 0 ? item->index : shard->first;
    shard->first_term = shard->first_term == 0 ? item->term : shard->first_term;
    shard->last = item->index;
    shard->last_term = item->term;
    if (good) {
        shard->from_ms = shard->from_ms == 0 ? entry.wall_ms : shard->from_ms;
        shard->to_ms = entry.wall_ms;
        count_records(s, shard, &entry);
    }
}

static void count_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    struct stat *s = ctx;
    s->snapshots += s->filter->shard < 0 || s->filter->shard == (int64_t)meta->shard;
}

/* ---- what is shown ---- */

static void print_shards(struct stat *s)
{
    static const char *const headers[] = {"SHARD", "FIRST", "LAST", "TERMS", "ENTRIES", "ERASED", "RECORDS", "BYTES", "FROM", "TO"};
    struct arena *arena = &s->cli->arena;
    struct table t;
    table_init(&t, arena, headers, COUNT_OF(headers));
    for (size_t i = 0; i < s->shard_count; i++) {
        const struct shard_stat *one = &s->shards[i];
        if (one->entries + one->erased == 0) {
            continue;
        }
        table_number(&t, (int64_t)i);
        table_number(&t, (int64_t)one->first);
        table_number(&t, (int64_t)one->last);
        table_text(&t, arena_printf(arena, "%" PRIu64 "-%" PRIu64, one->first_term, one->last_term));
        table_number(&t, (int64_t)one->entries);
        table_number(&t, (int64_t)one->erased);
        table_number(&t, (int64_t)one->records);
        table_number(&t, (int64_t)one->bytes);
        table_text(&t, one->from_ms != 0 ? out_time(one->from_ms, arena) : STR_NULL);
        table_text(&t, one->to_ms != 0 ? out_time(one->to_ms, arena) : STR_NULL);
    }
    table_print(&t, s->cli->out);
}

static void print_named(struct stat *s, struct named_stats *n, const char *what, int64_t top)
{
    const char *const headers[] = {what, "RECORDS", "TOMBSTONES", "BYTES"};
    struct table t;
    if (n->count == 0) {
        return;
    }
    table_init(&t, &s->cli->arena, headers, COUNT_OF(headers));
    for (size_t i = 0; i <= n->count; i++) {
        const struct named_stat *one = i < n->count ? &n->v[i] : &n->others;
        if (one->records == 0 || (i < n->count && (int64_t)i >= top)) {
            continue;
        }
        table_text(&t, one->name);
        table_number(&t, (int64_t)one->records);
        table_number(&t, (int64_t)one->tombstones);
        table_number(&t, (int64_t)one->bytes);
    }
    fputc('\n', s->cli->out);
    table_print(&t, s->cli->out);
    if ((int64_t)n->count > top) {
        fprintf(s->cli->out, "... and %" PRId64 " more (--top)\n", (int64_t)n->count - top);
    }
}

static json_t *named_json(const struct named_stats *n, int64_t top)
{
    json_t *all = json_array();
    for (size_t i = 0; i < n->count && (int64_t)i < top; i++) {
        json_t *one = json_object();
        out_json_set(one, "name", out_json_text(n->v[i].name));
        out_json_set(one, "records", json_integer((json_int_t)n->v[i].records));
        out_json_set(one, "tombstones", json_integer((json_int_t)n->v[i].tombstones));
        out_json_set(one, "bytes", json_integer((json_int_t)n->v[i].bytes));
        out_json_add(all, one);
    }
    return all;
}

static json_t *shards_json(const struct stat *s)
{
    json_t *all = json_array();
    for (size_t i = 0; i < s->shard_count; i++) {
        const struct shard_stat *one = &s->shards[i];
        const uint64_t numbers[] = {i,           one->first,   one->last, one->first_term, one->last_term, one->entries,
                                    one->erased, one->records, one->bytes};
        static const char *const names[] = {"shard",   "firstIndex", "lastIndex", "firstTerm", "lastTerm",
                                            "entries", "erased",     "records",   "bytes"};
        json_t *object = json_object();
        for (size_t k = 0; k < COUNT_OF(numbers); k++) {
            out_json_set(object, names[k], json_integer((json_int_t)numbers[k]));
        }
        out_json_set(object, "fromWallMs", one->from_ms != 0 ? json_integer(one->from_ms) : json_null());
        out_json_set(object, "toWallMs", one->to_ms != 0 ? json_integer(one->to_ms) : json_null());
        out_json_add(all, object);
    }
    return all;
}

static void print(struct stat *s, const struct store_report *report, int64_t top)
{
    struct named_stats *const named[] = {&s->types, &s->groups, &s->clients};
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        qsort(named[i]->v, named[i]->count, sizeof(*named[i]->v), by_bytes);
    }
    if (s->cli->json) {
        json_t *document = json_object();
        out_json_set(document, "segments", json_integer((json_int_t)report->segments));
        out_json_set(document, "batches", json_integer((json_int_t)report->batches));
        out_json_set(document, "snapshots", json_integer((json_int_t)s->snapshots));
        out_json_set(document, "shards", shards_json(s));
        out_json_set(document, "types", named_json(&s->types, NAMES_MAX));
        out_json_set(document, "groups", named_json(&s->groups, top));
        out_json_set(document, "clients", named_json(&s->clients, top));
        out_json_print(document, s->cli->out);
        return;
    }
    struct arena *arena = &s->cli->arena;
    fprintf(s->cli->out, "%.*s, %.*s, %.*s\n\n", STR_ARG(out_count(report->segments, "segment", "segments", arena)),
            STR_ARG(out_count(report->batches, "batch", "batches", arena)),
            STR_ARG(out_count(s->snapshots, "snapshot", "snapshots", arena)));
    print_shards(s);
    print_named(s, &s->types, "TYPE", NAMES_MAX);
    print_named(s, &s->groups, "GROUP", top);
    print_named(s, &s->clients, "CLIENT", top);
}

int log_stat_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, int64_t top)
{
    struct stat s = {.cli = cli, .filter = filter};
    arena_init(&s.names, 0);
    arena_init(&s.scratch, 0);
    named_init(&s.types);
    named_init(&s.groups);
    named_init(&s.clients);
    log_folder_learn_topic(f, filter->topic, &s.topic_ids);
    int scanned = log_folder_scan(f, count_item, NULL, count_snapshot, &s);
    print(&s, &f->report, top);
    int code = log_folder_judge(cli, f, scanned);
    if (s.unreadable > 0 && code != CLI_CORRUPT) {
        code = cli_fail(cli, CLI_CORRUPT, "%.*s cannot be read by this program",
                        STR_ARG(out_count(s.unreadable, "entry", "entries", &cli->arena)));
    }
    named_fini(&s.types);
    named_fini(&s.groups);
    named_fini(&s.clients);
    free(s.shards);
    arena_fini(&s.names);
    arena_fini(&s.scratch);
    return code;
}

static int run_stat(struct cli *cli)
{
    struct log_filter filter;
    struct log_folder folder;
    int64_t top;
    if (!log_filter_take(cli, &filter) || !cli_number(cli, "top", 1, NAMES_MAX, TOP_DEFAULT, &top)) {
        return CLI_USAGE;
    }
    int code = log_source_open(cli, &folder);
    if (code == CLI_OK) {
        code = log_stat_folder(cli, &folder, &filter, top);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option stat_options[] = {
    OPTION_DATA,   OPTION_NODE,  OPTION_GROUP, OPTION_TOPIC,
    OPTION_MEMBER, OPTION_TYPE,  OPTION_SHARD, OPTION_FROM,
    OPTION_TO,     OPTION_SINCE, OPTION_UNTIL, {"top", "N", "so many groups and clients, those with most bytes (10)"},
};

static const struct cli_column stat_columns[] = {
    COLUMN_SHARD,
    {"FIRST, LAST", "the indexes of its entries"},
    {"TERMS", "of the leaders that wrote them, the first and the last"},
    {"ENTRIES, ERASED", "how many stand; how many were replaced by a later leader and never committed"},
    {"RECORDS, TOMBSTONES", "what the entries hold: values of keys; those that delete one"},
    {"BYTES", "of a shard: of its entries; of a type, a group or a client: of keys and values"},
    {"FROM, TO", "the wall clock of the nodes that wrote the first and the last entry"},
};

const struct cli_command command_log_stat = {.noun = "log",
                                             .verb = "stat",
                                             .reach = REACHES_LOG,
                                             .operands = "",
                                             .summary = "Counts what a log consists of: by shard, type of record, group and client.",
                                             .details = "With --json one document.",
                                             .options = stat_options,
                                             .option_count = COUNT_OF(stat_options),
                                             .columns = stat_columns,
                                             .column_count = COUNT_OF(stat_columns),
                                             .run = run_stat};
