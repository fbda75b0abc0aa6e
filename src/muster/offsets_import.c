/* offsets_import.c: muster offsets import: offsets of files, of Kafka's log, or of a running Kafka, committed for the groups they belong to. */
#include "commands.h"
#include "kafka_offsets.h"
#include "offset_change.h"
#include "out.h"
#include "progress.h"

#include <string.h>

enum { TOPICS_EXIST = 36 };

struct import {
    struct cli *cli;
    struct client client;
    struct saved_offsets offsets;
    struct change_how how;
    bool topics_missing; /* or partitions, and nobody said what to do about it */
    struct change_report report;
};

/* ---- where from ---------------------------------------------------------------------------------------------------------------- */

static int read_kafka(struct import *m)
{
    struct cli *cli = m->cli;
    struct kafka_offsets *k = kafka_offsets_new();
    const char *cluster = cli_text(cli, "from-kafka");
    int code = cluster != NULL ? kafka_offsets_read_cluster(cli, k, cluster) : CLI_OK;
    for (int i = 0; i < cli->operand_count && cli_flag(cli, "segment") && code == CLI_OK; i++) {
        code = kafka_offsets_read_segment(cli, k, cli->operands[i]);
    }
    kafka_offsets_take(k, &cli->arena, &m->offsets);
    kafka_offsets_free(k);
    return code;
}

static int read_files(struct import *m, int wanted)
{
    struct cli *cli = m->cli;
    int code = CLI_OK;
    for (int i = 0; i < cli->operand_count && code == CLI_OK; i++) {
        struct saved_offsets one;
        code = saved_read(cli, cli->operands[i], &one);
        for (int k = 0; k < one.count && code == CLI_OK; k++) {
            if (str_is_null(one.v[k].group) && wanted != 1) {
                code = cli_fail(cli, CLI_USAGE, "%s: does not name its group; say which one with --group", cli->operands[i]);
            }
            saved_add(&m->offsets, &one.v[k], &cli->arena);
        }
    }
    return code;
}

/* "'a', 'b' and 7 more"; the offsets are in order of their groups. */
static struct str groups_text(const struct saved_offsets *s, struct arena *arena)
{
    enum { SHOWN = 10 };
    struct str text = STR("");
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        if (i > 0 && str_eq(s->v[i].group, s->v[i - 1].group)) {
            continue;
        }
        if (count++ < SHOWN) {
            text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), count > 1 ? ", " : "", STR_ARG(out_quoted(s->v[i].group, arena)));
        }
    }
    return count <= SHOWN ? text : arena_printf(arena, "%.*s and %d more", STR_ARG(text), count - SHOWN);
}

static bool is_among(struct str group, const struct str *names, int count)
{
    for (int i = 0; i < count; i++) {
        if (str_eq(names[i], group)) {
            return true;
        }
    }
    return false;
}

static bool has_group(const struct saved_offsets *s, struct str group)
{
    for (int i = 0; i < s->count; i++) {
        if (str_eq(s->v[i].group, group)) {
            return true;
        }
    }
    return false;
}

/* Only the groups that are wanted; a file that names none belongs to the one that is. */
static int choose_groups(struct import *m, const struct str *wanted, int count)
{
    struct cli *cli = m->cli;
    int kept = 0;
    for (int i = 0; i < m->offsets.count; i++) {
        m->offsets.v[i].group = str_is_null(m->offsets.v[i].group) ? wanted[0] : m->offsets.v[i].group;
    }
    saved_settle(&m->offsets);
    if (m->offsets.count == 0) {
        return cli_fail(cli, CLI_FAILED, "there is nothing to import: no offsets of any groups");
    }
    for (int k = 0; k < count; k++) {
        if (!has_group(&m->offsets, wanted[k])) {
            return cli_fail(cli, CLI_FAILED, "there are no offsets of group %.*s to import; there are of: %.*s",
                            STR_ARG(out_quoted(wanted[k], &cli->arena)), STR_ARG(groups_text(&m->offsets, &cli->arena)));
        }
    }
    for (int i = 0; i < m->offsets.count; i++) {
        if (count == 0 || is_among(m->offsets.v[i].group, wanted, count)) {
            m->offsets.v[kept++] = m->offsets.v[i];
        }
    }
    m->offsets.count = kept;
    return CLI_OK;
}

