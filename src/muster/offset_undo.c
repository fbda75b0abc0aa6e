/* offset_undo.c: how a change of offsets is taken back: by a reset to where the log of the group's shard was just before it. */
#include "offset_change.h"

#include "group_view.h"
#include "log.h"
#include "out.h"

#include <inttypes.h>
#include <string.h>

enum { TOPICS_MOST = CLI_GIVEN_MAX / 2, PARTITIONS_MOST = 50, READ_BYTES = 1 << 20, READS_MOST = 16 };

/* What was answered before is at that index or before it, and what is changed now comes behind it, whoever leads by then. */
static int64_t committed_index(struct cli *cli, struct client *client, struct str group)
{
    struct cluster_status_request request;
    const void *answer = NULL;
    struct client_node *node = NULL;
    int16_t error = 0;
    int32_t shard = group_shard(client, group);
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    if (shard < 0 || client_coordinator(client, group, &cli->arena, &node, &error) < 0 || error != 0 ||
        client_node_call(client, node, &call, &cli->arena, &answer) < 0) {
        return 0;
    }
    const struct cluster_status_response *status = answer;
    for (int32_t i = 0; status->error_code == 0 && i < status->shards.len; i++) {
        if (status->shards.v[i].shard == shard && status->shards.v[i].leader == status->node_id) {
            return status->shards.v[i].commit_index;
        }
    }
    return 0;
}

struct offset_undo offset_undo_note(struct cli *cli, struct client *client, struct str group)
{
    return (struct offset_undo){.index = committed_index(cli, client, group), .wall_ms = out_now_ms()};
}

/* ---- the entry of a change ---- */

/* 1: a change has set that offset, or taken it away; -1: the record is of another change; 0: it says neither. */
static int agrees(const struct offset_changes *changes, struct record record, struct arena *arena)
{
    struct wire_decoded_record decoded;
    if (record.key.len < 2 || get_be16(record.key.ptr) != RECORD_OFFSET_COMMIT || wire_record_decode(record, arena, &decoded) < 0) {
        return 0;
    }
    const struct offset_commit_key *key = decoded.key;
    const struct offset_commit_value *value = decoded.value;
    const struct offset_change *o = str_eq(key->group, changes->group) ? offset_changes_find(changes, key->topic, key->partition) : NULL;
    return o == NULL ? 0 : o->after == (value == NULL ? -1 : value->offset) ? 1 : -1;
}

static bool is_change(const struct offset_changes *changes, struct str reason, const struct log_read_response_entry *e, struct arena *arena)
{
    struct log_entry entry;
    bool any = false;
    if (e->kind != LOG_COMMAND || wire_decode(&wire_log_entry, 0, e->data, arena, &entry, NULL) < 0) {
        return false;
    }
    for (int32_t i = 0; i < entry.records.len; i++) {
        const struct log_entry_entry_record *record = &entry.records.v[i];
        const struct log_entry_cause *cause =
            record->cause >= 0 && record->cause < entry.causes.len ? &entry.causes.v[record->cause] : NULL;
        if (cause == NULL || cause->api_key != API_KEY_ALTER_GROUP_OFFSETS || !str_eq(cause->reason, reason)) {
            continue;
        }
        int which = agrees(changes, (struct record){record->key, record->value}, arena);
        if (which < 0) {
            return false;
        }
        any = any || which > 0;
    }
    return any;
}

/* The index of the first entry of the change in what a node has in memory of the shard behind `after`; 0: not found. */
static int64_t find_entry(struct client *client, struct client_node *node, int32_t shard, int64_t after, struct str reason,
                          const struct offset_changes *changes, struct arena *arena)
{
    struct log_live_place place = {shard, after + 1, changes->group, READ_BYTES};
    const struct log_read_response *response;
    for (int i = 0; i < READS_MOST && log_live_read(client, node, &place, arena, &response) == 0; i++) {
        if (response->error_code != 0 || response->first_index > place.from || response->last_index < place.from) {
            return 0;
        }
        for (int32_t k = 0; k < response->entries.len; k++) {
            if (is_change(changes, reason, &response->entries.v[k], arena)) {
                return response->entries.v[k].index;
            }
        }
        place.from = response->last_index + 1;
        arena_clear(arena);
    }
    return 0;
}

void offset_undo_settle(struct cli *cli, struct client *client, const struct offset_changes *changes, struct offset_undo *undo)
{
    struct client_node *node = NULL;
    struct arena arena;
    int16_t error = 0;
    int32_t shard = undo->index > 0 ? group_shard(client, changes->group) : -1;
    arena_init(&arena, 0);
    if (shard >= 0 && client_coordinator(client, changes->group, &arena, &node, &error) == 0 && error == 0) {
        int64_t entry = find_entry(client, node, shard, undo->index, change_reason(cli), changes, &arena);
        undo->index = entry > 0 ? entry - 1 : undo->index;
    }
    arena_fini(&arena);
}

/* ---- the commands ---- */

/* What was there before can be brought back. */
static bool comes_back(const struct offset_change *o)
{
    return o->before >= 0 && o->before != o->after;
}

static bool is_new(const struct offset_change *o)
{
    return o->before < 0 && o->after >= 0;
}

static bool any_of(const struct offset_changes *changes, bool (*which)(const struct offset_change *o))
{
    for (int i = 0; i < changes->count; i++) {
        if (which(&changes->v[i])) {
            return true;
        }
    }
    return false;
}

/* " --topic T:0,1" for each topic of which there are some; a topic alone, which is all of it, where they are too many for a command line, and nothing, which is all topics.
 * Those cut short are *ret_whole false. */
