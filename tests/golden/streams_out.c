/* streams_out.c: the commands of what is asked and ordered from outside of a streams group: StreamsGroupDescribe, StreamsGroupTopology,
 * StreamsGroupInitialize, StreamsGroupTopologyDescriptionUpdate.
 *
 *     topology=                          as in streams.c, without an epoch before it
 *     nodes=src:1:in,p:2:s,out:3:r       of subtopology 0: name, type, then the source topics, stores or the sink, separated by /
 *     global=gs:1/gp:2                   a global store: its source and its processor */
#include "print.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>

/* ---- StreamsGroupInitialize --------------------------------------------------------------------------------------------------- */

typedef struct streams_group_heartbeat_request_topic_info_array heartbeat_infos;
typedef struct streams_group_initialize_request_topic_info_array initialize_infos;

static initialize_infos infos_of(heartbeat_infos from, struct arena *arena)
{
    initialize_infos to = {ARENA_NEW(arena, struct streams_group_initialize_request_topic_info, from.len), from.len};
    for (int32_t i = 0; i < from.len; i++) {
        to.v[i] = (struct streams_group_initialize_request_topic_info){.name = from.v[i].name,
                                                                       .partitions = from.v[i].partitions,
                                                                       .topic_configs = {.len = -1}};
    }
    return to;
}

static void fill_subtopology(const struct streams_group_heartbeat_request_subtopology *from,
                             struct streams_group_initialize_request_subtopology *to, struct arena *arena)
{
    wire_init_type(wire_streams_group_initialize_request.type->fields[1].type, to);
    to->subtopology = from->subtopology_id;
    to->source_topics = from->source_topics;
    to->state_changelog_topics = infos_of(from->state_changelog_topics, arena);
    to->repartition_sink_topics = from->repartition_sink_topics;
    to->repartition_source_topics = infos_of(from->repartition_source_topics, arena);
    if (from->source_topic_regex.len > 0) {
        to->source_topic_regex = from->source_topic_regex.v[0];
        to->more_source_topic_regex = (struct str_array){from->source_topic_regex.v + 1, from->source_topic_regex.len - 1};
    }
    to->copartition_groups.len = from->copartition_groups.len;
    to->copartition_groups.v = ARENA_NEW(arena, struct streams_group_initialize_request_copartition_group, from->copartition_groups.len);
    for (int32_t i = 0; i < from->copartition_groups.len; i++) {
        to->copartition_groups.v[i] =
            (struct streams_group_initialize_request_copartition_group){from->copartition_groups.v[i].source_topics,
                                                                        from->copartition_groups.v[i].source_topic_regex,
                                                                        from->copartition_groups.v[i].repartition_source_topics};
    }
}

void command_initialize(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_STREAMS_INITIALIZE, &wire_streams_group_initialize_response, 0);
    struct streams_group_initialize_request *q = ARENA_NEW(&r->arena, struct streams_group_initialize_request, 1);
    wire_init(&wire_streams_group_initialize_request, q);
    char *text = copy_value(w, "topology", "0(in)", &r->arena);
    const struct streams_group_heartbeat_request_topology *t = words_topology(text, &r->arena);
    q->group_id = r->op.group_id;
    q->topology_id = arena_str(&r->arena, str_value(w, "id", NULL));
    q->topology_epoch = (int32_t)number_value(w, "epoch", -1);
    q->member_id = arena_str(&r->arena, str_value(w, "member", NULL));
    q->topology.len = t->subtopologies.len;
    q->topology.v = ARENA_NEW(&r->arena, struct streams_group_initialize_request_subtopology, t->subtopologies.len);
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        fill_subtopology(&t->subtopologies.v[i], &q->topology.v[i], &r->arena);
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

/* The topics that requests of the group wait for have been made, or not. */
void command_made(struct golden *g, const struct words *w)
{
    char *failure = copy_value(w, "failure", "", w->arena);
    for (char *c = failure; *c != '\0'; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    world_made(&g->world, str_value(w, "group", "g"), *failure == '\0' ? STR_NULL : str_of(failure));
}

/* ---- what is shown -------------------------------------------------------------------------------------------------------------- */

void command_streams_describe(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_STREAMS_DESCRIBE, &wire_streams_group_describe_response, 1);
    struct streams_group_describe_request *q = ARENA_NEW(&r->arena, struct streams_group_describe_request, 1);
    r->tag = wire_streams_group_describe_response.type->fields[1].type;
    q->include_topology_description = number_value(w, "description", 0) != 0;
    r->op.request = q;
    world_submit(&g->world, r);
}

