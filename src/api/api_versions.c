/* api_versions.c: ApiVersions (18), the first thing a client asks. KIP-511: the name and version of its software; KIP-1242: the cluster and node
 * it believes to talk to. */
#include "internal.h"

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits, inside also dots and dashes. */
static bool is_software_word(struct str s)
{
    if (s.len < 1 || !is_alphanumeric(s.ptr[0]) || !is_alphanumeric(s.ptr[s.len - 1])) {
        return false;
    }
    for (int32_t i = 0; i < s.len; i++) {
        if (!is_alphanumeric(s.ptr[i]) && s.ptr[i] != '.' && s.ptr[i] != '-') {
            return false;
        }
    }
    return true;
}

static int16_t check(const struct api_request *r)
{
    const struct api_versions_request *request = r->request;
    const struct api *a = r->api;
    if (r->version >= 3 && (!is_software_word(request->client_software_name) || !is_software_word(request->client_software_version))) {
        return KAFKA_INVALID_REQUEST;
    }
    if (r->version < 5 || (str_is_null(request->cluster_id) && request->node_id == -1)) {
        return KAFKA_NONE;
    }
    if (str_is_null(request->cluster_id) || request->node_id == -1) {
        return KAFKA_INVALID_REQUEST;
    }
    if (!str_eq(request->cluster_id, str_of(a->cluster_id)) || request->node_id != (int32_t)a->options.node_id) {
        return KAFKA_REBOOTSTRAP_REQUIRED;
    }
    return KAFKA_NONE;
}

/* Produce is announced from version 0 on, as Kafka does: older librdkafka takes a broker without it for one that knows no compression (KAFKA-18659). */
static struct api_versions_response_api_version version_of(int16_t key)
{
    const struct wire_msg *message = wire_api_find(key)->request;
    int16_t min_version = key == API_KEY_PRODUCE ? 0 : message->min_version;
    return (struct api_versions_response_api_version){key, min_version, message->max_version};
}

static void add_feature(const struct api_request *r, struct api_versions_response *response, struct str name)
{
    struct api_versions_response_supported_feature_key supported = {name, 0, 1};
    if (r->version >= 4) {
        response->supported_features.v[response->supported_features.len++] = supported;
    }
    response->finalized_features.v[response->finalized_features.len++] = (struct api_versions_response_finalized_feature_key){name, 1, 1};
    response->finalized_features_epoch = 0;
}

/* KIP-584. A level that nobody announces counts as 0. Versions before 4 cannot show a range that begins there (KAFKA-17011). */
static void add_features(struct api_request *r, struct api_versions_response *response)
{
    response->supported_features.v = ARENA_NEW(r->arena, struct api_versions_response_supported_feature_key, 2);
    response->finalized_features.v = ARENA_NEW(r->arena, struct api_versions_response_finalized_feature_key, 2);
    if (r->api->options.consumer_groups) {
        add_feature(r, response, STR("group.version"));
    }
    if (r->api->options.streams_groups) {
        add_feature(r, response, STR("streams.version"));
    }
}

void api_api_versions(struct api_request *r)
{
    struct api_versions_response *response = api_response(r);
    response->error_code = check(r);
    if (response->error_code == KAFKA_NONE) {
        response->api_keys.len = (int32_t)api_row_count;
        response->api_keys.v = ARENA_NEW(r->arena, struct api_versions_response_api_version, api_row_count);
        for (size_t i = 0; i < api_row_count; i++) {
            response->api_keys.v[i] = version_of(api_rows[i].key);
        }
        add_features(r, response);
    } else {
        r->api->stats.error_by_key[r->row_idx]++;
    }
    api_answer(r, response);
}

static bool skip_varint(struct bytes *rest, uint32_t *ret)
{
    *ret = 0;
    for (int shift = 0; shift < 35 && rest->len > 0; shift += 7) {
        uint8_t byte = *rest->ptr;
        rest->ptr++;
        rest->len--;
        *ret |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* The body of a version to come cannot be known, but its header can: version 2, with tagged fields behind the client id. */
bool api_versions_header_is_whole(struct bytes frame)
{
    int32_t id_len = frame.len < 10 ? -1 : (int16_t)get_be16(frame.ptr + 8);
    int32_t used = 10 + (id_len > 0 ? id_len : 0);
    if (frame.len < used) {
        return false;
    }
    struct bytes rest = {frame.ptr + used, frame.len - used};
    uint32_t count, tag, size;
    if (!skip_varint(&rest, &count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!skip_varint(&rest, &tag) || !skip_varint(&rest, &size) || size > (uint32_t)rest.len) {
            return false;
        }
        rest.ptr += size;
        rest.len -= (int32_t)size;
    }
    return true;
}

void api_versions_unsupported(struct api_request *r)
{
    r->wire = wire_api_find(API_KEY_API_VERSIONS);
    r->version = 0;
    struct api_versions_response *response = api_response(r);
    struct api_versions_response_api_version own = version_of(API_KEY_API_VERSIONS);
    response->error_code = KAFKA_UNSUPPORTED_VERSION;
    response->api_keys.v = &own;
    response->api_keys.len = 1;
    api_answer(r, response);
}
