/* api.c: the module as a whole, and this node's own requests. */
#include "internal.h"

#include <string.h>

int api_new(struct api **ret, const struct api_options *options, struct coord *coord)
{
    struct pool pool = {0};
    struct api *a = pool_get(&pool, sizeof(*a));
    a->pool = pool;
    a->options = *options;
    a->coord = coord;
    uuid_text(options->cluster_id, a->cluster_id);
    *ret = a;
    return MUSTER_E_OK;
}

void api_free(struct api *a)
{
    if (a == NULL) {
        return;
    }
    while (a->waits.len > 0) { /* nobody is there any more to hear what they wait for */
        struct api_request *r = a->waits.v[0];
        r->gone = true;
        wait_cancel(r);
        r->wait.fire(r);
    }
    folder_waits_drop(a);
    MUSTER_CHECK(a->stats.waiting == 0);
    pool_put(&a->pool, a->waits.v, a->waits.cap * sizeof(struct api_request *));
    pool_put(&a->pool, a->asks, a->ask_cap * sizeof(struct applied_ask));
    struct pool pool = a->pool;
    pool_put(&pool, a, sizeof(*a));
}

void api_turn_begin(struct api *a, int64_t now_us)
{
    a->now_us = now_us;
}

void api_turn_end(struct api *a)
{
    waits_fire(a);
    cuts_expire(a);
    applied_answer_asks(a);
}

int64_t api_next_deadline_us(const struct api *a)
{
    int64_t waits = waits_next_us(a);
    int64_t cuts = cuts_next_us(a);
    return waits < cuts ? waits : cuts;
}

bool api_take_submitted(struct api *a)
{
    bool submitted = a->submitted;
    a->submitted = false;
    return submitted;
}

void api_message(struct api *a, uint32_t from, uint16_t channel, struct bytes data)
{
    if (channel == API_CHANNEL_FORWARD) {
        controller_message(a, from, data);
    } else if (channel == API_CHANNEL_APPLIED) {
        applied_message(a, from, data);
    }
}

void api_peer_changed(struct api *a, uint32_t node, bool connected)
{
    if (!connected) {
        controller_peer_lost(a, node);
        applied_peer_lost(a, node);
    }
}

static void registered(struct api_request *r, const void *response)
{
    const struct register_node_response *answer = response;
    r->api->registering = false;
    if (answer != NULL && answer->error_code != 0 && answer->error_code != KAFKA_NOT_CONTROLLER) {
        log_event(LOG_WARN, "register_node_refused", "error_code=%d error=\"%.*s\"", answer->error_code, STR_ARG(answer->error_message));
    }
}

bool api_is_registered(const struct api *a)
{
    const struct api_options *o = &a->options;
    struct catalog_node node;
    return catalog_next_node(api_catalog(a), (int32_t)o->node_id - 1, &node) && node.node_id == (int32_t)o->node_id &&
           uuid_eq(node.incarnation, o->incarnation) && str_eq(node.host, o->advertised_host) && node.port == o->advertised_port &&
           str_eq(node.peer_address, o->peer_address) && str_eq(node.rack, o->rack) && node.feature_level == group_feature_level &&
           str_eq(node.release, o->version);
}

void api_register_self(struct api *a)
{
    if (a->registering || api_is_registered(a)) {
        return;
    }
    const struct api_options *o = &a->options;
    struct register_node_request request;
    wire_init(&wire_register_node_request, &request);
    request.node_id = (int32_t)o->node_id;
    request.incarnation = o->incarnation;
    request.host = o->advertised_host;
    request.port = o->advertised_port;
    request.peer_address = o->peer_address;
    request.rack = o->rack;
    request.feature_level = group_feature_level;
    request.release = o->version;
    a->registering = true;
    api_run_own(a, API_KEY_REGISTER_NODE, &request, registered, NULL);
}

void api_stats(const struct api *a, struct api_stats *ret)
{
    *ret = a->stats;
}

size_t api_key_count(void)
{
    return api_row_count;
}

int16_t api_key_at(size_t idx, const char **ret_name)
{
    *ret_name = wire_api_find(api_rows[idx].key)->name;
    return api_rows[idx].key;
}
