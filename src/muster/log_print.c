/* log_print.c: entries as lines, one for each record. */
#include "log.h"
#include "out.h"
#include "progress.h"

#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { RULE_WIDTH = 61, RULE_WIDTH_TERMINAL = 36 }; /* no rule that makes a record is longer than the first; on a terminal they are cut */

/* ---- patterns ---- */

struct log_pattern {
    regex_t compiled;
};

const struct log_pattern *log_pattern_new(struct cli *cli, const char *text, bool any_case)
{
    struct log_pattern *pattern = calloc(1, sizeof(*pattern));
    MUSTER_CHECK(pattern != NULL);
    int rc = regcomp(&pattern->compiled, text, REG_EXTENDED | REG_NOSUB | (any_case ? REG_ICASE : 0));
    if (rc != 0) {
        char why[160];
        (void)regerror(rc, &pattern->compiled, why, sizeof(why));
        cli_say(cli, "'%s' is no pattern: %s", text, why);
        free(pattern);
        return NULL;
    }
    return pattern;
}

void log_pattern_free(const struct log_pattern *pattern)
{
    struct log_pattern *own = (struct log_pattern *)(uintptr_t)pattern;
    if (own != NULL) {
        regfree(&own->compiled);
        free(own);
    }
}

static bool pattern_finds(const struct log_pattern *pattern, struct str line)
{
    regmatch_t whole = {.rm_so = 0, .rm_eo = line.len > 0 ? line.len : 0};
    return regexec(&pattern->compiled, line.ptr, 1, &whole, REG_STARTEND) == 0;
}

/* ---- lines ---- */

void log_printer_init(struct log_printer *p, struct cli *cli, const struct log_filter *filter)
{
    *p = (struct log_printer){.cli = cli, .filter = *filter, .kafka_shard = -1};
    p->terminal = out_is_terminal(cli->out);
    arena_init(&p->scratch, 0);
}

void log_printer_fini(struct log_printer *p)
{
    arena_fini(&p->scratch);
}

static int rule_width(const struct log_printer *p)
{
    return p->terminal ? RULE_WIDTH_TERMINAL : RULE_WIDTH;
}

void log_printer_begin(struct log_printer *p)
{
    if (p->terminal) {
        progress_end(p->cli);
    }
}

static void print_header(struct log_printer *p)
{
    log_printer_begin(p);
    if (!p->header_done && !p->cli->json) {
        fprintf(p->cli->out, "%5s %9s %5s %6s  %-24s  %-*s  %s\n", "SHARD", "INDEX", "TERM", "SIZE", "TIME", rule_width(p), "RULE",
                "RECORD <- REQUEST");
    }
    p->header_done = true;
}

/* The request in a few words: " <- JoinGroup v9 rdkafka /127.0.0.1 "the client's reason"". */
static struct str request_text(const struct log_entry_cause *cause, struct arena *arena)
{
    const struct wire_api *api = cause != NULL && cause->api_key >= 0 ? wire_api_find(cause->api_key) : NULL;
    if (api == NULL) {
        return STR("");
    }
    struct str text = arena_printf(arena, " <- %s v%d", api->name, cause->api_version);
    if (!str_is_empty(cause->client_id)) {
        text = arena_printf(arena, "%.*s %.*s", STR_ARG(text), STR_ARG(out_text(cause->client_id, arena)));
    }
    if (!str_is_empty(cause->host)) {
        text = arena_printf(arena, "%.*s %.*s", STR_ARG(text), STR_ARG(out_text(cause->host, arena)));
    }
    if (!str_is_empty(cause->reason)) {
        text = arena_printf(arena, "%.*s \"%.*s\"", STR_ARG(text), STR_ARG(out_text(cause->reason, arena)));
    }
    return text;
}

static void print_line(struct log_printer *p, const struct log_item *item, struct str time, const struct log_entry_cause *cause,
                       struct str record)
{
    struct str rule = cause != NULL ? out_cut(out_text(cause->rule, &p->scratch), rule_width(p), &p->scratch) : STR("-");
    struct str request = request_text(cause, &p->scratch);
    int blanks = rule_width(p) - out_width(rule);
    print_header(p);
    fprintf(p->cli->out, "%5" PRIu32 " %9" PRIu64 " %5" PRIu64 " %6d  %-24.*s  %.*s%*s  %s%.*s%.*s\n", item->shard, item->index, item->term,
            item->payload.len > 0 ? item->payload.len : 0, STR_ARG(time), STR_ARG(rule), blanks > 0 ? blanks : 0, "",
            item->erased ? "(erased) " : "", STR_ARG(record), STR_ARG(request));
    p->printed++;
}

static void put(struct buf *out, const char *text)
{
    MUSTER_CHECK(buf_put(out, text, strlen(text)) == 0);
}

static void put_str(struct buf *out, const char *name, struct str text)
{
    put(out, ",\"");
    put(out, name);
    put(out, "\":");
    MUSTER_CHECK(wire_dump_str(text, out) == 0);
}

