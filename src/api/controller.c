/* controller.c: requests that change the cluster's own facts belong to the leader of shard 0. Any node takes them and sends them on, frame and all; the
 * answer comes back as the frame that the client expects.
 *
 * A message on API_CHANNEL_FORWARD: kind, id, then
 *     request: length of the host (1 byte), host, the client's frame
 *     answer:  1 and the answer's frame; 0: this node does not lead shard 0 (any more) or does not know the request; 2: the request was met, but the
 *              answer is too long to be sent
 *
 * Messages share a connection with the heartbeats of all shards, so their length is bounded. */
#include "internal.h"

#include <string.h>

enum {
    FORWARD_REQUEST = 1,
    FORWARD_ANSWER = 2,
    FORWARD_HEAD_BYTES = 9,
    FORWARD_MOST_BYTES = 16 << 20,
    MET = 1,
    NOT_MET = 0,
    TOO_LONG = 2,
    RETRY_US = 20 * 1000,
    FIND_LEADER_US = 3 * 1000 * 1000, /* an election takes a fraction of this */
    FORWARD_LEAST_MS = 10 * 1000,     /* for the answer of the node that was asked; as long as the client waits itself, where it says so */
    FORWARD_MOST_MS = 60 * 1000
};

static void controller_try(struct api_request *r);

/* ---- to another node and back ---- */

static void forwards_remove(struct api_request *r)
{
    struct api_request **link = &r->api->forwards;
    while (*link != r) {
        link = &(*link)->forward_next;
    }
    *link = r->forward_next;
    r->forward_id = 0;
    wait_cancel(r);
}

static void forward_fail(struct api_request *r)
{
    forwards_remove(r);
    r->api->stats.forward_failures++;
    r->forward_failed(r);
}

static void refuse(struct api_request *r, int16_t error)
{
    struct group_out out;
    group_refuse(&r->coord.op, error, r->arena, &out);
    r->api->stats.error_by_key[r->row_idx]++;
    api_answer(r, out.answer);
    api_unref(r);
}

/* No answer for long, or the client has gone. The other node may do what it was asked. */
static void forward_timeout(struct api_request *r)
{
    forwards_remove(r);
    r->api->stats.forward_failures++;
    if (r->gone || r->row->key == API_KEY_TRANSFER_SHARD) {
        api_answer_close(r);
        api_unref(r);
        return;
    }
    refuse(r, KAFKA_REQUEST_TIMED_OUT);
}

static bool send_request(struct api_request *r, uint32_t node)
{
    struct buf message;
    uint8_t host_len = (uint8_t)(r->host.len > 255 ? 255 : r->host.len);
    buf_init(&message, 0);
    uint8_t *at = buf_add(&message, FORWARD_HEAD_BYTES + 1 + (size_t)host_len + (size_t)r->frame.len);
    if (at == NULL) {
        return false;
    }
    at[0] = FORWARD_REQUEST;
    put_be64(at + 1, r->forward_id);
    at[FORWARD_HEAD_BYTES] = host_len;
    memcpy(at + FORWARD_HEAD_BYTES + 1, r->host.ptr, host_len);
    memcpy(at + FORWARD_HEAD_BYTES + 1 + host_len, r->frame.ptr, (size_t)r->frame.len);
    struct bytes data = {message.ptr, (int32_t)message.len};
    bool sent = replica_send(coord_replica(r->api->coord), node, API_CHANNEL_FORWARD, data);
    buf_fini(&message);
    return sent;
}

static int64_t patience_us(const struct api_request *r)
{
    int64_t ms = 0;
    switch (r->row->key) {
    case API_KEY_CREATE_TOPICS:
        ms = ((const struct create_topics_request *)r->request)->timeout_ms;
        break;
    case API_KEY_CREATE_PARTITIONS:
        ms = ((const struct create_partitions_request *)r->request)->timeout_ms;
        break;
    case API_KEY_DELETE_TOPICS:
        ms = ((const struct delete_topics_request *)r->request)->timeout_ms;
        break;
    default:
        break;
    }
    ms = ms > FORWARD_LEAST_MS ? ms : FORWARD_LEAST_MS;
    return 1000 * (ms < FORWARD_MOST_MS ? ms : FORWARD_MOST_MS);
}

