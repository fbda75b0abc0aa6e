/* log_diff.c: muster log diff: two logs entry by entry. Of the first only a hash is kept of each entry, so that what is needed is 24 bytes an entry. */
#include "columns.h"
#include "commands.h"
#include "log.h"
#include "log_options.h"
#include "out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Entries of a shard that stand, ascending. */
struct side_shard {
    struct mark {
        uint64_t index, term, hash;
    } * v;
    size_t count, cap;
};
struct side {
    struct side_shard *shards;
    size_t shard_count;
    const struct log_filter *filter; /* place and time */
};

static struct side_shard *shard_of(struct side *side, uint32_t shard)
{
    if (shard >= side->shard_count) {
        side->shards = reallocarray(side->shards, (size_t)shard + 1, sizeof(*side->shards));
        MUSTER_CHECK(side->shards != NULL);
        memset(side->shards + side->shard_count, 0, ((size_t)shard + 1 - side->shard_count) * sizeof(*side->shards));
        side->shard_count = (size_t)shard + 1;
    }
    return &side->shards[shard];
}

static void take(void *ctx, const struct log_item *item)
{
    struct side *side = ctx;
    if (item->erased || !log_filter_item(side->filter, item)) {
        return;
    }
    struct side_shard *s = shard_of(side, item->shard);
    while (s->count > 0 && s->v[s->count - 1].index >= item->index) {
        s->count--; /* the folder of a running node: erased since the first pass */
    }
    if (s->count == s->cap) {
        s->cap = s->cap > 0 ? s->cap * 2 : 256;
        s->v = reallocarray(s->v, s->cap, sizeof(*s->v));
        MUSTER_CHECK(s->v != NULL);
    }
    s->v[s->count++] = (struct mark){item->index, item->term,
                                     hash_bytes(item->payload.ptr, item->payload.len > 0 ? (size_t)item->payload.len : 0, item->kind)};
}

static void side_fini(struct side *side)
{
    for (size_t i = 0; i < side->shard_count; i++) {
        free(side->shards[i].v);
    }
    free(side->shards);
}

/* ---- comparing ---- */

struct finding {
    uint32_t shard;
    uint64_t a_first, a_last, b_first, b_last; /* 0: nothing there */
    uint64_t same;                             /* entries that both have */
    uint64_t differs;                          /* first index at which they differ; 0: none */
    bool by_term;                              /* it is of another term: another leader wrote it */
    uint64_t different;                        /* how many of those that both have do */
};

static struct finding compare(uint32_t shard, const struct side_shard *a, const struct side_shard *b)
{
    struct finding f = {.shard = shard};
    f.a_first = a->count > 0 ? a->v[0].index : 0;
    f.a_last = a->count > 0 ? a->v[a->count - 1].index : 0;
    f.b_first = b->count > 0 ? b->v[0].index : 0;
    f.b_last = b->count > 0 ? b->v[b->count - 1].index : 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        const struct mark *x = &a->v[i];
        const struct mark *y = &b->v[k];
        if (x->index != y->index) {
            i += x->index < y->index;
            k += y->index < x->index;
            continue;
        }
        bool same = x->term == y->term && x->hash == y->hash;
        f.same += same;
        f.different += !same;
        if (!same && f.differs == 0) {
            f.differs = x->index;
            f.by_term = x->term != y->term;
        }
        i++;
        k++;
    }
    return f;
}

static json_t *finding_json(const struct finding *f)
{
    const uint64_t numbers[] = {f->shard, f->a_first, f->a_last, f->b_first, f->b_last, f->same, f->different};
    static const char *const names[] = {"shard", "firstIndex", "lastIndex", "otherFirstIndex", "otherLastIndex", "same", "different"};
    json_t *one = json_object();
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        out_json_set(one, names[i], json_integer((json_int_t)numbers[i]));
    }
    out_json_set(one, "firstDifference", f->differs != 0 ? json_integer((json_int_t)f->differs) : json_null());
    return one;
}

/* ---- the entries that differ ---- */

struct one_entry {
    struct log_printer printer;
    uint32_t shard;
    uint64_t index;
};

static void show_one(void *ctx, const struct log_item *item)
{
    struct one_entry *one = ctx;
    if (item->shard == one->shard && item->index == one->index && !item->erased) {
        log_print_item(&one->printer, item);
    }
}

void log_show_entry(struct cli *cli, struct log_folder *f, const char *name, uint32_t shard, uint64_t index)
{
    const struct log_filter filter = {.group = STR_NULL, .type = STR_NULL, .shard = -1, .to = INT64_MAX, .all = true};
    struct one_entry one = {.shard = shard, .index = index};
    log_printer_init(&one.printer, cli, &filter);
    fprintf(cli->out, "\nshard %" PRIu32 ", entry %" PRIu64 " of %.*s:\n", shard, index, STR_ARG(out_text(str_of(name), &cli->arena)));
    (void)log_folder_scan(f, show_one, NULL, NULL, &one);
    log_printer_fini(&one.printer);
}

