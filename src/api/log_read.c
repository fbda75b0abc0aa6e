/* log_read.c: LogRead (20001), of this project: committed entries of this node's log, as they are. */
#include "internal.h"

enum { MOST_ENTRIES = 10000, MOST_BYTES = 16 << 20, ENTRY_COST_BYTES = 64 /* of looking at an entry, besides its bytes */ };

/* Whether the entry touches the group. One that does not decode is shown: the reader should see it. */
static bool touches(struct bytes entry, struct str group_id, struct arena *scratch)
{
    struct log_entry decoded;
    if (entry.len <= 0) {
        return false;
    }
    if (wire_decode(&wire_log_entry, wire_log_entry.max_version, entry, scratch, &decoded, NULL) < 0) {
        return true;
    }
    for (int32_t i = 0; i < decoded.groups.len; i++) {
        if (str_eq(decoded.groups.v[i].group_id, group_id)) {
            return true;
        }
    }
    return false;
}

static int32_t bound(int32_t asked, int32_t most)
{
    return asked <= 0 || asked > most ? most : asked;
}

struct reading {
    struct api_request *r;
    struct log_read_response *response;
    struct arena scratch;
    int32_t capacity;
    int64_t
        bytes_left; /* of what may still be looked at, shown or not: a request for a group that hardly occurs does not hold up the loop */
};

static void add_entry(struct reading *read, int64_t index, uint64_t term, uint8_t kind, struct bytes data)
{
    struct log_read_response_entry_array *entries = &read->response->entries;
    if (entries->len == read->capacity) {
        int32_t capacity = read->capacity > 0 ? read->capacity * 2 : 64;
        struct log_read_response_entry *grown = ARENA_NEW(read->r->arena, struct log_read_response_entry, capacity);
        for (int32_t i = 0; i < entries->len; i++) {
            grown[i] = entries->v[i];
        }
        entries->v = grown;
        read->capacity = capacity;
    }
    struct bytes shown = data.len < 0 ? (struct bytes){(const uint8_t *)"", 0} : data;
    entries->v[entries->len++] = (struct log_read_response_entry){index, (int64_t)term, (int8_t)kind, shown};
}

static void read_entries(struct reading *read, const struct replica_shard_status *status)
{
    const struct log_read_request *request = read->r->request;
    struct replica *replica = coord_replica(read->r->api->coord);
    int32_t most = bound(request->max_entries, MOST_ENTRIES);
    int64_t from = request->from_index > (int64_t)status->first_index ? request->from_index : (int64_t)status->first_index;
    for (int64_t index = from; index <= (int64_t)status->commit_index && read->response->entries.len < most && read->bytes_left > 0;
         index++) {
        uint64_t term;
        uint8_t kind;
        struct bytes data;
        if (replica_read_entry(replica, (uint32_t)request->shard, (uint64_t)index, &term, &kind, &data) < 0) {
            break;
        }
        read->response->last_index = index;
        read->bytes_left -= ENTRY_COST_BYTES + (data.len > 0 ? data.len : 0);
        arena_clear(&read->scratch);
        if (str_is_null(request->group_id) || touches(data, request->group_id, &read->scratch)) {
            add_entry(read, index, term, kind, data);
        }
    }
}

/* FirstIndex: the oldest entry kept; LastIndex: the last one looked at, so that the next request goes on behind it. */
void api_log_read(struct api_request *r)
{
    const struct log_read_request *request = r->request;
    struct log_read_response *response = api_response(r);
    struct replica *replica = coord_replica(r->api->coord);
    if (request->shard < 0 || request->shard >= (int32_t)replica_shard_count(replica)) {
        response->error_code = KAFKA_INVALID_REQUEST;
        response->error_message =
            arena_printf(r->arena, "There is no shard %d; the cluster has %u.", request->shard, replica_shard_count(replica));
        api_answer(r, response);
        return;
    }
    struct replica_shard_status status;
    replica_status(replica, (uint32_t)request->shard, &status);
    struct reading read = {.r = r, .response = response, .bytes_left = bound(request->max_bytes, MOST_BYTES)};
    response->first_index = (int64_t)status.first_index;
    response->last_index = request->from_index > 0 ? request->from_index - 1 : 0;
    arena_init(&read.scratch, 0);
    read_entries(&read, &status);
    arena_fini(&read.scratch);
    api_answer(r, response);
}