static struct str topics_of(const struct offset_changes *changes, bool (*which)(const struct offset_change *o), struct arena *arena,
                            bool *ret_whole)
{
    struct str words = STR("");
    int topics = 0;
    *ret_whole = true;
    for (int i = 0, end; i < changes->count; i = end) {
        const struct str topic = changes->v[i].topic;
        struct str partitions = STR("");
        int count = 0;
        for (end = i; end < changes->count && str_eq(changes->v[end].topic, topic); end++) {
            if (which(&changes->v[end]) && ++count <= PARTITIONS_MOST) {
                partitions = arena_printf(arena, "%.*s%s%" PRId32, STR_ARG(partitions), count > 1 ? "," : ":", changes->v[end].partition);
            }
        }
        *ret_whole = *ret_whole && count <= PARTITIONS_MOST;
        if (count > 0 && ++topics > TOPICS_MOST) {
            *ret_whole = false;
            return STR("");
        }
        if (count > 0) {
            words = arena_printf(arena, "%.*s --topic %.*s%.*s", STR_ARG(words), STR_ARG(out_text(topic, arena)),
                                 STR_ARG(count <= PARTITIONS_MOST ? partitions : STR("")));
        }
    }
    return words;
}

/* As a shell takes it: names of groups are what clients say. Bytes that are no text can only be told in the way of bash and zsh: $'\012'. */
static struct str word(struct str text, struct arena *arena)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@%+/,";
    bool as_it_is = text.len > 0, is_text = str_eq(out_text(text, arena), text);
    size_t room = (size_t)text.len * 4 + 4, used = 0;
    char *out = arena_get(arena, room);
    used += (size_t)snprintf(out, room, "%s", is_text ? "'" : "$'");
    for (int32_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.ptr[i];
        const char *before = is_text && byte == '\'' ? "'\\'" : !is_text && (byte == '\'' || byte == '\\') ? "\\" : "";
        bool number = !is_text && (byte < ' ' || byte >= 0x7f);
        as_it_is = as_it_is && memchr(plain, byte, sizeof(plain) - 1) != NULL;
        used += number ? (size_t)snprintf(out + used, room - used, "\\%03o", byte)
                       : (size_t)snprintf(out + used, room - used, "%s%c", before, byte);
    }
    used += (size_t)snprintf(out + used, room - used, "'");
    return as_it_is ? text : (struct str){out, (int32_t)used};
}

static const char *given(const struct cli *cli, const char *name, struct arena *arena)
{
    const char *value = cli_text(cli, name);
    if (value == NULL || value[0] == '\0') {
        return value == NULL ? "" : arena_printf(arena, " --%s", name).ptr;
    }
    return arena_printf(arena, " --%s %.*s", name, STR_ARG(word(str_of(value), arena))).ptr;
}

/* "muster VERB GROUP OPTIONS --execute", with the cluster that this command line names; deleting groups has no plan. */
static struct str command(struct cli *cli, const char *verb, struct str name, struct str options)
{
    struct arena *arena = &cli->arena;
    struct str group = word(name, arena);
    bool dash = name.len > 0 && name.ptr[0] == '-'; /* it would be taken for an option */
    return arena_printf(arena, "muster %s%s%.*s%.*s%s%s%s%s%s%.*s", verb, dash ? "" : " ", STR_ARG(dash ? STR("") : group),
                        STR_ARG(options), given(cli, "bootstrap", arena), given(cli, "bootstrap-server", arena),
                        given(cli, "cluster", arena), strcmp(verb, "groups delete") == 0 ? "" : " --execute", dash ? " -- " : "",
                        STR_ARG(dash ? group : STR("")));
}

static struct str place_of(struct cli *cli, const struct offset_undo *undo)
{
    return undo->index > 0 ? arena_printf(&cli->arena, " --to-index %" PRId64, undo->index)
                           : arena_printf(&cli->arena, " --to-time %.*s", STR_ARG(out_time(undo->wall_ms, &cli->arena)));
}

struct str offset_undo_words(struct cli *cli, const struct offset_undo *undo, const struct offset_changes *changes)
{
    struct arena *arena = &cli->arena;
    bool whole;
    if (!any_of(changes, comes_back)) {
        return STR_NULL;
    }
    struct str topics = topics_of(changes, comes_back, arena, &whole);
    return command(cli, "offsets reset", changes->group,
                   arena_printf(arena, "%.*s%.*s%s%s", STR_ARG(topics), STR_ARG(place_of(cli, undo)),
                                undo->fence || cli_flag(cli, "fence") ? " --fence" : "", given(cli, "force", arena)));
}

struct str offset_undo_new(struct cli *cli, const struct offset_changes *changes)
{
    struct arena *arena = &cli->arena;
    bool whole;
    struct str topics = topics_of(changes, is_new, arena, &whole);
    return !whole || topics.len == 0
               ? STR_NULL
               : command(cli, "offsets delete", changes->group,
                         arena_printf(arena, "%.*s%s%s", STR_ARG(topics), given(cli, "fence", arena), given(cli, "force", arena)));
}

struct str offset_undo_made(struct cli *cli, struct str group)
{
    return command(cli, "groups delete", group, str_of(given(cli, "force", &cli->arena)));
}

struct str offset_undo_deleted(struct cli *cli, const struct offset_undo *undo, struct str group)
{
    return command(cli, "offsets pre-create", group, place_of(cli, undo));
}

struct str offset_undo_renamed(struct cli *cli, struct str from, struct str to)
{
    bool dash = (from.len > 0 && from.ptr[0] == '-') || (to.len > 0 && to.ptr[0] == '-'); /* which of the two is behind "--"? */
    struct str back = word(from, &cli->arena);
    return dash ? STR_NULL : command(cli, "offsets rename", to, arena_printf(&cli->arena, " %.*s", STR_ARG(back)));
}