static int take_offsets(struct import *m)
{
    struct cli *cli = m->cli;
    bool kafka = cli_flag(cli, "from-kafka");
    bool segment = cli_flag(cli, "segment");
    if (kafka ? cli->operand_count > 0 || segment : cli->operand_count == 0) {
        return cli_fail(cli, CLI_USAGE, "say where from: FILE..., --segment FILE..., or --from-kafka HOST:PORT without files");
    }
    int count = 0;
    struct str *wanted = ARENA_NEW(&cli->arena, struct str, cli->given_count + 1);
    for (int i = 0; i < cli->given_count; i++) {
        if (strcmp(cli->given[i].name, "group") == 0) {
            wanted[count++] = str_of(cli->given[i].value);
        }
    }
    int code = kafka || segment ? read_kafka(m) : read_files(m, count);
    return code == CLI_OK ? choose_groups(m, wanted, count) : code;
}

/* ---- topics that are not there ------------------------------------------------------------------------------------------------------ */

struct needed {
    struct str name;
    int32_t partitions; /* at least so many */
    int32_t has;        /* 0: there is no such topic */
};

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct needed *)a)->name, ((const struct needed *)b)->name);
}

/* The topics of all offsets, once each, in order, with what the cluster has of them. */
static int needed_topics(struct import *m, struct needed **ret, int *ret_count)
{
    struct arena *arena = &m->cli->arena;
    struct needed *v = ARENA_NEW(arena, struct needed, m->offsets.count);
    struct str *names = ARENA_NEW(arena, struct str, m->offsets.count);
    const struct metadata_response *metadata;
    int count = 0;
    for (int i = 0; i < m->offsets.count; i++) {
        v[i] = (struct needed){m->offsets.v[i].topic, m->offsets.v[i].partition + 1, 0};
    }
    qsort(v, (size_t)m->offsets.count, sizeof(*v), by_name);
    for (int i = 0; i < m->offsets.count; i++) {
        bool again = count > 0 && str_eq(v[count - 1].name, v[i].name);
        int32_t partitions = again && v[count - 1].partitions > v[i].partitions ? v[count - 1].partitions : v[i].partitions;
        v[again ? count - 1 : count++] = (struct needed){v[i].name, partitions, 0};
    }
    for (int i = 0; i < count; i++) {
        names[i] = v[i].name;
    }
    int rc = client_metadata(&m->client, names, count, arena, &metadata);
    if (rc < 0) {
        return cli_client_failed(m->cli, &m->client, rc);
    }
    for (int32_t i = 0; i < metadata->topics.len; i++) {
        struct needed key = {.name = metadata->topics.v[i].name};
        struct needed *one = bsearch(&key, v, (size_t)count, sizeof(*v), by_name);
        if (one != NULL && metadata->topics.v[i].error_code == 0) {
            one->has = metadata->topics.v[i].partitions.len;
        }
    }
    *ret = v;
    *ret_count = count;
    return CLI_OK;
}

/* A topic of the other Kafka has more partitions than the offsets tell of, if that Kafka can be asked. */
static int ask_partitions(struct import *m, struct needed *v, int count)
{
    const char *cluster = cli_text(m->cli, "from-kafka");
    struct client source;
    const struct metadata_response *metadata;
    struct str *names = ARENA_NEW(&m->cli->arena, struct str, count);
    if (cluster == NULL || count == 0 || client_init(&source, cluster, m->cli->timeout_ms) < 0) {
        return CLI_OK;
    }
    for (int i = 0; i < count; i++) {
        names[i] = v[i].name;
    }
    int rc = client_metadata(&source, names, count, &m->cli->arena, &metadata);
    int code = rc < 0 ? cli_client_failed(m->cli, &source, rc) : CLI_OK;
    for (int32_t i = 0; rc == 0 && i < metadata->topics.len; i++) {
        struct needed key = {.name = metadata->topics.v[i].name};
        struct needed *one = bsearch(&key, v, (size_t)count, sizeof(*v), by_name);
        if (one != NULL && metadata->topics.v[i].partitions.len > one->partitions) {
            one->partitions = metadata->topics.v[i].partitions.len;
        }
    }
    client_fini(&source);
    return code;
}

static int16_t create_error(const void *answer)
{
    const struct create_topics_response *response = answer;
    return response->topics.len > 0 ? response->topics.v[0].error_code : 0;
}

