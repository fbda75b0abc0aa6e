/* cluster.c: nodes, producer ids, and how far of the catalogue a shard has acted on. */
#include "rules.h"
#include "state.h"

#include <inttypes.h>

/* ---- nodes ------------------------------------------------------------------------------------------------------------------ */

static bool same_node(const struct node_value *a, const struct register_node_request *b)
{
    return uuid_eq(a->incarnation, b->incarnation) && str_eq(a->host, b->host) && a->port == b->port &&
           str_eq(a->peer_address, b->peer_address) && str_eq(a->rack, b->rack) && a->feature_level == b->feature_level &&
           str_eq(a->release, b->release);
}

static void write_node(struct decision *d, const struct register_node_request *request)
{
    struct node_key key = {.node_id = request->node_id};
    struct node_value value = {.incarnation = request->incarnation,
                               .host = request->host,
                               .port = request->port,
                               .peer_address = request->peer_address,
                               .rack = request->rack,
                               .feature_level = request->feature_level,
                               .release = request->release};
    out_record(d, RECORD_NODE, &key, 0, &value);
}

static void refuse_node(struct decision *d, const char *rule, struct str why)
{
    struct register_node_response *response = ARENA_NEW(d->arena, struct register_node_response, 1);
    response->error_code = KAFKA_INVALID_REQUEST;
    response->error_message = why;
    out_answer(d, rule, response->error_code, response);
}

static struct str owner_text(struct decision *d, int32_t node_id, struct uuid incarnation)
{
    char owner[23];
    uuid_text(incarnation, owner);
    return arena_printf(d->arena, "Node %" PRId32 " is registered with incarnation %s.", node_id, owner);
}

/* A number belongs to the data folder that the members name, or, before they are recorded, to the one that registered it first. A node that comes back
 * without its data is another one. */
void catalog_register_node(struct decision *d)
{
    const struct register_node_request *request = d->op->request;
    struct register_node_response *response = ARENA_NEW(d->arena, struct register_node_response, 1);
    uint8_t key[NUMBERED_KEY_BYTES];
    struct node_value known = {0};
    struct catalog_member member;
    response->error_message = STR_NULL;
    if (request->node_id < 0) {
        refuse_node(d, RULE(NODE_REFUSED), STR("A node id cannot be negative."));
        return;
    }
    bool is_member = member_find(d->set, request->node_id, &member);
    if (!is_member && has_members(d->set)) {
        refuse_node(d, RULE(NODE_NO_MEMBER), arena_printf(d->arena, "Node %" PRId32 " is not a member of the cluster.", request->node_id));
        return;
    }
    const struct entry *e = entry_find(d->set->catalog, numbered_key(RECORD_NODE, request->node_id, key));
    if (e != NULL) {
        entry_value(e, &wire_node_value, &known);
    }
    struct uuid owner = is_member ? member.incarnation : known.incarnation;
    if ((is_member || e != NULL) && !uuid_eq(owner, request->incarnation)) {
        refuse_node(d, RULE(NODE_REFUSED), owner_text(d, request->node_id, owner));
        return;
    }
    if (e != NULL && same_node(&known, request)) {
        out_answer(d, RULE(NODE_KNOWN), KAFKA_NONE, response);
        return;
    }
    write_node(d, request);
    if (is_member && !str_eq(member.peer_address, request->peer_address)) {
        member_moved(d, &member, request->peer_address);
    }
    out_answer(d, RULE(NODE_REGISTERED), KAFKA_NONE, response);
}

/* ---- producer ids --------------------------------------------------------------------------------------------------------------- */

/* InitProducerId without a transactional id: a number nobody had before, epoch 0. With one the answer is INVALID_REQUEST: there are no transactions
 * here, and clients take that error as final (COORDINATOR_NOT_AVAILABLE would have them ask for ever). */
void catalog_producer_id(struct decision *d)
{
    const struct init_producer_id_request *request = d->op->request;
    struct init_producer_id_response *response = ARENA_NEW(d->arena, struct init_producer_id_response, 1);
    uint8_t key[NUMBERED_KEY_BYTES];
    wire_init(&wire_init_producer_id_response, response);
    response->producer_epoch = -1;
    bool transactional = !str_is_null(request->transactional_id);
    if (transactional || (request->producer_id == -1) != (request->producer_epoch == -1)) {
        response->error_code = KAFKA_INVALID_REQUEST;
        out_answer(d, transactional ? RULE(PRODUCER_ID_TRANSACTIONAL) : RULE(PRODUCER_ID_MALFORMED), response->error_code, response);
        return;
    }
    struct producer_id_block_key block = {.shard = 0};
    struct producer_id_block_value value = {.next_producer_id = 0};
    const struct entry *e = entry_find(d->set->catalog, numbered_key(RECORD_PRODUCER_ID_BLOCK, 0, key));
    if (e != NULL) {
        entry_value(e, &wire_producer_id_block_value, &value);
    }
    response->producer_id = value.next_producer_id++;
    response->producer_epoch = 0;
    out_record(d, RECORD_PRODUCER_ID_BLOCK, &block, 0, &value);
    out_answer(d, RULE(PRODUCER_ID), KAFKA_NONE, response);
}

/* ---- the cursor --------------------------------------------------------------------------------------------------------------------- */

/* Never backwards. One that stays where it is is written all the same: its entry carries the shard clock of a shard in which nothing else happens. */
void catalog_move_cursor(struct decision *d)
{
    bool moves = d->op->catalog_index > d->set->cursor;
    struct catalog_cursor_key key = {.shard = (int32_t)d->set->shard};
    struct catalog_cursor_value value = {.catalog_index = moves ? d->op->catalog_index : d->set->cursor};
    out_record(d, RECORD_CATALOG_CURSOR, &key, 0, &value);
    d->out->verdict = GROUP_SILENT;
    out_rule(d, moves ? RULE(CURSOR_MOVED) : RULE(CURSOR_KEPT));
}