void api_forward(struct api_request *r, uint32_t node, void (*failed)(struct api_request *r))
{
    struct api *a = r->api;
    r->forward_id = ++a->next_id;
    r->forward_node = node;
    r->forward_failed = failed;
    r->forward_next = a->forwards;
    a->forwards = r;
    wait_arm(r, a->now_us + patience_us(r), forward_timeout);
    a->stats.forwarded++;
    if (!send_request(r, node)) {
        forward_fail(r);
    }
}

static void take_answer(struct api *a, uint32_t from, uint64_t id, struct bytes rest)
{
    struct api_request *r = a->forwards;
    while (r != NULL && (r->forward_id != id || r->forward_node != from)) {
        r = r->forward_next;
    }
    if (r == NULL || rest.len < 1) {
        return; /* too late */
    }
    if (rest.ptr[0] != TOO_LONG && (rest.ptr[0] != MET || rest.len < 5)) {
        forward_fail(r);
        return;
    }
    forwards_remove(r);
    if (rest.ptr[0] == TOO_LONG) {
        api_answer_close(r);
        api_unref(r);
        return;
    }
    api_answer_frame(r, (struct bytes){rest.ptr + 1, rest.len - 1});
    api_unref(r);
}

static void send_answer(struct api *a, uint32_t node, uint64_t id, struct bytes frame)
{
    struct buf message;
    buf_init(&message, 0);
    size_t len = frame.len > 0 ? (size_t)frame.len : 0;
    uint8_t how = len > 0 ? MET : NOT_MET;
    if (len > FORWARD_MOST_BYTES) {
        log_event(LOG_WARN, "answer_too_large", "node=%u bytes=%zu max_bytes=%d", node, len, FORWARD_MOST_BYTES);
        how = TOO_LONG;
        len = 0;
    }
    uint8_t *at = buf_add(&message, FORWARD_HEAD_BYTES + 1 + len);
    if (at != NULL) {
        at[0] = FORWARD_ANSWER;
        put_be64(at + 1, id);
        at[FORWARD_HEAD_BYTES] = how;
        if (len > 0) {
            memcpy(at + FORWARD_HEAD_BYTES + 1, frame.ptr, len);
        }
        replica_send(coord_replica(a->coord), node, API_CHANNEL_FORWARD, (struct bytes){message.ptr, (int32_t)message.len});
    }
    buf_fini(&message);
}

void controller_answer_peer(struct api_request *r, struct bytes frame)
{
    send_answer(r->api, r->from_node, r->from_id, frame);
}

static void take_request(struct api *a, uint32_t from, uint64_t id, struct bytes rest)
{
    if (rest.len < 1 || rest.len < 1 + rest.ptr[0]) {
        return;
    }
    struct api_request *r = api_new_own(a);
    struct bytes copy = arena_bytes(r->arena, rest);
    int32_t host_len = copy.ptr[0];
    r->from_node = from;
    r->from_id = id;
    r->host = (struct str){(const char *)copy.ptr + 1, host_len};
    if (api_run_frame(r, (struct bytes){copy.ptr + 1 + host_len, copy.len - 1 - host_len}) < 0) {
        send_answer(a, from, id, BYTES_NULL);
        api_drop_own(r);
    }
}

void controller_message(struct api *a, uint32_t from, struct bytes data)
{
    if (data.len < FORWARD_HEAD_BYTES) {
        return;
    }
    uint64_t id = get_be64(data.ptr + 1);
    struct bytes rest = {data.ptr + FORWARD_HEAD_BYTES, data.len - FORWARD_HEAD_BYTES};
    if (data.ptr[0] == FORWARD_REQUEST) {
        take_request(a, from, id, rest);
    } else if (data.ptr[0] == FORWARD_ANSWER) {
        take_answer(a, from, id, rest);
    }
}

