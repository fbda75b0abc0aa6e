/* offsets_delete.c: muster offsets delete: of topics or partitions that are named, or of those that nobody reads any more.
 *
 * OffsetDelete, which a group with members takes as well: for topics that none of them reads. Where it does not do, AlterGroupOffsets does: for partitions that
 * are not there any more, with members fenced, in a protected group. */
#include "commands.h"
#include "offset_change.h"
#include "out.h"
#include "streams_view.h"

#include <string.h>

enum { KAFKA_UNKNOWN_TOPIC_OR_PARTITION = 3, KAFKA_NON_EMPTY_GROUP = 68, KAFKA_SUBSCRIBED = 86 };

struct deletion {
    struct cli *cli;
    struct client client;
    struct offset_changes changes;
    bool execute;
    int code;
};

/* ---- what is named ------------------------------------------------------------------------------------------------------------- */

static int take_named(struct deletion *d, const struct offsets_view *committed)
{
    struct cli *cli = d->cli;
    bool bad = false;
    for (int i = 0; i < committed->count; i++) {
        bool named = false;
        for (int k = 0; k < cli->given_count; k++) {
            named = named || (strcmp(cli->given[k].name, "topic") == 0 &&
                              offset_named(cli->given[k].value, committed->v[i].topic, committed->v[i].partition, &bad));
        }
        if (named) {
            struct offset_change *one = offset_changes_add(&d->changes, committed->v[i].topic, committed->v[i].partition, &cli->arena);
            one->action = CHANGE_DELETE;
            one->before = committed->v[i].committed;
        }
    }
    return bad ? cli_fail(cli, CLI_USAGE, "--topic takes TOPIC or TOPIC:PARTITION,PARTITION,...") : CLI_OK;
}

/* ---- what nobody reads ------------------------------------------------------------------------------------------------------------ */

/* What members subscribe to or have, a topic each. */
struct readers {
    struct offsets_view topics;
    bool any, foreign; /* whether there are members; they speak another protocol than that of consumers */
};

static int read_topics(struct deletion *d, struct readers *readers)
{
    struct arena *arena = &d->cli->arena;
    struct group_view g;
    struct offsets_view *ret = &readers->topics;
    *readers = (struct readers){0};
    int rc = group_view_fetch(&d->client, d->changes.group, arena, &g);
    if (rc == 0 && g.error != 0) {
        struct streams_view v;
        rc = streams_view_fetch(&d->client, d->changes.group, arena, &v);
        if (rc == 0 && v.error == 0) {
            streams_view_partitions(&v, ret, arena);
        }
        readers->any = ret->count > 0;
        return rc == MUSTER_E_VERSION ? 0 : rc;
    }
    readers->any = rc == 0 && g.member_count > 0;
    readers->foreign = readers->any && str_eq(g.type, STR("classic")) && !str_eq(g.protocol_type, STR("consumer"));
    for (int i = 0; rc == 0 && i < g.member_count; i++) {
        const struct member_view *m = &g.members[i];
        for (int32_t k = 0; k < m->topics.len; k++) {
            offsets_view_add(ret, m->topics.v[k], 0, arena);
        }
        for (int32_t k = 0; k < m->assignment.len; k++) {
            offsets_view_add(ret, m->assignment.v[k].topic, 0, arena);
        }
    }
    return rc;
}

static bool has_topic(const struct offsets_view *list, struct str topic)
{
    for (int i = 0; i < list->count; i++) {
        if (str_eq(list->v[i].topic, topic)) {
            return true;
        }
    }
    return false;
}

/* Whoever reads by regular expression and has nothing of a topic yet is not seen here: the coordinator knows, and keeps its offsets. */
static int take_stale(struct deletion *d, const struct offsets_view *committed)
{
    struct cli *cli = d->cli;
    struct readers readers;
    int64_t *ends = ARENA_NEW(&cli->arena, int64_t, committed->count);
    int rc = read_topics(d, &readers);
    rc = rc == 0 ? offsets_view_list(&d->client, committed, LIST_LATEST, &cli->arena, ends) : rc;
    if (rc < 0) {
        return cli_client_failed(cli, &d->client, rc);
    }
    int code = CLI_OK;
    for (int i = 0; i < committed->count && code == CLI_OK; i++) {
        code = offsets_view_told(cli, &committed->v[i], ends[i]);
        if (code != CLI_OK || (ends[i] >= 0 && (!readers.any || has_topic(&readers.topics, committed->v[i].topic)))) {
            continue;
        }
        struct offset_change *one = offset_changes_add(&d->changes, committed->v[i].topic, committed->v[i].partition, &cli->arena);
        one->action = CHANGE_DELETE;
        one->before = committed->v[i].committed;
    }
    return code;
}

/* ---- doing it ------------------------------------------------------------------------------------------------------------------------ */

static int16_t delete_error(const void *answer)
{
    return ((const struct offset_delete_response *)answer)->error_code;
}

