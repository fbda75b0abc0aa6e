/* answer.c: a response goes to whoever asked: a client of this node, another node, or this node itself. */
#include "internal.h"

void *api_response(struct api_request *r)
{
    void *response = arena_get(r->arena, r->wire->response->type->size);
    wire_init(r->wire->response, response);
    return response;
}

/* The request's arena may be at its end after this only when nothing refers to it any more: see api_unref. */
static void mark_answered(struct api_request *r)
{
    MUSTER_CHECK(!r->answered);
    r->answered = true;
}

static void log_too_large(struct api_request *r)
{
    uint64_t kept_back;
    r->api->stats.answers_too_large++;
    if (log_gate_pass(&r->api->answer_gate, r->api->now_us, &kept_back)) {
        log_event(LOG_WARN, "answer_too_large", "host=%.*s client_id=\"%.*s\" api_key=%d max_bytes=%zu kept_back=%llu", STR_ARG(r->host),
                  STR_ARG(r->client_id), r->wire->key, r->api->options.response_max_bytes, (unsigned long long)kept_back);
    }
}

/* The size of an answer is known before its first byte is written: one that is too large takes no memory. */
static int frame_response(struct api_request *r, const void *response, struct buf *out)
{
    size_t before = out->limit, most = r->api->options.response_max_bytes;
    if (most > 0) {
        out->limit = out->len + most;
    }
    int rc = wire_frame_response(r->wire, r->version, r->correlation_id, response, out);
    out->limit = before;
    if (rc < 0) {
        log_too_large(r);
    }
    return rc;
}

static void answer_slot(struct api_request *r, const void *response)
{
    struct buf *out = net_answer_begin(r->slot);
    if (out != NULL && frame_response(r, response, out) < 0) {
        net_answer_close(r->slot);
        return;
    }
    net_answer_end(r->slot);
}

static void answer_peer(struct api_request *r, const void *response)
{
    struct buf out;
    buf_init(&out, 0);
    bool fits = frame_response(r, response, &out) == 0;
    controller_answer_peer(r, fits ? (struct bytes){out.ptr, (int32_t)out.len} : BYTES_NULL);
    buf_fini(&out);
}

void api_answer(struct api_request *r, const void *response)
{
    mark_answered(r);
    if (r->gone) {
        return;
    }
    if (r->slot != NULL) {
        answer_slot(r, response);
    } else if (r->sink != NULL) {
        r->sink(r, response);
    } else {
        answer_peer(r, response);
    }
}

/* An encoded answer for this node itself has to be decoded again. */
static void answer_sink(struct api_request *r, struct bytes frame)
{
    void *response = api_response(r);
    size_t used = 0;
    int32_t correlation_id;
    struct bytes rest = {frame.ptr + 4, frame.len - 4};
    int rc = wire_read_response_header(r->wire, r->version, rest, &correlation_id, &used);
    if (rc == 0) {
        struct bytes body = {rest.ptr + used, (int32_t)((size_t)rest.len - used)};
        rc = wire_decode(r->wire->response, r->version, body, r->arena, response, NULL);
    }
    r->sink(r, rc == 0 ? response : NULL);
}

void api_answer_frame(struct api_request *r, struct bytes frame)
{
    mark_answered(r);
    if (r->gone) {
        return;
    }
    if (r->slot == NULL) {
        answer_sink(r, frame);
        return;
    }
    struct buf *out = net_answer_begin(r->slot);
    if (out != NULL && buf_put(out, frame.ptr, (size_t)frame.len) < 0) {
        net_answer_close(r->slot);
        return;
    }
    net_answer_end(r->slot);
}

void api_answer_close(struct api_request *r)
{
    mark_answered(r);
    if (r->slot != NULL && !r->gone) {
        net_answer_close(r->slot);
    } else if (r->sink != NULL) {
        r->sink(r, NULL);
    } else if (r->from_node != 0) {
        controller_answer_peer(r, BYTES_NULL);
    }
}

void api_answer_too_large(struct api_request *r)
{
    log_too_large(r);
    api_answer_close(r);
}

void api_drop(struct api_request *r)
{
    mark_answered(r);
}
