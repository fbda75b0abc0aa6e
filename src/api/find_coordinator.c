/* find_coordinator.c: FindCoordinator (10). The coordinator of a group is the node that leads its shard; every node knows. Version 4 and later ask for many
 * groups at once. */
#include "internal.h"

enum { KEY_TYPE_GROUP = 0, KEY_TYPE_TRANSACTION = 1, KEY_TYPE_SHARE = 2, FIRST_BATCHED_VERSION = 4 };
enum { MOVES_US = 1000 }; /* a shard that is handed over has its new leader after a few of these */

static struct find_coordinator_response_coordinator nowhere(struct str key, int16_t error, struct str message)
{
    return (struct find_coordinator_response_coordinator){
        .key = key, .node_id = -1, .host = STR(""), .port = -1, .error_code = error, .error_message = message};
}

static struct find_coordinator_response_coordinator find(struct api_request *r, struct str key, const struct broker_list *brokers)
{
    const struct find_coordinator_request *request = r->request;
    if (request->key_type == KEY_TYPE_TRANSACTION) {
        return nowhere(key, KAFKA_COORDINATOR_NOT_AVAILABLE, STR("Transactions are not served by this cluster."));
    }
    if (request->key_type != KEY_TYPE_GROUP) { /* share groups, too: there is no share coordinator */
        return nowhere(key, KAFKA_INVALID_REQUEST, request->key_type == KEY_TYPE_SHARE ? STR("") : STR(INVALID_REQUEST_TEXT));
    }
    uint32_t leader;
    coord_shard_state(r->api->coord, coord_shard_of(r->api->coord, key), &leader);
    const struct broker *node = leader != 0 ? broker_find(brokers, leader) : NULL;
    if (node == NULL) {
        return nowhere(key, KAFKA_COORDINATOR_NOT_AVAILABLE, STR("The coordinator is not available."));
    }
    return (struct find_coordinator_response_coordinator){
        .key = key, .node_id = node->node_id, .host = node->host, .port = node->port, .error_message = STR("")};
}

/* Whether the shard of one of the groups is between two leaders: the one who led it would send the client away again. */
static bool one_moves(const struct api_request *r)
{
    const struct find_coordinator_request *request = r->request;
    const struct coord *coord = r->api->coord;
    bool batched = r->version >= FIRST_BATCHED_VERSION;
    bool moves = !batched && coord_shard_moves(coord, coord_shard_of(coord, request->key));
    for (int32_t i = 0; batched && !moves && i < request->coordinator_keys.len; i++) {
        moves = coord_shard_moves(coord, coord_shard_of(coord, request->coordinator_keys.v[i]));
    }
    return moves;
}

static void find_again(struct api_request *r)
{
    if (r->gone) {
        api_drop(r);
    } else {
        api_find_coordinator(r);
    }
    api_unref(r);
}

void api_find_coordinator(struct api_request *r)
{
    const struct find_coordinator_request *request = r->request;
    if (api_too_many_groups(r, request->coordinator_keys.len) || !api_catalog_ready(r, api_find_coordinator)) {
        return;
    }
    if (request->key_type == KEY_TYPE_GROUP && one_moves(r)) {
        api_ref(r);
        wait_arm(r, r->api->now_us + MOVES_US, find_again);
        return;
    }
    struct find_coordinator_response *response = api_response(r);
    struct broker_list brokers = api_brokers(r->api, r->arena);
    if (r->version >= FIRST_BATCHED_VERSION) {
        response->coordinators.len = request->coordinator_keys.len;
        response->coordinators.v = ARENA_NEW(r->arena, struct find_coordinator_response_coordinator, request->coordinator_keys.len);
        for (int32_t i = 0; i < request->coordinator_keys.len; i++) {
            response->coordinators.v[i] = find(r, request->coordinator_keys.v[i], &brokers);
        }
    } else {
        struct find_coordinator_response_coordinator found = find(r, request->key, &brokers);
        response->error_code = found.error_code;
        response->error_message = found.error_code == KAFKA_NONE ? STR("NONE") : found.error_message; /* Kafka's word here; "" in batches */
        response->node_id = found.node_id;
        response->host = found.host;
        response->port = found.port;
    }
    api_answer(r, response);
}
