/* offset_undo.c: how a change of offsets is taken back: by a reset to where the log of the group's shard was just before it. */
#include "offset_change.h"

#include "group_view.h"
#include "out.h"

#include <inttypes.h>
#include <string.h>

enum { TOPICS_MOST = CLI_GIVEN_MAX / 2, PARTITIONS_MOST = 50 };

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

/* What was there before can be brought back. */
static bool comes_back(const struct offset_change *o)
{
    return o->before >= 0 && o->before != o->after;
}

/* " --topic T:0,1" for each topic of which something comes back; nothing, which is all topics, where they are too many for a command line. */
static struct str topics_of(const struct offset_changes *changes, struct arena *arena)
{
    struct str words = STR("");
    int topics = 0;
    for (int i = 0, end; i < changes->count; i = end) {
        const struct str topic = changes->v[i].topic;
        struct str partitions = STR("");
        int count = 0;
        for (end = i; end < changes->count && str_eq(changes->v[end].topic, topic); end++) {
            if (comes_back(&changes->v[end]) && ++count <= PARTITIONS_MOST) {
                partitions = arena_printf(arena, "%.*s%s%" PRId32, STR_ARG(partitions), count > 1 ? "," : ":", changes->v[end].partition);
            }
        }
        if (count > 0 && ++topics > TOPICS_MOST) {
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

struct str offset_undo_words(struct cli *cli, const struct offset_undo *undo, const struct offset_changes *changes)
{
    struct arena *arena = &cli->arena;
    bool any = false;
    for (int i = 0; i < changes->count; i++) {
        any = any || comes_back(&changes->v[i]);
    }
    if (!any) {
        return STR_NULL;
    }
    struct str where = undo->index > 0 ? arena_printf(arena, "--to-index %" PRId64, undo->index)
                                       : arena_printf(arena, "--to-time %.*s", STR_ARG(out_time(undo->wall_ms, arena)));
    struct str group = word(changes->group, arena);
    const char *fence = undo->fence || cli_flag(cli, "fence") ? " --fence" : "";
    bool dash = changes->group.len > 0 && changes->group.ptr[0] == '-'; /* it would be taken for an option */
    return arena_printf(arena, "muster offsets reset%s%.*s%.*s %.*s%s%s%s%s%s --execute%s%.*s", dash ? "" : " ",
                        STR_ARG(dash ? STR("") : group), STR_ARG(topics_of(changes, arena)), STR_ARG(where), fence,
                        given(cli, "force", arena), given(cli, "bootstrap", arena), given(cli, "bootstrap-server", arena),
                        given(cli, "cluster", arena), dash ? " -- " : "", STR_ARG(dash ? group : STR("")));
}
