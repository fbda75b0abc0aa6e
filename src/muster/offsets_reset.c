/* offsets_reset.c: muster offsets reset: kafka-consumer-groups --reset-offsets by its own option names, and --fence.
 *
 * First a plan is made: which partitions, where they are, where they go, no further than what there is to read. Without --execute that is all.
 * What the group had at a moment of the past comes out of the log, and goes on as if it had been a file. */
#include "commands.h"
#include "log_options.h"
#include "log_past.h"
#include "offset_change.h"
#include "offset_file.h"
#include "out.h"
#include "streams_view.h"
#include "when.h"

#include <inttypes.h>
#include <string.h>

enum goal { TO_OFFSET, TO_EARLIEST, TO_LATEST, TO_CURRENT, TO_DATETIME, BY_DURATION, SHIFT_BY, FROM_FILE, TO_INDEX, TO_TIME, GOALS };
static const char *const goal_names[GOALS] = {"to-offset",   "to-earliest", "to-latest", "to-current", "to-datetime",
                                              "by-duration", "shift-by",    "from-file", "to-index",   "to-time"};

struct reset {
    struct cli *cli;
    struct client client;
    enum goal goal;
    int64_t number;         /* of TO_OFFSET, SHIFT_BY */
    int64_t time_ms;        /* of TO_DATETIME, BY_DURATION */
    struct log_moment past; /* of TO_INDEX, TO_TIME */
    bool restores;          /* those: what was committed is committed again, whatever the topic's end is said to be */
    struct saved_offsets file;
    struct change_how how;
    bool execute;
    bool muster; /* the cluster: the end of a partition is 0 there until somebody sets it, and then nothing is cut to it */
    int cut_to_end, cut_to_begin, endless; /* of the group that is planned now; the last: would go to an end that nobody has set */
    struct change_report report;
    struct saved_offsets exported; /* for --export */
};

/* ---- the command line ------------------------------------------------------------------------------------------------------------ */

static int take_goal(struct reset *r)
{
    struct cli *cli = r->cli;
    int given = 0;
    for (int i = 0; i < GOALS; i++) {
        if (cli_flag(cli, goal_names[i])) {
            r->goal = (enum goal)i;
            given++;
        }
    }
    if (given != 1) {
        return cli_fail(
            cli, CLI_USAGE,
            "say where to, once: --to-offset, --to-earliest, --to-latest, --to-current, --to-datetime, --by-duration, --shift-by, "
            "--from-file, --to-index or --to-time");
    }
    const char *value = cli_text(cli, goal_names[r->goal]);
    if (!log_time_take(cli, "to-datetime", &r->time_ms)) {
        return CLI_USAGE;
    }
    if (r->goal == BY_DURATION) {
        int64_t ago;
        if (!when_parse_duration(value, &ago)) {
            return cli_fail(cli, CLI_USAGE, "--by-duration takes a duration like P1DT2H30M10S, not '%s'", value);
        }
        r->time_ms = log_wall_ms() - ago;
    }
    if (!cli_number(cli, "to-offset", INT64_MIN, INT64_MAX, 0, &r->number)) {
        return CLI_USAGE;
    }
    if (r->goal == SHIFT_BY && !cli_number(cli, "shift-by", INT64_MIN, INT64_MAX, 0, &r->number)) {
        return CLI_USAGE;
    }
    r->past = (struct log_moment){.given = true, .by_time = r->goal == TO_TIME};
    if (!log_time_take(cli, "to-time", &r->past.wall_ms) || !cli_number(cli, "to-index", 1, INT64_MAX, INT64_MAX, &r->past.index)) {
        return CLI_USAGE;
    }
    if (r->goal == TO_TIME && log_time_to_come(r->past.wall_ms)) {
        return cli_fail(cli, CLI_USAGE, "--to-time: that is in the future; it takes the time that the offsets are to be as of");
    }
    return r->goal == FROM_FILE ? saved_read(cli, value, &r->file) : CLI_OK;
}

static bool is_past(const struct reset *r)
{
    return r->goal == TO_INDEX || r->goal == TO_TIME;
}

