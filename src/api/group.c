/* group.c: requests about groups go to coord, one by one or in parts. */
#include "internal.h"

void api_fill_coord(struct api_request *r, struct coord_request *c, enum group_op_kind kind, struct str group_id, const void *request)
{
    c->op.kind = kind;
    c->op.api_key = r->wire->key;
    c->op.api_version = r->version;
    c->op.group_id = group_id;
    c->op.request = request;
    c->op.caller = (struct group_caller){r->client_id, r->host};
    c->arena = r->arena;
    c->connection = r->connection;
}

static void group_done(struct coord_request *c, int16_t error, const void *answer)
{
    struct api_request *r = c->ctx;
    r->busy = false;
    if (answer == NULL) {
        api_drop(r);
    } else {
        if (error != 0) {
            r->api->stats.error_by_key[r->row_idx]++;
        }
        api_answer(r, answer);
    }
    api_unref(r);
}

/* Said by any node, before it is asked who coordinates the group; the empty id is one like others for offsets only. */
static bool needs_group_id(enum group_op_kind kind)
{
    return kind == GROUP_JOIN || kind == GROUP_SYNC || kind == GROUP_HEARTBEAT || kind == GROUP_LEAVE;
}

/* 0, or the error with which any node refuses requests of that kind. */
static int16_t not_served(const struct api *a, enum group_op_kind kind)
{
    switch (kind) {
    case GROUP_STREAMS_HEARTBEAT:
    case GROUP_STREAMS_DESCRIBE:
    case GROUP_STREAMS_INITIALIZE:
    case GROUP_STREAMS_DESCRIPTION:
        return a->options.streams_groups ? KAFKA_NONE : KAFKA_UNSUPPORTED_VERSION;
    case GROUP_CONSUMER_HEARTBEAT:
    case GROUP_CONSUMER_DESCRIBE:
        return a->options.consumer_groups ? KAFKA_NONE : KAFKA_UNSUPPORTED_VERSION;
    default:
        return KAFKA_NONE;
    }
}

static const void *refusal(struct api_request *r, const struct coord_request *c, int16_t error)
{
    struct group_out out;
    group_refuse(&c->op, error, r->arena, &out);
    r->api->stats.error_by_key[r->row_idx]++;
    return out.answer;
}

void api_group(struct api_request *r, enum group_op_kind kind, struct str group_id)
{
    api_fill_coord(r, &r->coord, kind, group_id, r->request);
    int16_t error = needs_group_id(kind) && group_id.len == 0 ? KAFKA_INVALID_GROUP_ID : not_served(r->api, kind);
    if (error != KAFKA_NONE) {
        api_answer(r, refusal(r, &r->coord, error));
        return;
    }
    r->coord.done = group_done;
    r->coord.ctx = r;
    r->coord.yields = r->slot != NULL && api_yields(r->row);
    r->busy = true;
    r->api->submitted = true;
    api_ref(r);
    coord_submit(r->api->coord, &r->coord);
}

/* ---- many groups ---- */

/* A request may name many groups. They are asked about slice by slice, a turn for each, so that nobody else has to wait for all of them; a slice
 * ends sooner when the answers are large. */
enum { SLICE_PARTS = 500, SLICE_BYTES = 1 << 20 };

static bool names_too_many(struct api_request *r, const char *event, int32_t count, int32_t most, uint64_t *counter)
{
    uint64_t kept_back;
    if (count <= most) {
        return false;
    }
    (*counter)++;
    if (log_gate_pass(&r->api->names_gate, r->api->now_us, &kept_back)) {
        log_event(LOG_INFO, event, "host=%.*s client_id=\"%.*s\" api_key=%d named=%d max=%d kept_back=%llu", STR_ARG(r->host),
                  STR_ARG(r->client_id), r->row->key, count, most, (unsigned long long)kept_back);
    }
    api_answer_close(r);
    return true;
}

bool api_too_many_groups(struct api_request *r, int32_t count)
{
    struct api *a = r->api;
    return names_too_many(r, "request_names_too_many_groups", count, a->options.request_max_groups, &a->stats.too_many_groups);
}

bool api_too_many_topics(struct api_request *r, int32_t count)
{
    struct api *a = r->api;
    return names_too_many(r, "request_names_too_many_topics", count, a->options.request_max_topics, &a->stats.too_many_topics);
}

static void ask_slice(struct api_request *r);

/* In a turn of its own; or the client has gone meanwhile. */
static void next_slice(struct api_request *r)
{
    if (r->gone) {
        api_drop(r);
    } else {
        ask_slice(r);
    }
    api_unref(r);
}

