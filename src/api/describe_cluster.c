/* describe_cluster.c: DescribeCluster (60). KIP-919: the client may say that it wants to speak to controllers; this is where brokers listen. KIP-1073: nodes
 * that cannot be reached are shown as fenced brokers to those who ask for them. */
#include "internal.h"

enum { ENDPOINT_BROKER = 1, ENDPOINT_CONTROLLER = 2 };

static bool endpoint_fits(struct api_request *r, struct describe_cluster_response *response)
{
    const struct describe_cluster_request *request = r->request;
    if (request->endpoint_type == ENDPOINT_BROKER) {
        return true;
    }
    if (request->endpoint_type == ENDPOINT_CONTROLLER) {
        response->error_code = KAFKA_MISMATCHED_ENDPOINT_TYPE;
        response->error_message = STR("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER");
    } else {
        response->error_code = KAFKA_UNSUPPORTED_ENDPOINT_TYPE;
        response->error_message = arena_printf(r->arena, "Unsupported endpoint type %d", request->endpoint_type);
    }
    return false;
}

void api_describe_cluster(struct api_request *r)
{
    const struct describe_cluster_request *request = r->request;
    struct api *a = r->api;
    if (!api_catalog_ready(r, api_describe_cluster)) {
        return;
    }
    struct describe_cluster_response *response = api_response(r);
    if (endpoint_fits(r, response)) {
        struct broker_list brokers = request->include_fenced_brokers ? api_all_brokers(a, r->arena) : api_brokers(a, r->arena);
        response->cluster_id = str_of(a->cluster_id);
        response->controller_id = api_controller_id(a);
        response->brokers.len = brokers.len;
        response->brokers.v = ARENA_NEW(r->arena, struct describe_cluster_response_broker, brokers.len);
        for (int32_t i = 0; i < brokers.len; i++) {
            const struct broker *b = &brokers.v[i];
            response->brokers.v[i] = (struct describe_cluster_response_broker){b->node_id, b->host, b->port, b->rack, b->fenced};
        }
        if (request->include_cluster_authorized_operations) {
            response->cluster_authorized_operations = OPERATIONS_OF_CLUSTER;
        }
    }
    api_answer(r, response);
}