static int take_options(struct reset *r)
{
    struct cli *cli = r->cli;
    r->execute = cli_flag(cli, "execute");
    r->how = (struct change_how){.fence = cli_flag(cli, "fence"), .force = cli_flag(cli, "force")};
    if (r->execute && cli_flag(cli, "dry-run")) {
        return cli_fail(cli, CLI_USAGE, "--execute and --dry-run do not go together");
    }
    if (!is_past(r) && (cli_flag(cli, "data") || cli_flag(cli, "node"))) {
        return cli_fail(cli, CLI_USAGE, "--data and --node go with --to-index and --to-time: where the log is read");
    }
    if (r->goal != FROM_FILE && !is_past(r) && cli_flag(cli, "all-topics") == cli_flag(cli, "topic")) {
        return cli_fail(cli, CLI_USAGE,
                        "say which topics: --all-topics, or --topic TOPIC[:PARTITION,...], which may be given more than once");
    }
    return CLI_OK;
}

/* ---- which partitions -------------------------------------------------------------------------------------------------------------- */

static void add_places(struct offsets_view *places, const struct offsets_view *committed, struct str topic, struct arena *arena)
{
    for (int i = 0; i < committed->count; i++) {
        if (str_is_null(topic) || str_eq(committed->v[i].topic, topic)) {
            offsets_view_add(places, committed->v[i].topic, committed->v[i].partition, arena);
        }
    }
}

/* TOPIC or TOPIC:0,1. A topic's name has no colon in it. */
static int add_topic(struct reset *r, const char *text, struct offsets_view *places)
{
    struct cli *cli = r->cli;
    const char *colon = strchr(text, ':');
    struct str topic = colon == NULL ? str_of(text) : (struct str){text, (int32_t)(colon - text)};
    const struct metadata_response *metadata;
    while (colon != NULL && *colon != '\0') {
        size_t len = strcspn(colon + 1, ",");
        int64_t partition;
        if (!cli_parse_number(arena_printf(&cli->arena, "%.*s", (int)len, colon + 1).ptr, 0, INT32_MAX, &partition)) {
            return cli_fail(cli, CLI_USAGE, "--topic takes TOPIC or TOPIC:PARTITION,PARTITION,..., not '%s'", text);
        }
        offsets_view_add(places, topic, (int32_t)partition, &cli->arena);
        colon += len + 1;
    }
    if (colon != NULL) {
        return CLI_OK;
    }
    int rc = client_metadata(&r->client, &topic, 1, &cli->arena, &metadata);
    if (rc < 0) {
        return cli_client_failed(cli, &r->client, rc);
    }
    if (metadata->topics.len != 1 || metadata->topics.v[0].error_code != 0) {
        return cli_fail(cli, CLI_FAILED, "topic %.*s: %s", STR_ARG(out_quoted(topic, &cli->arena)),
                        kafka_error_text(metadata->topics.len == 1 ? metadata->topics.v[0].error_code : 3, STR_NULL, &cli->arena));
    }
    for (int32_t i = 0; i < metadata->topics.v[0].partitions.len; i++) {
        offsets_view_add(places, topic, metadata->topics.v[0].partitions.v[i].partition_index, &cli->arena);
    }
    return CLI_OK;
}

static int places_of(struct reset *r, struct str group, const struct offsets_view *committed, struct offsets_view *ret)
{
    struct cli *cli = r->cli;
    int code = CLI_OK;
    *ret = (struct offsets_view){0};
    if (r->goal == FROM_FILE) {
        for (int i = 0; i < r->file.count; i++) {
            if (str_is_null(r->file.v[i].group) || str_eq(r->file.v[i].group, group)) {
                offsets_view_add(ret, r->file.v[i].topic, r->file.v[i].partition, &cli->arena);
            }
        }
        return CLI_OK;
    }
    if (cli_flag(cli, "all-topics")) {
        add_places(ret, committed, STR_NULL, &cli->arena);
    }
    for (int i = 0; i < cli->given_count && code == CLI_OK; i++) {
        if (strcmp(cli->given[i].name, "topic") == 0) {
            code = add_topic(r, cli->given[i].value, ret);
        }
    }
    return code;
}

/* ---- where to ----------------------------------------------------------------------------------------------------------------------- */