/* Kafka answers a group as often as it is named; here all of these answers are one. */
static void share_answers(struct api_fan *fan)
{
    for (int32_t i = 0; fan->first != NULL && i < fan->count; i++) {
        fan->answers[i] = fan->answers[fan->first[i]];
    }
}

static void slice_done(struct api_request *r)
{
    struct api_fan *fan = r->fan;
    if (r->gone) {
        api_drop(r);
    } else if (r->arena->used_bytes > r->api->options.response_max_bytes) {
        api_answer_too_large(r);
    } else if (fan->next == fan->count) {
        share_answers(fan);
        fan->join(r);
    } else {
        api_ref(r);
        wait_arm(r, r->api->now_us + 1, next_slice);
    }
}

static void part_over(struct api_request *r)
{
    if (--r->fan->parts_left == 0) {
        slice_done(r);
    }
    api_unref(r);
}

static void part_done(struct coord_request *c, int16_t error, const void *answer)
{
    struct api_part *part = c->ctx;
    (void)error;
    part->busy = false;
    part->whole->fan->answers[part->idx] = answer;
    part_over(part->whole);
}

static void ask_part(struct api_request *r, struct api_part *part, int32_t idx)
{
    const struct api_fan *fan = r->fan;
    int16_t error = not_served(r->api, fan->kind);
    *part = (struct api_part){.whole = r, .idx = idx, .busy = error == KAFKA_NONE};
    api_fill_coord(r, &part->coord, fan->kind, fan->group_of(r, idx), fan->request_of != NULL ? fan->request_of(r, idx) : NULL);
    if (error != KAFKA_NONE) {
        fan->answers[idx] = refusal(r, &part->coord, error);
        return;
    }
    part->coord.done = part_done;
    part->coord.ctx = part;
    r->fan->parts_left++;
    api_ref(r);
    coord_submit(r->api->coord, &part->coord);
}

static void ask_slice(struct api_request *r)
{
    struct api_fan *fan = r->fan;
    int32_t left = fan->count - fan->next;
    size_t most = r->arena->used_bytes + SLICE_BYTES;
    fan->part_count = 0;
    fan->parts_left = 1; /* this call's own, so that the slice does not end before it is whole */
    r->api->submitted = true;
    api_ref(r);
    while (left > 0 && fan->part_count < SLICE_PARTS && r->arena->used_bytes < most) {
        int32_t idx = fan->next++;
        left--;
        if (fan->first == NULL || fan->first[idx] == idx) {
            ask_part(r, &fan->parts[fan->part_count++], idx);
        }
    }
    part_over(r);
}

static const int32_t *first_of_each(struct api_request *r, const struct api_fan *fan)
{
    bool describes = fan->kind == GROUP_DESCRIBE || fan->kind == GROUP_CONSUMER_DESCRIBE || fan->kind == GROUP_STREAMS_DESCRIBE;
    if (!describes || fan->count == 1) {
        return NULL;
    }
    struct str *names = ARENA_NEW(r->arena, struct str, fan->count);
    for (int32_t i = 0; i < fan->count; i++) {
        names[i] = fan->group_of(r, i);
    }
    return names_first(names, fan->count, r->arena);
}

void api_fan_out(struct api_request *r, enum group_op_kind kind, int32_t count,
                 struct str (*group_of)(const struct api_request *r, int32_t idx),
                 const void *(*request_of)(const struct api_request *r, int32_t idx), void (*join)(struct api_request *r))
{
    struct api_fan *fan = arena_get(r->arena, sizeof(*fan));
    *fan = (struct api_fan){.group_of = group_of, .request_of = request_of, .join = join, .kind = kind, .count = count};
    r->fan = fan;
    if (count == 0) {
        join(r);
        return;
    }
    fan->answers = ARENA_NEW(r->arena, const void *, count);
    fan->first = first_of_each(r, fan);
    fan->parts = ARENA_NEW(r->arena, struct api_part, count < SLICE_PARTS ? count : SLICE_PARTS);
    ask_slice(r);
}

void api_cancel(struct api_request *r)
{
    if (r->busy) {
        coord_cancel(r->api->coord, &r->coord);
        return;
    }
    for (int32_t i = 0; r->fan != NULL && i < r->fan->part_count; i++) {
        if (r->fan->parts[i].busy) {
            coord_cancel(r->api->coord, &r->fan->parts[i].coord);
        }
    }
}