void command_streams_topology(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_STREAMS_TOPOLOGY, &wire_streams_group_topology_response, 0);
    struct streams_group_topology_request *q = ARENA_NEW(&r->arena, struct streams_group_topology_request, 1);
    q->group_id = r->op.group_id;
    r->op.request = q;
    world_submit(&g->world, r);
}

/* ---- descriptions -------------------------------------------------------------------------------------------------------------------- */

typedef struct streams_group_topology_description_update_request update_request;
typedef struct streams_group_topology_description_update_request_topology_description_node update_node;

static struct str_array names_of(char *text, struct arena *arena)
{
    struct str_array all = {ARENA_NEW(arena, struct str, count_parts(text, '/')), 0};
    for (char *name; (name = next_part(&text, "/")) != NULL;) {
        all.v[all.len++] = str_of(name);
    }
    return all;
}

static void fill_node(char *text, update_node *ret, struct arena *arena)
{
    ret->name = str_of(next_part(&text, ":"));
    ret->sink_topic = STR_NULL;
    char *type = next_part(&text, ":");
    ret->node_type = (int8_t)strtol(type == NULL ? "0" : type, NULL, 10);
    if (text == NULL || *text == '\0') {
        return;
    }
    if (ret->node_type == 1) {
        ret->source_topics = names_of(text, arena);
    } else if (ret->node_type == 3) {
        ret->sink_topic = str_of(text);
    } else {
        ret->stores = names_of(text, arena);
    }
}

static void fill_nodes(update_request *q, const struct words *w, struct arena *arena)
{
    char *text = copy_value(w, "nodes", "src:1:in", arena);
    struct streams_group_topology_description_update_request_topology_description_subtopology *s =
        ARENA_NEW(arena, struct streams_group_topology_description_update_request_topology_description_subtopology, 1);
    s->subtopology_id = STR("0");
    s->nodes.v = ARENA_NEW(arena, update_node, count_parts(text, ','));
    for (char *node; (node = next_part(&text, ",")) != NULL;) {
        fill_node(node, &s->nodes.v[s->nodes.len++], arena);
    }
    q->topology_description.subtopologies.v = s;
    q->topology_description.subtopologies.len = 1;
    if (value_of(w, "global") != NULL) {
        char *parts = copy_value(w, "global", "", arena);
        q->topology_description.global_stores.v =
            ARENA_NEW(arena, struct streams_group_topology_description_update_request_topology_description_global_store, 1);
        q->topology_description.global_stores.len = 1;
        fill_node(next_part(&parts, "/"), &q->topology_description.global_stores.v[0].source, arena);
        fill_node(next_part(&parts, "/"), &q->topology_description.global_stores.v[0].processor, arena);
    }
}

void command_description(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_STREAMS_DESCRIPTION, &wire_streams_group_topology_description_update_response, 0);
    update_request *q = ARENA_NEW(&r->arena, update_request, 1);
    wire_init(&wire_streams_group_topology_description_update_request, q);
    q->group_id = r->op.group_id;
    q->member_id = arena_str(&r->arena, str_value(w, "member", r->op.caller.client_id.ptr));
    q->topology_epoch = (int32_t)number_value(w, "epoch", 0);
    fill_nodes(q, w, &r->arena);
    if (value_of(w, "pad") != NULL) { /* so many bytes more */
        int32_t pad = (int32_t)number_value(w, "pad", 0);
        char *text = arena_get(&r->arena, (size_t)pad);
        memset(text, 'x', (size_t)pad);
        int32_t count = pad / 30000 + 1;
        struct str *stores = ARENA_NEW(&r->arena, struct str, count);
        for (int32_t i = 0; i < count; i++) {
            stores[i] = (struct str){text, i + 1 < count ? 30000 : pad % 30000};
        }
        q->topology_description.subtopologies.v[0].nodes.v[0].stores = (struct str_array){stores, count};
    }
    r->op.request = q;
    world_submit(&g->world, r);
}