static const struct offset_view *committed_at(const struct offsets_view *committed, const struct offset_view *place)
{
    for (int i = 0; i < committed->count; i++) {
        if (committed->v[i].partition == place->partition && str_eq(committed->v[i].topic, place->topic)) {
            return &committed->v[i];
        }
    }
    return NULL;
}

static int64_t in_file(const struct reset *r, struct str group, const struct offset_view *place)
{
    const struct saved_offset *o = saved_find(&r->file, group, place->topic, place->partition);
    return o == NULL ? -1 : o->offset;
}

struct bounds {
    int64_t *begin, *end, *at_time;
};

static int ask_bounds(struct reset *r, const struct offsets_view *places, struct bounds *ret)
{
    struct arena *arena = &r->cli->arena;
    ret->begin = ARENA_NEW(arena, int64_t, places->count);
    ret->end = ARENA_NEW(arena, int64_t, places->count);
    ret->at_time = ret->end;
    int rc = offsets_view_list(&r->client, places, LIST_EARLIEST, arena, ret->begin);
    rc = rc == 0 ? offsets_view_list(&r->client, places, LIST_LATEST, arena, ret->end) : rc;
    if (rc == 0 && (r->goal == TO_DATETIME || r->goal == BY_DURATION)) {
        ret->at_time = ARENA_NEW(arena, int64_t, places->count);
        rc = offsets_view_list(&r->client, places, r->time_ms, arena, ret->at_time);
    }
    return rc;
}

static int64_t wanted(const struct reset *r, struct str group, const struct offset_view *place, const struct bounds *b, int i,
                      int64_t before)
{
    switch (r->goal) {
    case TO_OFFSET:
        return r->number;
    case TO_EARLIEST:
        return b->begin[i];
    case TO_CURRENT:
        return before >= 0 ? before : b->end[i];
    case TO_DATETIME:
    case BY_DURATION:
        return b->at_time[i] >= 0 ? b->at_time[i] : b->end[i];
    case FROM_FILE:
        return in_file(r, group, place);
    default:
        return b->end[i];
    }
}

static bool end_is_known(const struct reset *r, const struct bounds *b, int i)
{
    return !r->muster || b->end[i] > 0;
}

/* Kept within what there is to read, as Kafka's tool does, and says. What is committed stays as it is, there and here. */
static int64_t kept_within(struct reset *r, const struct bounds *b, int i, int64_t offset, int64_t before)
{
    if (r->restores || (r->goal == TO_CURRENT && before >= 0)) {
        return offset;
    }
    int64_t to = end_is_known(r, b, i) && offset > b->end[i] ? b->end[i] : offset < b->begin[i] ? b->begin[i] : offset;
    r->endless += !end_is_known(r, b, i) && (r->goal == TO_LATEST || r->goal == TO_CURRENT);
    r->cut_to_end += to < offset;
    r->cut_to_begin += to > offset;
    return to;
}

static int64_t shifted(int64_t before, int64_t by)
{
    int64_t to;
    return __builtin_add_overflow(before, by, &to) ? (by > 0 ? INT64_MAX : INT64_MIN) : to;
}

static int check_bounds(struct reset *r, const struct offset_view *place, const struct bounds *b, int i)
{
    struct cli *cli = r->cli;
    const int64_t listed[] = {b->begin[i], b->end[i], b->at_time[i]};
    int code = CLI_OK;
    for (size_t k = 0; k < COUNT_OF(listed) && code == CLI_OK; k++) {
        code = offsets_view_told(cli, place, listed[k]);
    }
    if (code == CLI_OK && (b->end[i] < 0 || b->begin[i] < 0)) {
        code = cli_fail(cli, CLI_FAILED, "%.*s-%d: there is no such partition", STR_ARG(out_text(place->topic, &cli->arena)),
                        (int)place->partition);
    }
    return code;
}

