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

void api_group(struct api_request *r, enum group_op_kind kind, struct str group_id)
{
    api_fill_coord(r, &r->coord, kind, group_id, r->request);
    if (needs_group_id(kind) && group_id.len == 0) {
        struct group_out out;
        group_refuse(&r->coord.op, KAFKA_INVALID_GROUP_ID, r->arena, &out);
        r->api->stats.error_by_key[r->row_idx]++;
        api_answer(r, out.answer);
        return;
    }
    r->coord.done = group_done;
    r->coord.ctx = r;
    r->busy = true;
    r->api->submitted = true;
    api_ref(r);
    coord_submit(r->api->coord, &r->coord);
}

static void part_done(struct coord_request *c, int16_t error, const void *answer)
{
    struct api_part *part = c->ctx;
    struct api_request *r = part->whole;
    part->busy = false;
    part->error = error;
    part->answer = answer;
    if (--r->parts_left == 0) {
        if (r->gone) {
            api_drop(r);
        } else {
            r->join(r);
        }
    }
    api_unref(r);
}

void api_fan_out(struct api_request *r, enum group_op_kind kind, int32_t count,
                 struct str (*group_of)(const struct api_request *r, int32_t idx),
                 const void *(*request_of)(const struct api_request *r, int32_t idx), void (*join)(struct api_request *r))
{
    r->join = join;
    r->parts = ARENA_NEW(r->arena, struct api_part, count);
    r->part_count = r->parts_left = count;
    if (count == 0) {
        join(r);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        struct api_part *part = &r->parts[i];
        part->whole = r;
        api_fill_coord(r, &part->coord, kind, group_of(r, i), request_of != NULL ? request_of(r, i) : NULL);
        part->coord.done = part_done;
        part->coord.ctx = part;
        part->busy = true;
        api_ref(r);
    }
    r->api->submitted = true;
    for (int32_t i = 0; i < count; i++) {
        coord_submit(r->api->coord, &r->parts[i].coord);
    }
}

void api_cancel(struct api_request *r)
{
    if (r->busy) {
        coord_cancel(r->api->coord, &r->coord);
        return;
    }
    for (int32_t i = 0; i < r->part_count; i++) {
        if (r->parts[i].busy) {
            coord_cancel(r->api->coord, &r->parts[i].coord);
        }
    }
}