/* Each partition's error into errors[]; the answer's own as an exit code. */
static int ask(struct deletion *d, int16_t *errors)
{
    struct cli *cli = d->cli;
    struct offset_changes *all = &d->changes;
    struct offset_delete_request request = {.group_id = all->group};
    const void *answer;
    request.topics.v = ARENA_NEW(&cli->arena, struct offset_delete_request_topic, all->count);
    struct offset_delete_request_partition *partitions = ARENA_NEW(&cli->arena, struct offset_delete_request_partition, all->count);
    for (int i = 0; i < all->count; i++) {
        struct offset_delete_request_topic *topic = request.topics.len > 0 ? &request.topics.v[request.topics.len - 1] : NULL;
        if (topic == NULL || !str_eq(topic->name, all->v[i].topic)) {
            topic = &request.topics.v[request.topics.len++];
            topic->name = all->v[i].topic;
            topic->partitions.v = &partitions[i];
        }
        topic->partitions.len++;
        partitions[i].partition_index = all->v[i].partition;
    }
    struct client_call call = {.key = API_KEY_OFFSET_DELETE, .max_version = -1, .request = &request, .changes = true};
    int rc = client_group_call(&d->client, all->group, &call, delete_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, &d->client, rc);
    }
    const struct offset_delete_response *response = answer;
    for (int i = 0; i < all->count; i++) {
        errors[i] = response->error_code;
    }
    for (int32_t t = 0; t < response->topics.len; t++) {
        for (int32_t i = 0; i < response->topics.v[t].partitions.len; i++) {
            const struct offset_delete_response_partition *p = &response->topics.v[t].partitions.v[i];
            const struct offset_change *o = offset_changes_find(all, response->topics.v[t].name, p->partition_index);
            if (o != NULL) {
                errors[o - all->v] = p->error_code;
            }
        }
    }
    return CLI_OK;
}

/* What OffsetDelete would not do because the partition is gone. */
static int delete_gone(struct deletion *d, const int16_t *errors)
{
    struct offset_changes gone = {.group = d->changes.group};
    struct change_how how = {.force = cli_flag(d->cli, "force"), .validate_only = !d->execute};
    for (int i = 0; i < d->changes.count; i++) {
        if (errors[i] == KAFKA_UNKNOWN_TOPIC_OR_PARTITION) {
            *offset_changes_add(&gone, d->changes.v[i].topic, d->changes.v[i].partition, &d->cli->arena) = d->changes.v[i];
        }
    }
    return gone.count > 0 ? offsets_change(d->cli, &d->client, &gone, &how) : CLI_OK;
}

/* Takes out of the changes what is not done. */
static int judge(struct deletion *d, const int16_t *errors, int code)
{
    struct cli *cli = d->cli;
    bool stale = cli_flag(cli, "stale");
    int kept = 0;
    for (int i = 0; code != CLI_UNREACHABLE && i < d->changes.count; i++) {
        bool done = errors[i] == 0 || errors[i] == KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        if (done) {
            d->changes.v[kept++] = d->changes.v[i];
        } else if (!stale || errors[i] != KAFKA_SUBSCRIBED) {
            code = cli_fail(cli, CLI_FAILED, "%.*s-%d: %s%s", STR_ARG(out_text(d->changes.v[i].topic, &cli->arena)),
                            (int)d->changes.v[i].partition, kafka_error_text(errors[i], STR_NULL, &cli->arena),
                            errors[i] == KAFKA_SUBSCRIBED || errors[i] == KAFKA_NON_EMPTY_GROUP ? " (--fence)" : "");
        }
    }
    d->changes.count = kept;
    return code;
}

static int delete_softly(struct deletion *d)
{
    struct cli *cli = d->cli;
    int16_t *errors = ARENA_NEW(&cli->arena, int16_t, d->changes.count);
    bool whole = false;
    if (offsets_change_is_whole(cli, &d->client, d->changes.group, &whole) < 0) {
        whole = false; /* which is found again, and said, when it is asked to do it */
    }
    struct offset_undo undo = whole ? offset_undo_note(cli, &d->client, d->changes.group) : (struct offset_undo){0};
    struct readers readers;
    undo.fence = whole && read_topics(d, &readers) == 0 && readers.any;
    int code = ask(d, errors);
    code = code == CLI_OK ? delete_gone(d, errors) : code;
    code = judge(d, errors, code);
    d->changes.undo = whole ? offset_undo_words(cli, &undo, &d->changes) : STR_NULL;
    return code;
}