static int plan_one(struct reset *r, const struct offset_view *place, const struct offsets_view *committed, const struct bounds *b, int i,
                    struct offset_changes *ret)
{
    struct cli *cli = r->cli;
    const struct offset_view *now = committed_at(committed, place);
    int code = check_bounds(r, place, b, i);
    if (code != CLI_OK) {
        return code;
    }
    if (r->goal == SHIFT_BY && now == NULL) {
        return cli_fail(cli, CLI_FAILED, "group %.*s has no offset of %.*s-%d that could be shifted",
                        STR_ARG(out_quoted(ret->group, &cli->arena)), STR_ARG(out_text(place->topic, &cli->arena)), (int)place->partition);
    }
    struct offset_change *one = offset_changes_add(ret, place->topic, place->partition, &cli->arena);
    one->before = now == NULL ? -1 : now->committed;
    if (r->goal == SHIFT_BY) {
        one->action = CHANGE_MOVE;
        one->offset = r->number;
        one->least = b->begin[i];
        one->most = end_is_known(r, b, i) ? b->end[i] : INT64_MAX;
        one->after = kept_within(r, b, i, shifted(one->before, r->number), one->before);
        return CLI_OK;
    }
    one->offset = one->after = kept_within(r, b, i, wanted(r, ret->group, place, b, i, one->before), one->before);
    const struct saved_offset *kept = r->goal == FROM_FILE ? saved_find(&r->file, ret->group, place->topic, place->partition) : NULL;
    if (kept != NULL && kept->offset == one->offset) {
        one->leader_epoch = kept->leader_epoch;
        one->metadata = kept->metadata;
    }
    return CLI_OK;
}

static const char *why_nothing(struct reset *r, struct str group)
{
    if (r->how.create == CREATE_NO && group_missing(&r->client, group, &r->cli->arena)) {
        return "there is no such group ('muster offsets pre-create' makes one)";
    }
    return r->restores && r->how.create == CREATE_MUST ? "there is nothing to make it with: at that time it had no offsets"
           : r->restores                               ? "there is nothing to reset: at that time it had no offsets"
           : r->goal == FROM_FILE                      ? "there is nothing to reset: the file has no offset of it"
                                                       : "there is nothing to reset: it has committed nothing of these topics";
}

/* One line for all partitions. */
static void say_cut(const struct reset *r, struct str group)
{
    struct str name = out_quoted(group, &r->cli->arena);
    if (r->cut_to_end > 0) {
        cli_say(r->cli, "group %.*s: %d of the new offsets would be beyond the end of their partition, and become the end", STR_ARG(name),
                r->cut_to_end);
    }
    if (r->cut_to_begin > 0) {
        cli_say(r->cli, "group %.*s: %d of the new offsets would be before the beginning of their partition, and become the beginning",
                STR_ARG(name), r->cut_to_begin);
    }
    if (r->endless > 0) {
        cli_say(r->cli, "group %.*s: nobody has set the end of %d of the partitions (muster topics set-end): it counts as 0", STR_ARG(name),
                r->endless);
    }
}

static int plan(struct reset *r, struct str group, struct offset_changes *ret)
{
    struct cli *cli = r->cli;
    struct offsets_view committed, places;
    struct bounds bounds;
    *ret = (struct offset_changes){.group = group};
    int rc = offsets_view_fetch(&r->client, group, &cli->arena, &committed);
    if (rc < 0) {
        return cli_client_failed(cli, &r->client, rc);
    }
    int code = places_of(r, group, &committed, &places);
    if (code != CLI_OK) {
        return code;
    }
    if (places.count == 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)), why_nothing(r, group));
    }
    rc = ask_bounds(r, &places, &bounds);
    if (rc < 0) {
        return cli_client_failed(cli, &r->client, rc);
    }
    r->cut_to_end = r->cut_to_begin = r->endless = 0;
    for (int i = 0; i < places.count && code == CLI_OK; i++) {
        code = plan_one(r, &places.v[i], &committed, &bounds, i, ret);
    }
    say_cut(r, group);
    return code;
}

/* ---- carrying it out -------------------------------------------------------------------------------------------------------------------- */

static void keep_for_export(struct reset *r, const struct offset_changes *changes)
{
    for (int i = 0; i < changes->count; i++) {
        struct saved_offset one = {changes->group, changes->v[i].topic, changes->v[i].partition, changes->v[i].after, -1, STR_NULL};
        saved_add(&r->exported, &one, &r->cli->arena);
    }
}