static void put_number(struct buf *out, const char *name, int64_t number)
{
    char text[80];
    snprintf(text, sizeof(text), ",\"%s\":%" PRId64, name, number);
    put(out, text);
}

static void begin_json(struct buf *out, const struct log_item *item)
{
    char text[96];
    buf_init(out, 0);
    snprintf(text, sizeof(text), "{\"shard\":%" PRIu32 ",\"index\":%" PRIu64 ",\"term\":%" PRIu64, item->shard, item->index, item->term);
    put(out, text);
    put_number(out, "bytes", item->payload.len > 0 ? item->payload.len : 0);
}

static void end_json(struct log_printer *p, struct buf *out)
{
    put(out, "}\n");
    log_printer_begin(p);
    fwrite(out->ptr, 1, out->len, p->cli->out);
    buf_fini(out);
    p->printed++;
}

static void put_cause(struct buf *out, const struct log_entry_cause *cause)
{
    const struct wire_api *api = cause->api_key >= 0 ? wire_api_find(cause->api_key) : NULL;
    put(out, ",\"cause\":{\"rule\":");
    MUSTER_CHECK(wire_dump_str(cause->rule, out) == 0);
    put_str(out, "api", api != NULL ? str_of(api->name) : STR_NULL);
    put_number(out, "apiKey", cause->api_key);
    put_number(out, "apiVersion", cause->api_version);
    put_str(out, "clientId", cause->client_id);
    put_str(out, "host", cause->host);
    put_str(out, "group", cause->group_id);
    put_str(out, "reason", cause->reason);
    put(out, "}");
}

/* A line about something that is no record. */
static void print_bare(struct log_printer *p, const struct log_item *item, const char *kind, struct str text)
{
    if (p->filter.format == LOG_FORMAT_KAFKA) {
        return; /* its form has no place for them */
    }
    if (!p->cli->json) {
        print_line(p, item, STR("-"), NULL, text);
        return;
    }
    struct buf out;
    begin_json(&out, item);
    put_str(&out, "entry", str_of(kind));
    put_str(&out, "text", text);
    put(&out, item->erased ? ",\"erased\":true" : "");
    end_json(p, &out);
}

static void print_record_json(struct log_printer *p, const struct log_item *item, const struct log_entry *entry,
                              const struct log_entry_cause *cause, struct record record)
{
    struct buf out;
    begin_json(&out, item);
    put_str(&out, "time", out_time(entry->wall_ms, &p->scratch));
    put_number(&out, "wallMs", entry->wall_ms);
    put_number(&out, "shardClockMs", entry->shard_clock_ms);
    put(&out, item->erased ? ",\"erased\":true" : "");
    if (cause != NULL) {
        put_cause(&out, cause);
    }
    put(&out, ",\"record\":");
    log_record_json(record, &p->scratch, &out);
    end_json(p, &out);
}

/* The line of a record without its place and time: what a pattern is looked for in. */
static bool pattern_passes(struct log_printer *p, const struct log_entry *entry, const struct log_entry_cause *cause, struct record record)
{
    if (p->filter.grep == NULL) {
        return true;
    }
    struct str text = log_record_text(record, entry->wall_ms, &p->scratch);
    struct str rule = cause != NULL ? out_text(cause->rule, &p->scratch) : STR("-");
    struct str line = arena_printf(&p->scratch, "%.*s  %.*s%.*s", STR_ARG(rule), STR_ARG(text), STR_ARG(request_text(cause, &p->scratch)));
    return pattern_finds(p->filter.grep, line);
}

static const struct log_entry_cause *cause_of(const struct log_entry *entry, int32_t record)
{
    int32_t cause = entry->records.v[record].cause;
    return cause >= 0 && cause < entry->causes.len ? &entry->causes.v[cause] : NULL;
}

static bool takes_record(struct log_printer *p, const struct log_entry *entry, int32_t i)
{
    struct record record = {entry->records.v[i].key, entry->records.v[i].value};
    const struct log_entry_cause *cause = cause_of(entry, i);
    log_topic_ids_learn(&p->topic_ids, p->filter.topic, record, &p->scratch);
    return log_filter_record(&p->filter, &p->topic_ids, record, cause, &p->scratch) && pattern_passes(p, entry, cause, record);
}

static void print_records(struct log_printer *p, const struct log_item *item, const struct log_entry *entry)
{
    struct str time = out_time(entry->wall_ms, &p->scratch);
    for (int32_t i = 0; i < entry->records.len; i++) {
        struct record record = {entry->records.v[i].key, entry->records.v[i].value};
        if (!takes_record(p, entry, i)) {
            continue;
        }
        if (p->cli->json) {
            print_record_json(p, item, entry, cause_of(entry, i), record);
        } else {
            print_line(p, item, time, cause_of(entry, i), log_record_text(record, entry->wall_ms, &p->scratch));
        }
    }
}

