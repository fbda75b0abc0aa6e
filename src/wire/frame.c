/* frame.c: the heads of requests and answers, and whole frames. */
#include <muster/messages.h>

#include "internal.h"

#include <string.h>

static bool is_flexible(const struct wire_api *api, int16_t version)
{
    return version >= api->request->flexible_from;
}

/* A client that asks for versions does not know yet what the server speaks: the answer's head is the oldest one (KIP-511). */
static bool answer_has_tags(const struct wire_api *api, int16_t version)
{
    return api->key != API_KEY_API_VERSIONS && is_flexible(api, version);
}

int wire_read_request_header(struct bytes frame, struct wire_request_header *ret, size_t *ret_used)
{
    struct wire_request_header head = {.client_id = STR_NULL};
    if (frame.len < 8) {
        return MUSTER_E_TRUNCATED;
    }
    struct reader in = {frame.ptr + 8, frame.ptr + frame.len};
    head.api_key = (int16_t)get_be16(frame.ptr);
    head.api_version = (int16_t)get_be16(frame.ptr + 2);
    head.correlation_id = (int32_t)get_be32(frame.ptr + 4);
    int rc = read_classic_string(&in, &head.client_id);
    const struct wire_api *api = wire_api_find(head.api_key);
    if (api == NULL || head.api_version < api->request->min_version || head.api_version > api->request->max_version) {
        rc = MUSTER_E_VERSION;
    } else if (rc == 0 && is_flexible(api, head.api_version)) {
        rc = read_past_tags(&in);
    }
    if (rc == 0 || rc == MUSTER_E_VERSION) {
        *ret = head;
    }
    if (rc == 0 && ret_used != NULL) {
        *ret_used = (size_t)(in.at - frame.ptr);
    }
    return rc;
}

int wire_read_response_header(const struct wire_api *api, int16_t version, struct bytes frame, int32_t *ret_correlation_id,
                              size_t *ret_used)
{
    if (frame.len < 4) {
        return MUSTER_E_TRUNCATED;
    }
    struct reader in = {frame.ptr + 4, frame.ptr + frame.len};
    int rc = answer_has_tags(api, version) ? read_past_tags(&in) : MUSTER_E_OK;
    if (rc == 0) {
        *ret_correlation_id = (int32_t)get_be32(frame.ptr);
        *ret_used = (size_t)(in.at - frame.ptr);
    }
    return rc;
}

/* Room for a whole frame at the end of out, its length word written; NULL past the limit or beyond what a length word can say. */
static uint8_t *frame_begin(struct buf *out, size_t size)
{
    if (size > INT32_MAX) {
        return NULL;
    }
    uint8_t *at = buf_add(out, 4 + size);
    if (at != NULL) {
        put_be32(at, (uint32_t)size);
        at += 4;
    }
    return at;
}

int wire_frame_response(const struct wire_api *api, int16_t version, int32_t correlation_id, const void *response, struct buf *out)
{
    bool tags = answer_has_tags(api, version);
    uint8_t *at = frame_begin(out, 4u + tags + wire_size(api->response, version, response));
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    put_be32(at, (uint32_t)correlation_id);
    at += 4;
    if (tags) {
        *at++ = 0;
    }
    wire_write(api->response, version, response, at);
    return MUSTER_E_OK;
}

int wire_frame_request(const struct wire_api *api, int16_t version, int32_t correlation_id, struct str client_id, const void *request,
                       struct buf *out)
{
    if (client_id.len > INT16_MAX) {
        return MUSTER_E_LIMIT;
    }
    bool tags = is_flexible(api, version);
    size_t id_size = client_id.len > 0 ? (size_t)client_id.len : 0;
    uint8_t *at = frame_begin(out, 10 + id_size + tags + wire_size(api->request, version, request));
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    put_be16(at, (uint16_t)api->key);
    put_be16(at + 2, (uint16_t)version);
    put_be32(at + 4, (uint32_t)correlation_id);
    put_be16(at + 8, (uint16_t)client_id.len);
    at += 10;
    if (id_size > 0) {
        memcpy(at, client_id.ptr, id_size);
        at += id_size;
    }
    if (tags) {
        *at++ = 0;
    }
    wire_write(api->request, version, request, at);
    return MUSTER_E_OK;
}
