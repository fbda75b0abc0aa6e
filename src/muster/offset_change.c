/* offset_change.c: AlterGroupOffsets, and what comes closest to it where there is none. */
#include "offset_change.h"

#include "group_view.h"
#include "out.h"
#include "streams_view.h"

#include <stdlib.h>
#include <string.h>

enum {
    KAFKA_UNKNOWN_MEMBER_ID = 25,
    KAFKA_INVALID_COMMIT_OFFSET_SIZE = 28,
    KAFKA_INVALID_REQUEST = 42,
    KAFKA_NON_EMPTY_GROUP = 68,
    KAFKA_GROUP_ID_NOT_FOUND = 69,
    KAFKA_POLICY_VIOLATION = 44,
    PART_MOST = 4000 /* changes of one request, which is one entry */
};

/* ---- lists ------------------------------------------------------------------------------------------------------------------- */

struct offset_change *offset_changes_add(struct offset_changes *c, struct str topic, int32_t partition, struct arena *arena)
{
    if (c->count == c->cap) {
        int cap = c->cap > 0 ? c->cap * 2 : 64;
        struct offset_change *grown = ARENA_NEW(arena, struct offset_change, cap);
        if (c->count > 0) {
            memcpy(grown, c->v, (size_t)c->count * sizeof(*grown));
        }
        c->v = grown;
        c->cap = cap;
    }
    struct offset_change *one = &c->v[c->count++];
    *one = (struct offset_change){
        .topic = topic, .partition = partition, .most = INT64_MAX, .leader_epoch = -1, .metadata = STR_NULL, .before = -1, .after = -1};
    return one;
}

static int by_place(const void *a, const void *b)
{
    const struct offset_change *x = a, *y = b;
    int topic = str_cmp(x->topic, y->topic);
    return topic != 0 ? topic : (x->partition > y->partition) - (x->partition < y->partition);
}

void offset_changes_sort(struct offset_changes *c)
{
    if (c->count > 0) {
        qsort(c->v, (size_t)c->count, sizeof(*c->v), by_place);
    }
}

const struct offset_change *offset_changes_find(const struct offset_changes *c, struct str topic, int32_t partition)
{
    struct offset_change key = {.topic = topic, .partition = partition};
    return c->count > 0 ? bsearch(&key, c->v, (size_t)c->count, sizeof(*c->v), by_place) : NULL;
}

bool offset_named(const char *value, struct str topic, int32_t partition, bool *ret_bad)
{
    const char *colon = strchr(value, ':');
    struct str named = colon == NULL ? str_of(value) : (struct str){value, (int32_t)(colon - value)};
    bool found = colon == NULL;
    while (colon != NULL && *colon != '\0') {
        char number[16];
        size_t len = strcspn(colon + 1, ",");
        int64_t one = -1;
        snprintf(number, sizeof(number), "%.*s", (int)(len < sizeof(number) ? len : sizeof(number) - 1), colon + 1);
        *ret_bad = *ret_bad || !cli_parse_number(number, 0, INT32_MAX, &one);
        found = found || one == partition;
        colon += len + 1;
    }
    return found && str_eq(named, topic);
}

struct str change_reason(struct cli *cli)
{
    char user[CLIENT_USER_BYTES];
    client_user(user, sizeof(user));
    struct str words = arena_printf(&cli->arena, "muster %s %s", cli->command->noun, cli->command->verb);
    for (int i = 0; i < cli->given_count; i++) {
        const struct cli_given *g = &cli->given[i];
        if (strcmp(g->name, "bootstrap") != 0 && strcmp(g->name, "timeout") != 0 && strcmp(g->name, "json") != 0) {
            words = arena_printf(&cli->arena, "%.*s --%s%s%s", STR_ARG(words), g->name, g->value[0] != '\0' ? " " : "", g->value);
        }
    }
    return arena_printf(&cli->arena, "%.*s, by %s", STR_ARG(words), user);
}

