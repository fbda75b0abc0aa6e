/* description.c: what an application says of its topology for people to read (KIP-1331).
 *
 * A member pushes it when its heartbeat's answer asks for it; it is kept for the topology's epoch, and shown to those who ask. What is too large is remembered
 * as failed, so that it is not asked for again with every heartbeat. */
#include "outside.h"
#include "rules.h"

enum { DESCRIPTION_MAX_BYTES = 256 * 1024 };
enum node_type { NODE_SOURCE = 1, NODE_PROCESSOR = 2, NODE_SINK = 3 };

typedef struct streams_group_topology_description_update_request_topology_description update_description;
typedef struct streams_group_topology_description_update_request_topology_description_node update_node;
typedef struct streams_group_describe_response_topology_description shown_description;

/* ---- shapes ------------------------------------------------------------------------------------------------------------------- */

struct shape shape_of(struct shape whole, const char *field)
{
    for (uint32_t i = 0; i < whole.type->field_count; i++) {
        if (str_eq(str_of(whole.type->fields[i].name), str_of(field))) {
            return (struct shape){whole.type->fields[i].type, whole.version};
        }
    }
    MUSTER_CHECK(false);
    return whole;
}

void *reshape(struct shape from, const void *values, int32_t len, struct shape to, struct arena *arena)
{
    struct wire_msg source = {.name = from.type->name, .number = -1, .max_version = from.version, .type = from.type};
    struct wire_msg target = {.name = to.type->name, .number = -1, .max_version = to.version, .type = to.type};
    uint8_t *ret = arena_array(arena, (size_t)len, to.type->size);
    for (int32_t i = 0; i < len; i++) {
        struct bytes bytes = wire_encode(&source, from.version, (const uint8_t *)values + (size_t)i * from.type->size, arena);
        size_t used = 0;
        int error = wire_decode(&target, to.version, bytes, arena, ret + (size_t)i * to.type->size, &used);
        MUSTER_CHECK(error == 0 && used == (size_t)bytes.len);
    }
    return ret;
}

/* ---- kept and shown ------------------------------------------------------------------------------------------------------------ */

static struct shape request_shape(void)
{
    return shape_of((struct shape){wire_streams_group_topology_description_update_request.type, 0}, "TopologyDescription");
}

static struct shape record_shape(int16_t version)
{
    return (struct shape){wire_streams_topology_description_value.type, version};
}

static struct shape answer_shape(void)
{
    struct shape groups = shape_of((struct shape){wire_streams_group_describe_response.type, 1}, "Groups");
    return shape_of(groups, "TopologyDescription");
}

static struct streams_topology_description_value kept_description(const update_description *from, int32_t topology_epoch,
                                                                  struct arena *arena)
{
    struct shape request = request_shape(), record = record_shape(0);
    struct streams_topology_description_value ret;
    wire_init(&wire_streams_topology_description_value, &ret);
    ret.topology_epoch = topology_epoch;
    ret.subtopologies.len = from->subtopologies.len;
    ret.subtopologies.v = reshape(shape_of(request, "Subtopologies"), from->subtopologies.v, from->subtopologies.len,
                                  shape_of(record, "Subtopologies"), arena);
    ret.global_stores.len = from->global_stores.len;
    ret.global_stores.v =
        reshape(shape_of(request, "GlobalStores"), from->global_stores.v, from->global_stores.len, shape_of(record, "GlobalStores"), arena);
    return ret;
}

shown_description *streams_description_shown(const struct modern *s, struct arena *arena)
{
    if (s->description == NULL || s->topology == NULL || s->description->topology_epoch != s->topology->value->epoch) {
        return NULL;
    }
    struct shape record = record_shape((int16_t)get_be16(s->description->raw.ptr)), answer = answer_shape();
    struct streams_topology_description_value kept;
    int error = wire_decode(&wire_streams_topology_description_value, record.version, s->description->value, arena, &kept, NULL);
    MUSTER_CHECK(error == 0); /* it was applied */
    shown_description *ret = ARENA_NEW(arena, shown_description, 1);
    ret->subtopologies.len = kept.subtopologies.len;
    ret->subtopologies.v =
        reshape(shape_of(record, "Subtopologies"), kept.subtopologies.v, kept.subtopologies.len, shape_of(answer, "Subtopologies"), arena);
    ret->global_stores.len = kept.global_stores.len;
    ret->global_stores.v =
        reshape(shape_of(record, "GlobalStores"), kept.global_stores.v, kept.global_stores.len, shape_of(answer, "GlobalStores"), arena);
    return ret;
}

/* ---- the request ------------------------------------------------------------------------------------------------------------------ */

struct push {
    struct decision *d;
    const struct streams_group_topology_description_update_request *request;
    const struct group *g;
    int16_t error;
    struct str text; /* null: none */
};

static const char *refuse(struct push *p, int16_t error, struct str text, const char *rule)
{
    p->error = error;
    p->text = text;
    return rule;
}

static bool is_node(const update_node *node)
{
    return node->node_type >= NODE_SOURCE && node->node_type <= NODE_SINK;
}

/* NULL: all of the description's nodes have a type there is. */
static const update_node *odd_node(const update_description *description)
{
    for (int32_t i = 0; i < description->subtopologies.len; i++) {
        for (int32_t k = 0; k < description->subtopologies.v[i].nodes.len; k++) {
            if (!is_node(&description->subtopologies.v[i].nodes.v[k])) {
                return &description->subtopologies.v[i].nodes.v[k];
            }
        }
    }
    for (int32_t i = 0; i < description->global_stores.len; i++) {
        const struct streams_group_topology_description_update_request_topology_description_global_store *store =
            &description->global_stores.v[i];
        if (!is_node(&store->source) || !is_node(&store->processor)) {
            return is_node(&store->source) ? &store->processor : &store->source;
        }
    }
    return NULL;
}