/* OffsetDelete cannot be asked what it would do: its errors as far as they are seen from here. */
static int foresee(struct deletion *d, int16_t *errors)
{
    struct cli *cli = d->cli;
    struct readers readers;
    const struct metadata_response *metadata;
    struct str *names = ARENA_NEW(&cli->arena, struct str, d->changes.count);
    int count = 0;
    for (int i = 0; i < d->changes.count; i++) {
        if (count == 0 || !str_eq(names[count - 1], d->changes.v[i].topic)) {
            names[count++] = d->changes.v[i].topic;
        }
    }
    int rc = read_topics(d, &readers);
    rc = rc == 0 ? client_metadata(&d->client, names, count, &cli->arena, &metadata) : rc;
    if (rc < 0) {
        return cli_client_failed(cli, &d->client, rc);
    }
    for (int i = 0; i < d->changes.count; i++) {
        bool there = false;
        for (int32_t t = 0; t < metadata->topics.len; t++) {
            const struct metadata_response_topic *topic = &metadata->topics.v[t];
            there = there || (topic->error_code == 0 && str_eq(topic->name, d->changes.v[i].topic) &&
                              d->changes.v[i].partition < topic->partitions.len);
        }
        errors[i] = readers.foreign                                                    ? KAFKA_NON_EMPTY_GROUP
                    : !there                                                           ? KAFKA_UNKNOWN_TOPIC_OR_PARTITION
                    : readers.any && has_topic(&readers.topics, d->changes.v[i].topic) ? KAFKA_SUBSCRIBED
                                                                                       : 0;
    }
    return CLI_OK;
}

/* The plan, with the exit code that doing it would have. What is refused stays in it. */
static int plan(struct deletion *d)
{
    int16_t *errors = ARENA_NEW(&d->cli->arena, int16_t, d->changes.count);
    int count = d->changes.count;
    struct offset_change *all = ARENA_NEW(&d->cli->arena, struct offset_change, count);
    int code = foresee(d, errors);
    code = code == CLI_OK ? delete_gone(d, errors) : code;
    memcpy(all, d->changes.v, (size_t)count * sizeof(*all));
    code = judge(d, errors, code);
    d->changes.v = all;
    d->changes.count = count;
    return code;
}

static int delete_them(struct deletion *d)
{
    struct cli *cli = d->cli;
    struct change_how how = {.fence = cli_flag(cli, "fence"), .force = cli_flag(cli, "force"), .validate_only = !d->execute};
    return how.fence || how.force ? offsets_change(cli, &d->client, &d->changes, &how) : d->execute ? delete_softly(d) : plan(d);
}

static int delete_offsets(struct deletion *d)
{
    struct cli *cli = d->cli;
    struct offsets_view committed;
    struct change_report report;
    int rc = offsets_view_fetch(&d->client, d->changes.group, &cli->arena, &committed);
    if (rc < 0) {
        return cli_client_failed(cli, &d->client, rc);
    }
    int code = cli_flag(cli, "stale") ? take_stale(d, &committed) : take_named(d, &committed);
    if (code != CLI_OK) {
        return code;
    }
    if (d->changes.count == 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(d->changes.group, &cli->arena)),
                        committed.count == 0      ? "nothing is committed"
                        : !cli_flag(cli, "stale") ? "it has no such offsets"
                                                  : "nothing of what is committed is stale");
    }
    code = cli_flag(cli, "force") ? CLI_OK : group_check_protected(cli, &d->client, d->changes.group);
    if (code != CLI_OK && d->execute) {
        return code;
    }
    code = code == CLI_OK ? delete_them(d) : code;
    change_report_init(&report, cli);
    change_report_add(&report, cli, &d->changes, d->execute);
    change_report_end(&report, cli);
    if (!d->execute && code == CLI_OK) {
        cli_say(cli, "nothing was changed; --execute does it");
    }
    return code;
}

static int run_delete(struct cli *cli)
{
    struct deletion d = {.cli = cli, .changes = {.group = str_of(cli->operands[0])}, .execute = cli_flag(cli, "execute")};
    if (cli_flag(cli, "stale") == cli_flag(cli, "topic")) {
        return cli_fail(cli, CLI_USAGE, "say what: --topic TOPIC[:PARTITION,...], which may be given more than once, or --stale");
    }
    int code = cli_connect(cli, &d.client);
    if (code == CLI_OK) {
        code = delete_offsets(&d);
        client_fini(&d.client);
    }
    return code;
}

static const struct cli_option delete_options[] = {
    OPTION_NAMED_GROUP,
    {"topic", "TOPIC[:P,P]", "all partitions of the topic, or these; may be given more than once"},
    {"stale", NULL, "of topics that no member of the group reads, and of partitions that are gone"},
    {"execute", NULL, "does it; otherwise the plan is shown"},
    {"fence", NULL, "although members read the topics: removes them in the same step"},
    {"force", NULL, "although the group is protected"},
};

const struct cli_command command_offsets_delete = {
    .noun = "offsets",
    .verb = "delete",
    .operands = "GROUP",
    .min_operands = 1,
    .max_operands = 1,
    .named_by = {"group"},
    .summary = "Deletes committed offsets of a group, such as those that make a false lag.",
    .details =
        "A topic that members read is refused, but with --fence. Of a group without members --stale takes only what is gone: nobody says\n"
        "what it will read. Exit code 1 when there is nothing to delete. Shows what would be done and what would be refused, and does\n"
        "nothing, unless --execute is given; then it says how to undo it.",
    .options = delete_options,
    .option_count = COUNT_OF(delete_options),
    .run = run_delete};