/* ---- AlterGroupOffsets ---------------------------------------------------------------------------------------------------------- */

typedef struct alter_group_offsets_request_topic alter_topic;
typedef struct alter_group_offsets_request_partition alter_partition;

static int16_t alter_error(const void *answer)
{
    return ((const struct alter_group_offsets_response *)answer)->error_code;
}

static void compose_alter(struct cli *cli, const struct offset_changes *changes, const struct change_how *how,
                          struct alter_group_offsets_request *request)
{
    wire_init(&wire_alter_group_offsets_request, request);
    request->group_id = changes->group;
    request->create = (int8_t)how->create;
    request->fence = how->fence;
    request->force = how->force;
    request->validate_only = how->validate_only;
    request->reason = change_reason(cli);
    request->topics.v = ARENA_NEW(&cli->arena, alter_topic, changes->count);
    request->topics.len = 0;
    alter_partition *partitions = ARENA_NEW(&cli->arena, alter_partition, changes->count);
    for (int i = 0; i < changes->count; i++) {
        const struct offset_change *from = &changes->v[i];
        alter_topic *topic = request->topics.len > 0 ? &request->topics.v[request->topics.len - 1] : NULL;
        if (topic == NULL || !str_eq(topic->name, from->topic)) {
            topic = &request->topics.v[request->topics.len++];
            topic->name = from->topic;
            topic->partitions.v = &partitions[i];
        }
        topic->partitions.len++;
        partitions[i] = (alter_partition){.partition_index = from->partition,
                                          .action = (int8_t)from->action,
                                          .offset = from->offset,
                                          .least = from->least,
                                          .most = from->most,
                                          .leader_epoch = from->leader_epoch,
                                          .metadata = from->metadata};
    }
}

/* The answer has the form of the request. */
static void take_result(struct offset_changes *changes, const struct alter_group_offsets_response *response)
{
    int at = 0;
    changes->fenced += response->fenced;
    for (int32_t t = 0; t < response->topics.len; t++) {
        for (int32_t i = 0; i < response->topics.v[t].partitions.len && at < changes->count; i++, at++) {
            changes->v[at].before = response->topics.v[t].partitions.v[i].before;
            changes->v[at].after = response->topics.v[t].partitions.v[i].after;
        }
    }
}

static const char *exists_hint(const struct cli *cli)
{
    return strcmp(cli->command->verb, "pre-create") == 0 ? " ('muster offsets reset' changes it)" : "";
}

/* Not the group of a close name, as where something is only shown: whoever takes that up changes another group. */
static const char *missing_hint(const struct cli *cli)
{
    return strcmp(cli->command->verb, "reset") == 0 ? " ('muster offsets pre-create' makes one)" : "";
}

static int refused(struct cli *cli, struct str group, const struct change_how *how, int16_t error, struct str message)
{
    if (how->quiet) {
        return CLI_FAILED;
    }
    return cli_fail(cli, CLI_FAILED, "group %.*s: %s%s", STR_ARG(out_quoted(group, &cli->arena)),
                    kafka_error_text(error, message, &cli->arena),
                    error == KAFKA_NON_EMPTY_GROUP                                 ? " (--fence)"
                    : error == KAFKA_POLICY_VIOLATION                              ? " (--force)"
                    : error == KAFKA_INVALID_REQUEST && how->create == CREATE_MUST ? exists_hint(cli)
                    : error == KAFKA_GROUP_ID_NOT_FOUND                            ? missing_hint(cli)
                                                                                   : "");
}