static void print_findings(struct cli *cli, const struct finding *v, size_t count)
{
    static const char *const headers[] = {"SHARD", "FIRST", "LAST", "OTHER-FIRST", "OTHER-LAST", "SAME", "DIFFERENT", "FIRST-DIFFERENCE"};
    struct table t;
    json_t *all = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (size_t i = 0; i < count; i++) {
        const uint64_t numbers[] = {v[i].shard, v[i].a_first, v[i].a_last, v[i].b_first, v[i].b_last, v[i].same, v[i].different};
        for (size_t k = 0; k < COUNT_OF(numbers); k++) {
            table_number(&t, (int64_t)numbers[k]);
        }
        table_number_or_dash(&t, v[i].differs != 0 ? (int64_t)v[i].differs : -1);
        out_json_add(all, finding_json(&v[i]));
    }
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "shards", all);
        out_json_print(document, cli->out);
    } else {
        table_print(&t, cli->out);
        json_decref(all);
    }
}

int log_diff_folders(struct cli *cli, struct log_folder *a, const char *a_name, struct log_folder *b, const char *b_name,
                     const struct log_filter *filter)
{
    struct side sides[2] = {{.filter = filter}, {.filter = filter}};
    int scanned_a = log_folder_scan(a, take, NULL, NULL, &sides[0]);
    int scanned_b = log_folder_scan(b, take, NULL, NULL, &sides[1]);
    int code_a = log_folder_judge(cli, a, scanned_a);
    int code_b = log_folder_judge(cli, b, scanned_b);
    int code = code_a > code_b ? code_a : code_b;
    size_t count = sides[0].shard_count > sides[1].shard_count ? sides[0].shard_count : sides[1].shard_count;
    struct finding *findings = ARENA_NEW(&cli->arena, struct finding, count);
    uint64_t different = 0;
    for (size_t i = 0; i < count; i++) {
        findings[i] = compare((uint32_t)i, shard_of(&sides[0], (uint32_t)i), shard_of(&sides[1], (uint32_t)i));
        different += findings[i].different;
    }
    print_findings(cli, findings, count);
    for (size_t i = 0; i < count && !cli->json; i++) {
        if (findings[i].differs != 0) {
            log_show_entry(cli, a, a_name, findings[i].shard, findings[i].differs);
            log_show_entry(cli, b, b_name, findings[i].shard, findings[i].differs);
        }
    }
    if (different > 0 && code < CLI_CORRUPT) {
        code = cli_fail(cli, CLI_FAILED, "%.*s that both logs have %s not the same",
                        STR_ARG(out_count(different, "entry", "entries", &cli->arena)), different == 1 ? "is" : "are");
    }
    side_fini(&sides[0]);
    side_fini(&sides[1]);
    return code;
}

/* The folder or the node to compare with. */
static int open_other(struct cli *cli, const char **ret_name, struct log_folder *ret)
{
    const char *dir = cli_text(cli, "with"), *node = cli_text(cli, "with-node");
    int64_t id;
    if ((dir == NULL) == (node == NULL)) {
        return cli_fail(cli, CLI_USAGE, "what to compare with: --with DIR, a folder, or --with-node ID, a live node");
    }
    if (!cli_number(cli, "with-node", 0, INT32_MAX, -1, &id)) {
        return CLI_USAGE;
    }
    *ret_name = dir != NULL ? dir : arena_printf(&cli->arena, "node %s", node).ptr;
    return dir != NULL ? log_folder_open(cli, dir, ret) : log_remote_open(cli, id, ret);
}

static int run_diff(struct cli *cli)
{
    struct log_folder a, b;
    struct log_filter filter;
    const char *data = cli_text(cli, "data"), *node = cli_text(cli, "node"), *other = NULL;
    if (!log_filter_take(cli, &filter)) {
        return CLI_USAGE;
    }
    int code = open_other(cli, &other, &b);
    if (code != CLI_OK) {
        return code;
    }
    code = log_source_open(cli, &a);
    if (code == CLI_OK) {
        const char *name = data != NULL ? data : node != NULL ? arena_printf(&cli->arena, "node %s", node).ptr : "the live node";
        code = log_diff_folders(cli, &a, name, &b, other, &filter);
        log_folder_close(&a);
    }
    log_folder_close(&b);
    return code;
}

static const struct cli_option diff_options[] = {
    OPTION_DATA,
    OPTION_NODE,
    {"with", "DIR", "the other log: a data folder"},
    {"with-node", "ID", "or that of a live node"},
    OPTION_SHARD,
    OPTION_FROM,
    OPTION_TO,
    OPTION_SINCE,
    OPTION_UNTIL,
};

static const struct cli_column diff_columns[] = {
    COLUMN_SHARD,
    {"FIRST, LAST", "the indexes of its entries in the first log; OTHER-FIRST, OTHER-LAST: in the other"},
    {"SAME, DIFFERENT", "how many of those that both have are the same, term and contents, and how many are not"},
    {"FIRST-DIFFERENCE", "the index of the first that is not"},
};

const struct cli_command command_log_diff = {
    .noun = "log",
    .verb = "diff",
    .reach = REACHES_LOG,
    .operands = "",
    .summary = "Compares two logs entry by entry: of folders, of live nodes, or of one and the other.",
    .details =
        "Entries are compared where both logs have them, term and contents; one log may begin later or end earlier, which is no "
        "difference.\n"
        "Of each shard that differs the first such entry is shown from both. An entry at the end of a folder that was never committed may\n"
        "differ by right. Exit code 1 when entries differ.",
    .options = diff_options,
    .option_count = COUNT_OF(diff_options),
    .columns = diff_columns,
    .column_count = COUNT_OF(diff_columns),
    .run = run_diff};