static int create_topic(struct import *m, const struct needed *topic)
{
    struct create_topics_request request;
    struct create_topics_request_creatable_topic one = {.name = topic->name, .num_partitions = topic->partitions, .replication_factor = -1};
    const void *answer;
    wire_init(&wire_create_topics_request, &request);
    request.timeout_ms = (int32_t)m->cli->timeout_ms;
    request.topics.v = &one;
    request.topics.len = 1;
    struct client_call call = {.key = API_KEY_CREATE_TOPICS, .max_version = -1, .request = &request, .changes = true};
    int rc = client_controller_call(&m->client, &call, create_error, &m->cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(m->cli, &m->client, rc);
    }
    int16_t error = create_error(answer);
    if (error != 0 && error != TOPICS_EXIST) {
        return cli_fail(m->cli, CLI_FAILED, "topic %.*s: %s", STR_ARG(out_quoted(topic->name, &m->cli->arena)),
                        kafka_error_text(error, ((const struct create_topics_response *)answer)->topics.v[0].error_message,
                                         &m->cli->arena));
    }
    cli_say(m->cli, "topic %.*s made with %d partition%s", STR_ARG(out_quoted(topic->name, &m->cli->arena)), (int)topic->partitions,
            topic->partitions == 1 ? "" : "s");
    return CLI_OK;
}

static void skip_missing(struct import *m, const struct needed *v, int count)
{
    int kept = 0;
    for (int i = 0; i < m->offsets.count; i++) {
        struct needed key = {.name = m->offsets.v[i].topic};
        const struct needed *topic = count > 0 ? bsearch(&key, v, (size_t)count, sizeof(*v), by_name) : NULL;
        if (topic != NULL && m->offsets.v[i].partition < topic->has) {
            m->offsets.v[kept++] = m->offsets.v[i];
        }
    }
    if (kept < m->offsets.count) {
        cli_say(m->cli, "%d offset%s left out: the cluster does not have the topic or the partition", m->offsets.count - kept,
                m->offsets.count - kept == 1 ? "" : "s");
    }
    m->offsets.count = kept;
}

static bool lacks_topics(const struct import *m, const struct needed *v, int count)
{
    bool lacks = false;
    for (int i = 0; i < m->offsets.count; i++) {
        struct needed key = {.name = m->offsets.v[i].topic};
        const struct needed *topic = count > 0 ? bsearch(&key, v, (size_t)count, sizeof(*v), by_name) : NULL;
        lacks = lacks || topic == NULL || m->offsets.v[i].partition >= topic->has;
    }
    return lacks;
}

static int settle_topics(struct import *m)
{
    struct needed *topics = NULL;
    int count = 0;
    int code = needed_topics(m, &topics, &count);
    if (code == CLI_OK && cli_flag(m->cli, "skip-missing")) {
        skip_missing(m, topics, count);
        return CLI_OK;
    }
    if (code != CLI_OK || !cli_flag(m->cli, "create-topics")) {
        m->topics_missing = code == CLI_OK && lacks_topics(m, topics, count);
        return code;
    }
    code = ask_partitions(m, topics, count);
    for (int i = 0; i < count && code == CLI_OK; i++) {
        if (topics[i].has == 0 && !m->how.validate_only) {
            code = create_topic(m, &topics[i]);
        } else if (topics[i].has == 0) {
            cli_say(m->cli, "topic %.*s would be made with %d partition%s", STR_ARG(out_quoted(topics[i].name, &m->cli->arena)),
                    (int)topics[i].partitions, topics[i].partitions == 1 ? "" : "s");
        }
    }
    return code;
}

/* ---- groups ---------------------------------------------------------------------------------------------------------------------------- */

/* What the group has now, so that the plan shows it. */
static int fill_before(struct import *m, struct offset_changes *changes)
{
    struct offsets_view now;
    int rc = offsets_view_fetch(&m->client, changes->group, &m->cli->arena, &now);
    if (rc < 0) {
        return cli_client_failed(m->cli, &m->client, rc);
    }
    for (int i = 0; i < now.count; i++) {
        const struct offset_change *found = offset_changes_find(changes, now.v[i].topic, now.v[i].partition);
        if (found != NULL) {
            changes->v[found - changes->v].before = now.v[i].committed;
        }
    }
    return CLI_OK;
}