/* 0 and the answer's error, or an exit code, said. */
static int alter_part(struct cli *cli, struct client *client, struct offset_changes *part, const struct change_how *how, int16_t *ret_error)
{
    struct alter_group_offsets_request request;
    const void *answer;
    compose_alter(cli, part, how, &request);
    struct client_call call = {.key = API_KEY_ALTER_GROUP_OFFSETS, .max_version = -1, .request = &request, .changes = !how->validate_only};
    int rc = client_group_call(client, part->group, &call, alter_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    const struct alter_group_offsets_response *response = answer;
    *ret_error = response->error_code;
    if (*ret_error == 0) {
        take_result(part, response);
    } else if (*ret_error != KAFKA_INVALID_COMMIT_OFFSET_SIZE || part->count == 1) {
        return refused(cli, part->group, how, *ret_error, response->error_message);
    }
    return CLI_OK;
}

/* What is more than an entry holds goes in parts, smaller ones if need be. Members are fenced with each: whoever is back before the last one may have begun where that has not been yet, and
 * is gone again with it, so that behind it nothing is committed of what was before. Whatever goes into one entry is done by one. */
static int alter(struct cli *cli, struct client *client, struct offset_changes *changes, const struct change_how *how, int *ret_done)
{
    struct change_how next = *how;
    int most = how->fence ? changes->count : PART_MOST;
    int done = 0, parts = 0;
    *ret_done = 0;
    while (done < changes->count) {
        struct offset_changes part = {.group = changes->group, .v = changes->v + done};
        part.count = changes->count - done < most ? changes->count - done : most;
        int16_t error = 0;
        int code = alter_part(cli, client, &part, &next, &error);
        if (code != CLI_OK) {
            if (done > 0 && !how->validate_only) {
                cli_say(cli, "group %.*s: %d of %d offsets were changed", STR_ARG(out_quoted(changes->group, &cli->arena)), done,
                        changes->count);
            }
            return code;
        }
        if (error != 0) {
            most = part.count / 2;
            continue;
        }
        changes->fenced += part.fenced;
        done += part.count;
        *ret_done = done;
        parts++;
        next.create = !how->validate_only && how->create == CREATE_MUST ? CREATE_NO : how->create;
    }
    if (how->fence && parts > 1) {
        cli_say(cli, "group %.*s: %d offsets are more than one entry holds: %d parts, members were removed with each",
                STR_ARG(out_quoted(changes->group, &cli->arena)), changes->count, parts);
    }
    return CLI_OK;
}

/* ---- Apache Kafka ------------------------------------------------------------------------------------------------------------------- */

static const char *missing_text(struct cli *cli)
{
    return arena_printf(&cli->arena, "%s%s", kafka_error_text(KAFKA_GROUP_ID_NOT_FOUND, STR_NULL, &cli->arena), missing_hint(cli)).ptr;
}

/* Whether the group is as the change wants it. There is nothing to hold it so. */
static int check_existence(struct cli *cli, struct client *client, struct str group, const struct change_how *how)
{
    struct listed_groups all;
    bool found = false;
    if (how->create == CREATE_MAY) {
        return CLI_OK;
    }
    int rc = group_list_fetch(cli, client, NULL, &all);
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    for (int i = 0; i < all.count; i++) {
        found = found || str_eq(all.v[i].group_id, group);
    }
    if (found == (how->create == CREATE_NO)) {
        return CLI_OK;
    }
    return cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)),
                    found ? arena_printf(&cli->arena, "it exists%s", exists_hint(cli)).ptr : missing_text(cli));
}

static int16_t commit_error(const void *answer)
{
    const struct offset_commit_response *response = answer;
    bool any = response->topics.len > 0 && response->topics.v[0].partitions.len > 0;
    return any ? response->topics.v[0].partitions.v[0].error_code : 0;
}

static int64_t planned(const struct offset_change *one)
{
    if (one->action == CHANGE_SET) {
        return one->offset;
    }
    int64_t to = one->before + one->offset;
    to = to > one->most ? one->most : to;
    return to < one->least ? one->least : to;
}