static int reset_group(struct reset *r, struct str group)
{
    struct offset_changes changes;
    int code = plan(r, group, &changes);
    if (code != CLI_OK) {
        return code;
    }
    struct change_how how = r->how;
    how.validate_only = !r->execute;
    struct offset_changes asked = changes;
    asked.v = ARENA_NEW(&r->cli->arena, struct offset_change, changes.count);
    if (changes.count > 0) {
        memcpy(asked.v, changes.v, (size_t)changes.count * sizeof(*changes.v));
    }
    code = offsets_change(r->cli, &r->client, &asked, &how);
    if (code == CLI_OK || !r->execute) {
        change_report_add(&r->report, r->cli, code == CLI_OK ? &asked : &changes, r->execute);
        keep_for_export(r, code == CLI_OK ? &asked : &changes);
    }
    return code;
}

/* Each group of the file once. */
static int groups_of_file(struct reset *r, struct str **ret, int *ret_count)
{
    *ret = ARENA_NEW(&r->cli->arena, struct str, r->file.count);
    *ret_count = 0;
    for (int i = 0; i < r->file.count; i++) {
        if (str_is_null(r->file.v[i].group)) {
            return cli_fail(r->cli, CLI_USAGE, "the file names no groups; say which one with --group");
        }
        if (*ret_count == 0 || !str_eq((*ret)[*ret_count - 1], r->file.v[i].group)) {
            (*ret)[(*ret_count)++] = r->file.v[i].group;
        }
    }
    return CLI_OK;
}

/* The groups named, as operands or by --group; with --all-groups all of the cluster, or, with a file, all that it names. */
static int groups_of(struct reset *r, struct str **ret, int *ret_count)
{
    struct cli *cli = r->cli;
    if (cli->operand_count == 0 && !cli_flag(cli, "all-groups")) {
        return cli_fail(cli, CLI_USAGE, "say which groups: GROUP or --group GROUP, or --all-groups");
    }
    if (cli->operand_count == 0 && r->goal == FROM_FILE) {
        return groups_of_file(r, ret, ret_count);
    }
    int rc = groups_named(cli, &r->client, ret, ret_count);
    return rc < 0 ? cli_client_failed(cli, &r->client, rc) : CLI_OK;
}

static bool is_wanted(const struct reset *r, const struct offset_view *o, bool *ret_bad)
{
    bool any = false;
    bool named = false;
    for (int i = 0; i < r->cli->given_count; i++) {
        if (strcmp(r->cli->given[i].name, "topic") == 0) {
            any = true;
            named = named || offset_named(r->cli->given[i].value, o->topic, o->partition, ret_bad);
        }
    }
    return named || !any;
}

/* The log of the group's coordinator: it has everything that was acknowledged, which another node may be behind with. */
static int connect_past(struct reset *r, struct str group, struct client *past)
{
    struct cli *cli = r->cli;
    struct client_node *node = NULL;
    int16_t error = 0;
    if (cli_flag(cli, "data") || cli_flag(cli, "node") || cli->given_count == CLI_GIVEN_MAX) {
        return log_past_connect_at(cli, &r->past, past);
    }
    int rc = client_coordinator(&r->client, group, &cli->arena, &node, &error);
    if (rc < 0 || error != 0) {
        return rc < 0 ? cli_client_failed(cli, &r->client, rc)
                      : cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)),
                                 kafka_error_text(error, STR_NULL, &cli->arena));
    }
    cli->given[cli->given_count++] = (struct cli_given){"node", arena_printf(&cli->arena, "%d", (int)node->id).ptr};
    int code = log_past_connect_at(cli, &r->past, past);
    cli->given_count--;
    return code;
}

/* What the group had then, as if a file said it. */
static int read_past(struct reset *r, struct str group)
{
    struct cli *cli = r->cli;
    struct client past;
    struct offsets_view had;
    bool bad = false;
    int code = connect_past(r, group, &past);
    if (code != CLI_OK) {
        return code;
    }
    int rc = offsets_view_fetch(&past, group, &cli->arena, &had);
    code = rc < 0 ? cli_client_failed(cli, &past, rc) : CLI_OK;
    for (int k = 0; rc == 0 && k < had.count; k++) {
        const struct offset_view *o = &had.v[k];
        if (is_wanted(r, o, &bad)) { /* what is kept of it outlives the log that it came from */
            struct str topic = arena_str(&cli->arena, o->topic);
            struct str metadata = arena_str(&cli->arena, o->metadata);
            saved_add(&r->file, &(struct saved_offset){group, topic, o->partition, o->committed, o->leader_epoch, metadata}, &cli->arena);
        }
    }
    client_fini(&past);
    return bad ? cli_fail(cli, CLI_USAGE, "--topic takes TOPIC or TOPIC:PARTITION,PARTITION,...") : code;
}