static bool stores_are_whole(const update_description *description)
{
    for (int32_t i = 0; i < description->global_stores.len; i++) {
        if (description->global_stores.v[i].source.node_type != NODE_SOURCE ||
            description->global_stores.v[i].processor.node_type != NODE_PROCESSOR) {
            return false;
        }
    }
    return true;
}

static const char *check_nodes(struct push *p)
{
    const update_node *odd = odd_node(&p->request->topology_description);
    if (odd != NULL) {
        struct str text = arena_printf(p->d->arena, "Unknown topology node type: %d", odd->node_type);
        return refuse(p, KAFKA_INVALID_REQUEST, text, RULE(DESCRIPTION_NODE_TYPE));
    }
    if (!stores_are_whole(&p->request->topology_description)) {
        return refuse(p, KAFKA_INVALID_REQUEST, STR("Global store must be composed of a source and a processor node."),
                      RULE(DESCRIPTION_NODE_TYPE));
    }
    return NULL;
}

/* Null when it may be stored. In Kafka's order. */
static const char *check(struct push *p)
{
    struct decision *d = p->d;
    const struct group *g = p->g;
    if (str_is_blank(d->op->group_id)) {
        return refuse(p, KAFKA_INVALID_REQUEST, STR("GroupId can't be empty."), RULE(DESCRIPTION_NO_GROUP_ID));
    }
    if (str_is_blank(p->request->member_id)) {
        return refuse(p, KAFKA_INVALID_REQUEST, STR("MemberId can't be empty."), RULE(DESCRIPTION_NO_MEMBER_ID));
    }
    if (g == NULL || group_type(g) != GROUP_STREAMS) {
        return refuse(p, KAFKA_GROUP_ID_NOT_FOUND, streams_not_found(d, g),
                      g == NULL ? RULE(DESCRIPTION_NO_GROUP) : RULE(DESCRIPTION_OTHER_TYPE));
    }
    if (modern_find(g->streams, p->request->member_id) == NULL) {
        struct str text =
            arena_printf(d->arena, "Member %.*s is not a member of group %.*s.", STR_ARG(p->request->member_id), STR_ARG(g->id));
        return refuse(p, KAFKA_UNKNOWN_MEMBER_ID, text, RULE(DESCRIPTION_UNKNOWN_MEMBER));
    }
    int32_t epoch = g->streams->topology == NULL ? -1 : g->streams->topology->value->epoch;
    if (p->request->topology_epoch != epoch || epoch < 0) {
        struct str text = arena_printf(d->arena, "Topology epoch %d does not match the group's current topology epoch %d.",
                                       p->request->topology_epoch, epoch);
        return refuse(p, KAFKA_INVALID_REQUEST, text, RULE(DESCRIPTION_EPOCH));
    }
    return check_nodes(p);
}

static void write_group(struct push *p, int32_t stored, int32_t failed)
{
    const struct modern *s = p->g->streams;
    if (s->stored_description_epoch == stored && s->failed_description_epoch == failed) {
        return;
    }
    struct streams_group_metadata_key key = {.group_id = p->g->id};
    struct streams_group_metadata_value value = streams_group_value(s, p->d->arena);
    value.stored_description_topology_epoch = stored;
    value.failed_description_topology_epoch = failed;
    out_record(p->d, RECORD_STREAMS_GROUP_METADATA, &key, MODERN_VALUE_VERSION, &value);
}

static const char *store(struct push *p)
{
    struct decision *d = p->d;
    const struct modern *s = p->g->streams;
    int32_t epoch = p->request->topology_epoch;
    struct streams_topology_description_value value = kept_description(&p->request->topology_description, epoch, d->arena);
    struct bytes bytes = wire_encode(&wire_streams_topology_description_value, MODERN_VALUE_VERSION, &value, d->arena);
    if (bytes.len > DESCRIPTION_MAX_BYTES) {
        write_group(p, s->stored_description_epoch, epoch);
        struct str text =
            arena_printf(d->arena, "The topology description takes %d bytes, more than %d.", bytes.len, DESCRIPTION_MAX_BYTES);
        return refuse(p, KAFKA_STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, text, RULE(DESCRIPTION_TOO_LARGE));
    }
    if (s->description != NULL && bytes_eq(bytes, s->description->value)) {
        return RULE(DESCRIPTION_SAME);
    }
    int64_t growth = bytes.len - (s->description == NULL ? 0 : s->description->value.len);
    if (growth > 0 && !budget_allows(d, 0, 0, growth)) {
        return refuse(p, KAFKA_STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED, STR("There is no room for the topology description."),
                      RULE(DESCRIPTION_BUDGET));
    }
    struct streams_topology_description_key key = {.group_id = p->g->id};
    out_record(d, RECORD_STREAMS_TOPOLOGY_DESCRIPTION, &key, MODERN_VALUE_VERSION, &value);
    write_group(p, epoch, s->failed_description_epoch == epoch ? -1 : s->failed_description_epoch);
    return RULE(DESCRIPTION_STORED);
}

void streams_decide_description(struct decision *d)
{
    struct push p = {.d = d, .request = d->op->request, .g = group_find(d->set, d->op->group_id), .text = STR_NULL};
    const char *rule = check(&p);
    if (rule == NULL) {
        rule = store(&p);
    }
    struct streams_group_topology_description_update_response *answer =
        ARENA_NEW(d->arena, struct streams_group_topology_description_update_response, 1);
    wire_init(&wire_streams_group_topology_description_update_response, answer);
    answer->error_code = p.error;
    answer->error_message = p.text;
    out_answer(d, rule, p.error, answer);
}