static int commit(struct cli *cli, struct client *client, struct offset_change *v, int count, struct str group)
{
    struct offset_commit_request request;
    const void *answer;
    wire_init(&wire_offset_commit_request, &request);
    request.group_id = group;
    request.generation_id_or_member_epoch = -1;
    request.member_id = STR("");
    request.topics.v = ARENA_NEW(&cli->arena, struct offset_commit_request_topic, count);
    request.topics.len = 0;
    struct offset_commit_request_partition *partitions = ARENA_NEW(&cli->arena, struct offset_commit_request_partition, count);
    for (int i = 0; i < count; i++) {
        struct offset_commit_request_topic *topic = request.topics.len > 0 ? &request.topics.v[request.topics.len - 1] : NULL;
        if (topic == NULL || !str_eq(topic->name, v[i].topic)) {
            topic = &request.topics.v[request.topics.len++];
            topic->name = v[i].topic;
            topic->partitions.v = &partitions[i];
        }
        topic->partitions.len++;
        v[i].after = planned(&v[i]);
        partitions[i] =
            (struct offset_commit_request_partition){.partition_index = v[i].partition,
                                                     .committed_offset = v[i].after,
                                                     .committed_leader_epoch = v[i].leader_epoch,
                                                     .committed_metadata = str_is_null(v[i].metadata) ? STR("") : v[i].metadata};
    }
    struct client_call call = {.key = API_KEY_OFFSET_COMMIT, .min_version = 2, .max_version = 9, .request = &request, .changes = true};
    int rc = client_group_call(client, group, &call, commit_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    const struct offset_commit_response *response = answer;
    int code = CLI_OK;
    for (int32_t t = 0; t < response->topics.len; t++) {
        for (int32_t i = 0; i < response->topics.v[t].partitions.len; i++) {
            int16_t error = response->topics.v[t].partitions.v[i].error_code;
            if (error != 0) {
                code = cli_fail(cli, CLI_FAILED, "group %.*s, %.*s-%d: %s", STR_ARG(out_quoted(group, &cli->arena)),
                                STR_ARG(out_text(response->topics.v[t].name, &cli->arena)),
                                (int)response->topics.v[t].partitions.v[i].partition_index,
                                error == KAFKA_UNKNOWN_MEMBER_ID ? "UNKNOWN_MEMBER_ID: the group has members; stop them first"
                                                                 : kafka_error_text(error, STR_NULL, &cli->arena));
            }
        }
    }
    return code;
}

static int16_t delete_error(const void *answer)
{
    return ((const struct offset_delete_response *)answer)->error_code;
}

static int delete_offsets(struct cli *cli, struct client *client, const struct offset_change *v, int count, struct str group)
{
    struct offset_delete_request request = {.group_id = group};
    const void *answer;
    request.topics.v = ARENA_NEW(&cli->arena, struct offset_delete_request_topic, count);
    for (int i = 0; i < count; i++) {
        struct offset_delete_request_topic *topic = &request.topics.v[request.topics.len++];
        topic->name = v[i].topic;
        topic->partitions.v = ARENA_NEW(&cli->arena, struct offset_delete_request_partition, 1);
        topic->partitions.len = 1;
        topic->partitions.v[0].partition_index = v[i].partition;
    }
    struct client_call call = {.key = API_KEY_OFFSET_DELETE, .max_version = -1, .request = &request, .changes = true};
    int rc = client_group_call(client, group, &call, delete_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    const struct offset_delete_response *response = answer;
    int16_t error = response->error_code;
    for (int32_t t = 0; error == 0 && t < response->topics.len; t++) {
        for (int32_t i = 0; error == 0 && i < response->topics.v[t].partitions.len; i++) {
            error = response->topics.v[t].partitions.v[i].error_code;
        }
    }
    struct change_how loud = {.quiet = false};
    return error == 0 ? CLI_OK : refused(cli, group, &loud, error, STR_NULL);
}

/* Those that are set, then those that are deleted; sorted by that first. */
static int change_in_parts(struct cli *cli, struct client *client, struct offset_changes *changes, const struct change_how *how)
{
    if (how->fence) {
        return cli_fail(
            cli, CLI_FAILED,
            "group %.*s: --fence needs a cluster of muster: Apache Kafka has no request that removes members and changes offsets "
            "in one step. Stop the members first",
            STR_ARG(out_quoted(changes->group, &cli->arena)));
    }
    int code = check_existence(cli, client, changes->group, how);
    if (code != CLI_OK || how->validate_only) {
        return code;
    }
    struct offset_change *parts = ARENA_NEW(&cli->arena, struct offset_change, changes->count);
    int gone = 0;
    int kept = 0;
    for (int i = 0; i < changes->count; i++) {
        if (changes->v[i].action != CHANGE_DELETE) {
            parts[kept++] = changes->v[i];
        }
    }
    for (int i = 0; i < changes->count; i++) {
        if (changes->v[i].action == CHANGE_DELETE) {
            parts[kept + gone++] = changes->v[i];
        }
    }
    code = kept > 0 ? commit(cli, client, parts, kept, changes->group) : CLI_OK;
    if (code == CLI_OK && gone > 0) {
        code = delete_offsets(cli, client, &parts[kept], gone, changes->group);
    }
    changes->v = parts;
    offset_changes_sort(changes);
    return code;
}

/* ---- either ---------------------------------------------------------------------------------------------------------------------------- */

int offsets_change_is_whole(struct cli *cli, struct client *client, struct str group, bool *ret)
{
    struct client_node *node = NULL;
    int16_t error;
    int rc = client_coordinator(client, group, &cli->arena, &node, &error);
    if (rc < 0 || error != 0) {
        (void)snprintf(client->error, sizeof(client->error), "the group has no coordinator now");
        return rc < 0 ? rc : MUSTER_E_REFUSED;
    }
    return client_offers(client, node, API_KEY_ALTER_GROUP_OFFSETS, 0, ret);
}

static bool makes_group(struct cli *cli, struct client *client, const struct offset_changes *changes, const struct change_how *how)
{
    bool had = false;
    for (int i = 0; i < changes->count; i++) {
        had = had || changes->v[i].before >= 0;
    }
    return how->create == CREATE_MUST || (how->create == CREATE_MAY && !had && group_missing(client, changes->group, &cli->arena));
}

static void say_undo(struct cli *cli, struct str undo, struct str undo_new)
{
    if (!str_is_empty(undo)) {
        cli_say(cli, "to undo it: %.*s", STR_ARG(undo));
    }
    if (!str_is_empty(undo_new)) {
        cli_say(cli, "%s: %.*s", str_is_empty(undo) ? "to undo it" : "and of what had no offset before", STR_ARG(undo_new));
    }
}

int offsets_change(struct cli *cli, struct client *client, struct offset_changes *changes, const struct change_how *how)
{
    bool whole = false;
    offset_changes_sort(changes);
    int rc = offsets_change_is_whole(cli, client, changes->group, &whole);
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    int done;
    if (!whole || how->validate_only) {
        return whole ? alter(cli, client, changes, how, &done) : change_in_parts(cli, client, changes, how);
    }
    struct offset_undo undo = offset_undo_note(cli, client, changes->group);
    bool made = makes_group(cli, client, changes, how);
    int code = alter(cli, client, changes, how, &done);
    struct offset_changes changed = {.group = changes->group, .v = changes->v, .count = done};
    if (done > 0) {
        offset_undo_settle(cli, client, &changed, &undo);
        changes->undo = made ? offset_undo_made(cli, changes->group) : offset_undo_words(cli, &undo, &changed);
        changes->undo_new = made ? STR_NULL : offset_undo_new(cli, &changed);
    }
    if (code != CLI_OK) {
        say_undo(cli, changes->undo, changes->undo_new);
    }
    return code;
}

/* ---- results ------------------------------------------------------------------------------------------------------------------------------ */

void change_report_init(struct change_report *r, struct cli *cli)
{
    static const char *const headers[] = {"GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "NEW-OFFSET"};
    *r = (struct change_report){.groups = json_array()};
    r->table = arena_get(&cli->arena, sizeof(*r->table));
    table_init(r->table, &cli->arena, headers, COUNT_OF(headers));
}

static json_t *offset_or_null(int64_t offset)
{
    return offset < 0 ? json_null() : json_integer(offset);
}

/* Where nothing is committed any more there is nothing to go on from. */
static void say_fenced(struct cli *cli, const struct offset_changes *changes)
{
    bool one = changes->fenced == 1, set = false;
    for (int i = 0; i < changes->count; i++) {
        set = set || changes->v[i].after >= 0;
    }
    cli_say(cli, "group %.*s: %d %s removed; %s by %s, and %s", STR_ARG(out_quoted(changes->group, &cli->arena)), changes->fenced,
            one ? "member was" : "members were", one ? "it joins again" : "they join again", one ? "itself" : "themselves",
            set   ? (one ? "goes on from the new offsets" : "go on from the new offsets")
            : one ? "begins where its auto.offset.reset says"
                  : "begin where their auto.offset.reset says");
}

static void add_undo(struct change_report *r, json_t *one, const struct offset_changes *changes)
{
    if (!str_is_empty(changes->undo)) {
        out_json_set(one, "undo", out_json_text(changes->undo));
    }
    if (!str_is_empty(changes->undo_new)) {
        out_json_set(one, "undoNew", out_json_text(changes->undo_new));
    }
    if (r->undos < CHANGE_UNDOS) {
        r->undo[r->undos] = changes->undo;
        r->undo_new[r->undos] = changes->undo_new;
    }
    r->undos++;
}

void change_report_add(struct change_report *r, struct cli *cli, const struct offset_changes *changes, bool done)
{
    json_t *one = json_object();
    json_t *offsets = json_array();
    for (int i = 0; i < changes->count; i++) {
        const struct offset_change *o = &changes->v[i];
        json_t *row = json_object();
        out_json_set(row, "topic", out_json_text(o->topic));
        out_json_set(row, "partition", json_integer(o->partition));
        out_json_set(row, "currentOffset", offset_or_null(o->before));
        out_json_set(row, "newOffset", offset_or_null(o->after));
        out_json_add(offsets, row);
        r->set += done && o->after >= 0;
        r->deleted += done && o->after < 0;
        table_text(r->table, changes->group);
        table_text(r->table, o->topic);
        table_number(r->table, o->partition);
        table_number_or_dash(r->table, o->before);
        table_number_or_dash(r->table, o->after);
    }
    out_json_set(one, "group", out_json_text(changes->group));
    out_json_set(one, "executed", json_boolean(done));
    out_json_set(one, "fenced", json_integer(changes->fenced));
    out_json_set(one, "offsets", offsets);
    if (done && !(str_is_empty(changes->undo) && str_is_empty(changes->undo_new))) {
        add_undo(r, one, changes);
    }
    out_json_add(r->groups, one);
    if (done && changes->fenced > 0) {
        say_fenced(cli, changes);
    }
}

static void say_done(const struct change_report *r, struct cli *cli)
{
    if (r->set > 0) {
        cli_say(cli, "%d offset%s set", r->set, r->set == 1 ? " is" : "s are");
    }
    if (r->deleted > 0) {
        cli_say(cli, "%d offset%s deleted", r->deleted, r->deleted == 1 ? " is" : "s are");
    }
    for (int i = 0; i < r->undos && i < CHANGE_UNDOS; i++) {
        say_undo(cli, r->undo[i], r->undo_new[i]);
    }
    if (r->undos > CHANGE_UNDOS) {
        cli_say(cli, "and likewise for %d other groups (--json says how)", r->undos - CHANGE_UNDOS);
    }
}

void change_report_end(struct change_report *r, struct cli *cli)
{
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "groups", json_incref(r->groups));
        out_json_print(document, cli->out);
    } else if (r->table->cell_count > 0) {
        table_print(r->table, cli->out);
        say_done(r, cli);
    }
    json_decref(r->groups);
}