static int read_pasts(struct reset *r, const struct str *groups, int count)
{
    int code = CLI_OK;
    for (int i = 0; i < count && code == CLI_OK; i++) {
        code = read_past(r, groups[i]);
    }
    saved_settle(&r->file);
    r->goal = FROM_FILE;
    r->restores = true;
    return code;
}

static int reset_all(struct reset *r)
{
    struct cli *cli = r->cli;
    struct str *groups = NULL;
    int count = 0;
    int code = groups_of(r, &groups, &count);
    code = code == CLI_OK && is_past(r) ? read_pasts(r, groups, count) : code;
    if (code != CLI_OK) {
        return code;
    }
    change_report_init(&r->report, cli);
    for (int i = 0; i < count && code != CLI_UNREACHABLE; i++) {
        int one = reset_group(r, groups[i]);
        code = one != CLI_OK ? one : code;
    }
    if (cli_flag(cli, "export")) {
        saved_write_csv(&r->exported, count > 1, cli->out);
        json_decref(r->report.groups);
    } else {
        change_report_end(&r->report, cli);
    }
    if (!r->execute && code == CLI_OK) {
        cli_say(cli, "nothing was changed; --execute does it");
    }
    return code;
}

/* A cluster without records would answer a look-up by their time with the end. */
static int check_cluster(struct reset *r)
{
    int rc = client_is_muster(&r->client, &r->cli->arena, &r->muster);
    if (rc < 0) {
        return cli_client_failed(r->cli, &r->client, rc);
    }
    bool by_time = r->goal == TO_DATETIME || r->goal == BY_DURATION;
    return !r->muster || !by_time
               ? CLI_OK
               : cli_fail(r->cli, CLI_FAILED, "--%s: there are no records here to look up by time%s", goal_names[r->goal],
                          r->how.create == CREATE_NO ? "; --to-time brings back what the group had committed at that time" : "");
}

static int run_with(struct cli *cli, enum change_create create)
{
    struct reset r = {.cli = cli};
    int code = take_goal(&r);
    code = code == CLI_OK ? take_options(&r) : code;
    r.how.create = create;
    code = code == CLI_OK ? cli_connect(cli, &r.client) : code;
    if (code == CLI_OK) {
        code = check_cluster(&r);
        code = code == CLI_OK ? reset_all(&r) : code;
        client_fini(&r.client);
    }
    return code;
}

static int run_reset(struct cli *cli)
{
    return run_with(cli, CREATE_NO);
}

static int run_pre_create(struct cli *cli)
{
    return run_with(cli, CREATE_MUST);
}

static const struct cli_option reset_options[] = {
    OPTION_NAMED_GROUPS,
    OPTION_ALL_GROUPS,
    {"topic", "TOPIC[:P,P]", "all partitions of the topic, or these; may be given more than once"},
    {"all-topics", NULL, "every partition the group has committed"},
    {"to-offset", "OFFSET", "to this offset"},
    {"to-earliest", NULL, "to the beginning of each partition"},
    {"to-latest", NULL, "to the end of each partition"},
    {"to-current", NULL, "to where they are; to the end where nothing is committed"},
    {"to-datetime", "TIME", "to the first record from TIME on, of Apache Kafka: YYYY-MM-DDTHH:mm:SS.sss, or with a zone (Z, +01:00)"},
    {"by-duration", "DURATION", "to the first record from that long ago on, of Apache Kafka: PnDTnHnMnS"},
    {"shift-by", "N", "by N records, backwards when negative"},
    {"from-file", "FILE", "to what a file of `muster offsets export`, or of --export, says"},
    {"to-index", "INDEX", "to what the group had as of that entry of its shard's log (`muster log dump --group GROUP`)"},
    {"to-time", "TIME", "to what the group had then: 2026-11-30T20:15:00Z, or 15m, 6h, 2d ago"},
    {"data", "DIR", "with those two: from the data folder of a node, or a copy of one (default: through a live node)"},
    OPTION_NODE,
    {"execute", NULL, "does it; otherwise the plan is shown"},
    {"dry-run", NULL, "only shows the plan, as without --execute"},
    {"fence", NULL, "although the group has members: removes them in the same step"},
    {"force", NULL, "although the group is protected"},
    {"export", NULL, "prints the new offsets as CSV"},
};

