/* transfer_shard.c: TransferShard (20002), of this project: the shard's leader hands it to another node. Sent on to the leader. */
#include "internal.h"

static void answer(struct api_request *r, int16_t error, const char *text)
{
    struct transfer_shard_response *response = api_response(r);
    response->error_code = error;
    response->error_message = str_of(text);
    api_answer(r, response);
}

static void not_forwarded(struct api_request *r)
{
    if (r->gone) {
        api_drop(r);
    } else {
        answer(r, KAFKA_COORDINATOR_NOT_AVAILABLE, "The leader of the shard cannot be reached.");
    }
    api_unref(r);
}

static void transfer(struct api_request *r, const struct transfer_shard_request *request)
{
    uint32_t to = request->node_id < 0 ? 0 : (uint32_t)request->node_id;
    if (to == r->api->options.node_id) { /* asked once more, or moved home meanwhile: it is there */
        answer(r, KAFKA_NONE, NULL);
        return;
    }
    int rc = replica_transfer(coord_replica(r->api->coord), (uint32_t)request->shard, to);
    switch (rc) {
    case MUSTER_E_OK:
        answer(r, KAFKA_NONE, NULL);
        return;
    case MUSTER_E_BUSY:
        answer(r, KAFKA_COORDINATOR_NOT_AVAILABLE, "A transfer of the shard is under way already.");
        return;
    case MUSTER_E_NOT_FOUND:
        answer(r, KAFKA_INVALID_REQUEST, "No such node can take the shard now.");
        return;
    default:
        answer(r, KAFKA_NOT_COORDINATOR, "This node does not lead the shard any more.");
    }
}

void api_transfer_shard(struct api_request *r)
{
    const struct transfer_shard_request *request = r->request;
    struct api *a = r->api;
    struct replica_shard_status status;
    if (request->shard < 0 || request->shard >= (int32_t)replica_shard_count(coord_replica(a->coord))) {
        answer(r, KAFKA_INVALID_REQUEST, "There is no such shard.");
        return;
    }
    replica_status(coord_replica(a->coord), (uint32_t)request->shard, &status);
    if (status.role != REPLICA_FOLLOWER) {
        transfer(r, request);
    } else if (r->from_node != 0 || status.leader == 0) {
        answer(r, KAFKA_COORDINATOR_NOT_AVAILABLE, "The shard has no leader now.");
    } else {
        api_ref(r);
        api_forward(r, status.leader, not_forwarded);
    }
}
