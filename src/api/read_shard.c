/* read_shard.c: ReadShard (20030), of this project: the state of a shard as of one entry, in pieces, for backups.
 *
 * The first request freezes the state on the shard's leader and is answered, once that is confirmed, with the first piece; each further one names the cut and the
 * piece it wants. Nothing is kept to be sent again: who has lost an answer begins a new cut. One that nobody goes on reading is closed after a while. */
#include "internal.h"

enum { MOST_BYTES = 256 << 10 };

struct api_cut {
    struct coord_cut cut;
    struct api *api;
    struct api_cut *next;
    int64_t id;
    int32_t sequence; /* of the piece that is given out next */
    int64_t due_us;
    struct api_request *first; /* waits for the cut to be confirmed; NULL: it is open */
};

static void refuse(struct api_request *r, int16_t error, const char *text)
{
    struct read_shard_response *response = api_response(r);
    response->error_code = error;
    response->error_message = str_of(text);
    api_answer(r, response);
}

static void cut_free(struct api_cut *c)
{
    struct api *a = c->api;
    struct api_cut **at = &a->cuts;
    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    pool_put(&a->pool, c, sizeof(*c));
}

static void piece(struct api_request *r, struct api_cut *c)
{
    const struct read_shard_request *request = r->request;
    struct read_shard_response *response = api_response(r);
    struct buf data;
    bool more = false;
    bool few = request->max_bytes > 0 && request->max_bytes < MOST_BYTES;
    buf_init(&data, 0);
    int rc = coord_cut_next(&c->cut, few ? (size_t)request->max_bytes : MOST_BYTES, &data, &more);
    response->cut_id = c->id;
    response->index = (int64_t)c->cut.index;
    response->term = (int64_t)c->cut.term;
    response->state_hash = (int64_t)c->cut.state_hash;
    response->catalog_index = c->cut.catalog_index;
    response->data = arena_bytes(r->arena, (struct bytes){data.ptr, (int32_t)data.len});
    response->last = !more;
    buf_fini(&data);
    c->sequence++;
    c->due_us = r->api->now_us + r->api->options.backup_idle_us;
    if (!more) {
        coord_cut_close(&c->cut);
        cut_free(c);
    }
    if (rc != 0) {
        refuse(r, KAFKA_UNKNOWN_SERVER_ERROR,
               "This node's state has changed in memory by itself: begin again with the shard's next leader.");
        return;
    }
    api_answer(r, response);
}

static void not_opened(struct api_request *r, uint32_t shard, int16_t error)
{
    struct read_shard_response *response = api_response(r);
    uint32_t leader = 0;
    (void)coord_shard_state(r->api->coord, shard, &leader);
    response->error_code = error;
    response->leader = leader != 0 ? (int32_t)leader : -1;
    api_answer(r, response);
}

static void on_opened(struct coord_cut *cut, int16_t error)
{
    struct api_cut *c = cut->ctx;
    struct api_request *r = c->first;
    uint32_t shard = cut->shard;
    c->first = NULL;
    if (error != 0 || r->gone) {
        if (error == 0) {
            coord_cut_close(cut);
        }
        cut_free(c);
    }
    if (r->gone) {
        api_drop(r);
    } else if (error != 0) {
        not_opened(r, shard, error);
    } else {
        piece(r, c);
    }
    api_unref(r);
}

static void on_lost(struct coord_cut *cut)
{
    cut_free(cut->ctx);
}

static void open_cut(struct api_request *r, uint32_t shard)
{
    struct api *a = r->api;
    struct api_cut *c = pool_get(&a->pool, sizeof(*c));
    uint8_t drawn[16]; /* so that a cut of an earlier life of this node is not taken for one of this */
    put_be64(drawn, (uint64_t)a->now_us);
    put_be64(drawn + 8, ++a->next_id);
    *c = (struct api_cut){.cut = {.shard = shard, .opened = on_opened, .lost = on_lost, .ctx = c},
                          .api = a,
                          .next = a->cuts,
                          .id = (int64_t)(hash_bytes(drawn, sizeof(drawn), 0) >> 1) | 1,
                          .due_us = INT64_MAX,
                          .first = r};
    a->cuts = c;
    a->submitted = true;
    api_ref(r);
    coord_cut_open(a->coord, &c->cut);
}

void api_read_shard(struct api_request *r)
{
    const struct read_shard_request *request = r->request;
    struct api *a = r->api;
    if (request->shard < 0 || request->shard >= (int32_t)replica_shard_count(coord_replica(a->coord))) {
        refuse(r, KAFKA_INVALID_REQUEST, "There is no such shard.");
        return;
    }
    if (request->cut_id == 0) {
        open_cut(r, (uint32_t)request->shard);
        return;
    }
    for (struct api_cut *c = a->cuts; c != NULL; c = c->next) {
        if (c->id == request->cut_id && c->first == NULL && c->cut.shard == (uint32_t)request->shard && c->sequence == request->sequence) {
            piece(r, c);
            return;
        }
    }
    refuse(r, KAFKA_FETCH_SESSION_ID_NOT_FOUND, "That piece is not to be had any more: begin again.");
}

void cuts_expire(struct api *a)
{
    for (struct api_cut *c = a->cuts, *next; c != NULL; c = next) {
        next = c->next;
        if (c->due_us <= a->now_us) {
            coord_cut_close(&c->cut);
            cut_free(c);
        }
    }
}

int64_t cuts_next_us(const struct api *a)
{
    int64_t next = INT64_MAX;
    for (const struct api_cut *c = a->cuts; c != NULL; c = c->next) {
        next = c->due_us < next ? c->due_us : next;
    }
    return next;
}