/* A plan that needs topics which are yet to be made cannot be asked about. */
static int import_group(struct import *m, int begin, int end)
{
    struct offset_changes changes = {.group = m->offsets.v[begin].group};
    for (int i = begin; i < end; i++) {
        const struct saved_offset *from = &m->offsets.v[i];
        struct offset_change *to = offset_changes_add(&changes, from->topic, from->partition, &m->cli->arena);
        to->offset = to->after = from->offset;
        to->leader_epoch = from->leader_epoch;
        to->metadata = from->metadata;
    }
    m->client.deadline_ms = client_now_ms() + m->cli->timeout_ms; /* for each group */
    int code = fill_before(m, &changes);
    if (code == CLI_OK && !(m->how.validate_only && cli_flag(m->cli, "create-topics"))) {
        code = offsets_change(m->cli, &m->client, &changes, &m->how);
    }
    if (code == CLI_OK) {
        change_report_add(&m->report, m->cli, &changes, !m->how.validate_only);
    }
    return code;
}

static int import_all(struct import *m)
{
    int code = settle_topics(m);
    if (code != CLI_OK) {
        return code;
    }
    change_report_init(&m->report, m->cli);
    for (int begin = 0, end; begin < m->offsets.count && code != CLI_UNREACHABLE; begin = end) {
        for (end = begin + 1; end < m->offsets.count && str_eq(m->offsets.v[end].group, m->offsets.v[begin].group); end++) {
        }
        progress(m->cli, m->how.validate_only ? "asking about offsets" : "importing offsets", begin, m->offsets.count);
        int one = import_group(m, begin, end);
        code = one != CLI_OK ? one : code;
    }
    progress_end(m->cli);
    change_report_end(&m->report, m->cli);
    if (code == CLI_FAILED && m->topics_missing) {
        cli_say(m->cli, "--create-topics makes topics that are missing, --skip-missing leaves out what there is no topic or partition for");
    }
    if (m->how.validate_only && code == CLI_OK) {
        cli_say(m->cli, "nothing was changed; --execute does it");
    }
    return code;
}

static int run_import(struct cli *cli)
{
    struct import m = {.cli = cli,
                       .how = {.create = CREATE_MAY,
                               .fence = cli_flag(cli, "fence"),
                               .force = cli_flag(cli, "force"),
                               .validate_only = !cli_flag(cli, "execute")}};
    if (cli_flag(cli, "create-topics") && cli_flag(cli, "skip-missing")) {
        return cli_fail(cli, CLI_USAGE, "--create-topics and --skip-missing do not go together");
    }
    int code = take_offsets(&m);
    code = code == CLI_OK ? cli_connect(cli, &m.client) : code;
    if (code == CLI_OK) {
        code = import_all(&m);
        client_fini(&m.client);
    }
    return code;
}

static const struct cli_option import_options[] = {
    {"group", "GROUP", "only this group, or the one that a file without groups belongs to; may be given more than once"},
    {"segment", NULL, "the files are segments (*.log) of Kafka's topic __consumer_offsets, those of a partition in order"},
    {"from-kafka", "HOST:PORT,...", "reads that topic from a running Kafka"},
    {"create-topics", NULL, "makes topics that are missing, with as many partitions as the source has"},
    {"skip-missing", NULL, "leaves out what the cluster has no topic or partition for"},
    {"execute", NULL, "does it; otherwise the plan is shown"},
    {"fence", NULL, "although a group has members: removes them in the same step"},
    {"force", NULL, "although a group is protected"},
};

const struct cli_command command_offsets_import = {
    .noun = "offsets",
    .verb = "import",
    .operands = "[FILE...]",
    .max_operands = -1,
    .summary = "Takes offsets over from files, or from Apache Kafka with all its groups.",
    .details =
        "Files are those of `muster offsets export`, CSV or JSON; '-' is standard input. From Kafka come the offsets of classic, consumer\n"
        "and streams groups alike; their members come by themselves when they are pointed here, and say then which protocol the group\n"
        "speaks. Each group is taken as a whole or not at all. Stop the groups there first: what they commit later is not taken.\n"
        "Into Apache Kafka it works, too (--bootstrap). Shows what would be done and does nothing, unless --execute is given;\n"
        "then it says how to undo it, group by group.\n"
        "    muster offsets import --from-kafka old-kafka:9092 --create-topics --execute\n"
        "    muster offsets import my-group.csv --group my-group --execute",
    .options = import_options,
    .option_count = COUNT_OF(import_options),
    .run = run_import};