void controller_peer_lost(struct api *a, uint32_t node)
{
    bool found = true;
    while (found) { /* a failed one may be sent again and stand in the list anew, but to another node */
        found = false;
        for (struct api_request *r = a->forwards; r != NULL; r = r->forward_next) {
            if (r->forward_node == node) {
                forward_fail(r);
                found = true;
                break;
            }
        }
    }
}

/* ---- where it is decided ---- */

/* Nobody leads, or the one who did does not any more: a little later again. */
static void controller_again(struct api_request *r)
{
    if (r->from_node != 0 || r->gone) {
        api_answer_close(r);
        api_unref(r);
    } else if (r->api->now_us >= r->deadline_us) {
        refuse(r, KAFKA_NOT_CONTROLLER);
    } else {
        wait_arm(r, r->api->now_us + RETRY_US, controller_try);
    }
}

static bool says_not_leader(int16_t error)
{
    return error == KAFKA_NOT_COORDINATOR || error == KAFKA_COORDINATOR_LOAD_IN_PROGRESS || error == KAFKA_COORDINATOR_NOT_AVAILABLE;
}

static void controller_done(struct coord_request *c, int16_t error, const void *answer)
{
    struct api_request *r = c->ctx;
    r->busy = false;
    if (answer == NULL) {
        api_drop(r);
        api_unref(r);
    } else if (says_not_leader(error)) {
        controller_again(r);
    } else if (r->await_applied && error == 0) {
        applied_wait_begin(r, answer);
    } else {
        api_answer(r, answer);
        api_unref(r);
    }
}

/* What a decision about members goes by besides the catalogue. */
static void fill_reachable(struct api_request *r)
{
    const struct api *a = r->api;
    struct catalog_member m;
    struct int32_array reachable = {ARENA_NEW(r->arena, int32_t, CATALOG_MAX_MEMBERS), 0};
    for (int32_t after = -1; reachable.len < CATALOG_MAX_MEMBERS && catalog_next_member(api_catalog(a), after, &m); after = m.node_id) {
        if (m.node_id == (int32_t)a->options.node_id || replica_connected(coord_replica(a->coord), (uint32_t)m.node_id)) {
            reachable.v[reachable.len++] = m.node_id;
        }
    }
    r->coord.op.reachable = reachable;
    r->coord.op.release = a->options.version;
}

static void controller_try(struct api_request *r)
{
    struct api *a = r->api;
    uint32_t leader;
    if (r->gone) {
        controller_again(r);
        return;
    }
    if (coord_shard_state(a->coord, 0, &leader) == 0) {
        memset(&r->coord.in, 0, sizeof(r->coord.in));
        if (r->kind == CATALOG_CHANGE_MEMBER || r->kind == CATALOG_UPGRADE) {
            fill_reachable(r);
        }
        r->busy = true;
        a->submitted = true;
        coord_submit(a->coord, &r->coord);
    } else if (r->frame.len > FORWARD_MOST_BYTES) {
        refuse(r, KAFKA_NOT_CONTROLLER);
    } else if (r->from_node == 0 && leader != 0 && leader != a->options.node_id) {
        api_forward(r, leader, controller_again);
    } else {
        controller_again(r);
    }
}

void api_controller(struct api_request *r, enum group_op_kind kind, bool await_applied)
{
    api_fill_coord(r, &r->coord, kind, STR(""), r->request);
    r->coord.done = controller_done;
    r->coord.ctx = r;
    r->kind = kind;
    r->await_applied = await_applied;
    r->deadline_us = r->api->now_us + FIND_LEADER_US;
    api_ref(r);
    controller_try(r);
}