static void print_command(struct log_printer *p, const struct log_item *item)
{
    struct log_entry entry;
    int rc = wire_decode(&wire_log_entry, 0, item->payload, &p->scratch, &entry, NULL);
    if (rc < 0) {
        p->unreadable = true;
        print_bare(p, item, "unreadable",
                   arena_printf(&p->scratch, "(unreadable entry of %d bytes: %s)", item->payload.len, muster_strerror(rc)));
    } else if (!log_filter_time(&p->filter, entry.wall_ms)) {
        return;
    } else if (p->filter.format == LOG_FORMAT_KAFKA) {
        log_kafka_print(p, item, &entry, takes_record);
    } else {
        print_records(p, item, &entry);
    }
}

bool log_item_times(const struct log_item *item, int64_t *ret_shard_clock_ms, int64_t *ret_wall_ms)
{
    if (item->kind != LOG_COMMAND || item->payload.len < 16) {
        return false;
    }
    *ret_shard_clock_ms = (int64_t)get_be64(item->payload.ptr);
    *ret_wall_ms = (int64_t)get_be64(item->payload.ptr + 8);
    return true;
}

void log_print_item(struct log_printer *p, const struct log_item *item)
{
    arena_clear(&p->scratch);
    if (!log_filter_place(&p->filter, item->shard, item->index) || (item->erased && !p->filter.all)) {
        return;
    }
    if (item->kind == LOG_COMMAND) {
        print_command(p, item);
    } else if (log_filter_bare(&p->filter) && p->filter.all) {
        bool barrier = item->kind == LOG_BARRIER;
        print_bare(p, item, barrier ? "barrier" : "configuration", barrier ? STR("(barrier)") : STR("(configuration of the shard)"));
    }
}

void log_print_snapshot(struct log_printer *p, const struct store_snapshot_meta *meta)
{
    arena_clear(&p->scratch);
    if (!log_filter_bare(&p->filter) && !p->filter.all) {
        return;
    }
    if (p->filter.shard >= 0 && p->filter.shard != (int64_t)meta->shard) {
        return;
    }
    struct log_item item = {.shard = meta->shard, .index = meta->index, .term = meta->term};
    print_bare(p, &item, "snapshot",
               arena_printf(&p->scratch, "(snapshot of everything up to here, state hash %016" PRIx64 ")", meta->state_hash));
}

void log_print_state(struct log_printer *p, const struct store_record *record)
{
    arena_clear(&p->scratch);
    if (!p->filter.all || !log_filter_bare(&p->filter) || (p->filter.shard >= 0 && p->filter.shard != (int64_t)record->shard)) {
        return;
    }
    struct log_item item = {.shard = record->shard, .index = record->index, .term = record->term};
    if (record->kind == STORE_TERM) {
        print_bare(p, &item, "term",
                   record->vote != 0
                       ? arena_printf(&p->scratch, "(term %" PRIu64 ", vote for node %" PRIu64 ")", record->term, record->vote)
                       : arena_printf(&p->scratch, "(term %" PRIu64 ", no vote)", record->term));
    } else if (record->kind == STORE_SNAPSHOT) {
        print_bare(p, &item, "snapshotInUse",
                   arena_printf(&p->scratch, "(snapshot in use, entries up to %" PRIu64 " no longer needed%s)", record->trim,
                                record->entry_type == 1 ? "; it replaced the log" : ""));
    }
}

int log_printer_judge(const struct log_printer *p, int code)
{
    bool bare = log_filter_bare(&p->filter);
    if (code != CLI_OK || p->printed > 0 || (bare && log_filter_everywhere(&p->filter))) {
        return code;
    }
    return cli_fail(p->cli, CLI_FAILED, "%s%s", bare ? "nothing is there" : "the log holds no such record",
                    !p->cut        ? ""
                    : p->in_memory ? " in what the node has in memory; what came before is on its disk (--disk)"
                                   : "; what came before it is in snapshots ('muster log state' shows what a folder makes of both)");
}

void log_print_record(struct log_printer *p, uint32_t shard, struct record record)
{
    arena_clear(&p->scratch);
    log_topic_ids_learn(&p->topic_ids, p->filter.topic, record, &p->scratch);
    if (!log_filter_record(&p->filter, &p->topic_ids, record, NULL, &p->scratch)) {
        return;
    }
    if (!p->cli->json) {
        struct str text = log_record_text(record, -1, &p->scratch);
        fprintf(p->cli->out, "%.*s\n", STR_ARG(text));
        p->printed++;
    } else {
        struct buf out;
        char text[32];
        buf_init(&out, 0);
        snprintf(text, sizeof(text), "{\"shard\":%" PRIu32 ",\"record\":", shard);
        put(&out, text);
        log_record_json(record, &p->scratch, &out);
        end_json(p, &out);
    }
}

bool log_printer_takes_group(const struct log_printer *p, struct str group)
{
    return str_is_null(p->filter.type) && (str_is_null(p->filter.group) || str_eq(p->filter.group, group));
}