const struct cli_command command_offsets_reset = {
    .noun = "offsets",
    .verb = "reset",
    .both = true,
    .operands = "[GROUP...]",
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Sets committed offsets to another place.",
    .details =
        "Shows what would be done and does nothing, unless --execute is given. A group with members is refused: they would go on from\n"
        "where they are and commit that. With --fence they are removed in the same step in which the offsets are set; they join again\n"
        "by themselves and begin at the new offsets, and whatever they commit of before is refused. That needs a cluster of muster.\n"
        "CURRENT-OFFSET is what was replaced; --to-time and --to-index bring it back, as long as the log is kept: what --execute says at\n"
        "its end is the command that does it, and the one that deletes what had no offset before.\n"
        "New offsets beyond the end of a partition or before its beginning become the end or the beginning, except those of --to-current,\n"
        "--to-index and --to-time. In a cluster of muster the end is what `muster topics set-end` has set; where nobody has set one (it "
        "is\n"
        "0), nothing is cut to it.\n"
        "--to-datetime and --by-duration look records up by their time: with Apache Kafka (--bootstrap). A cluster of muster has no\n"
        "records and refuses them; --to-time is about what the group had committed.\n"
        "    muster offsets reset my-group --topic orders:0,1 --to-offset 1200 --fence --execute\n"
        "    muster offsets reset my-group --to-time '10m ago' --fence --execute          # back to what it had then",
    .options = reset_options,
    .option_count = COUNT_OF(reset_options),
    .run = run_reset};

static const struct cli_option pre_create_options[] = {
    OPTION_NAMED_GROUPS,
    {"topic", "TOPIC[:P,P]", "all partitions of the topic, or these; may be given more than once"},
    {"to-offset", "OFFSET", "at this offset"},
    {"to-earliest", NULL, "at the beginning of each partition"},
    {"to-latest", NULL, "at the end of each partition"},
    {"to-datetime", "TIME", "at the first record from TIME on, of Apache Kafka: YYYY-MM-DDTHH:mm:SS.sss, or with a zone (Z, +01:00)"},
    {"by-duration", "DURATION", "at the first record from that long ago on, of Apache Kafka: PnDTnHnMnS"},
    {"from-file", "FILE", "at what a file of `muster offsets export` says"},
    {"to-index", "INDEX", "at what a group of that name had as of that entry of its shard's log, before it was deleted"},
    {"to-time", "TIME", "at what it had then: 2026-11-30T20:15:00Z, or 15m, 6h, 2d ago"},
    {"data", "DIR", "with those two: from the data folder of a node, or a copy of one (default: through a live node)"},
    OPTION_NODE,
    {"execute", NULL, "does it; otherwise the plan is shown"},
    {"dry-run", NULL, "only shows the plan, as without --execute"},
};

const struct cli_command command_offsets_pre_create = {
    .noun = "offsets",
    .verb = "pre-create",
    .both = true,
    .operands = "[GROUP...]",
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Makes a group that begins at given offsets.",
    .details =
        "For members that have yet to come: they begin there, whatever their auto.offset.reset says. A group that exists is refused. The\n"
        "first member decides which protocol the group speaks. Offsets beyond the end of a partition become the end, except where a "
        "cluster\n"
        "of muster has no end set (`muster topics set-end`). A group that exists is changed by `muster offsets reset`.\n"
        "A group that was deleted comes back with its offsets by --to-index or --to-time, all of them or those of --topic, as long as the\n"
        "log is kept: 'muster groups delete' says the command. Shows what would be done and does nothing, unless --execute is given.",
    .options = pre_create_options,
    .option_count = COUNT_OF(pre_create_options),
    .run = run_pre_create};
