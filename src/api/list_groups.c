/* list_groups.c: ListGroups (16). A node lists the groups it coordinates and no others: clients ask every node and add up the answers.
 *
 * Each shard that this node leads is read in its own confirmed read. A shard without a coordinator makes the whole answer a retriable error, since its groups
 * would be missing from everybody's list. */
#include "internal.h"

enum { LIST_DEADLINE_US = 800 * 1000 };

struct list_part {
    struct coord_read read;
    struct api_request *whole;
};

struct listing {
    struct list_groups_response *response;
    int32_t capacity;
    uint32_t parts_left;
    int16_t error;
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Compares without case and underscores: the tools write NotReady where Kafka's own filter knows not_ready. */
static bool same_word(struct str a, struct str b)
{
    int32_t i = 0, j = 0;
    for (;;) {
        while (i < a.len && a.ptr[i] == '_') {
            i++;
        }
        while (j < b.len && b.ptr[j] == '_') {
            j++;
        }
        if (i >= a.len || j >= b.len) {
            return i >= a.len && j >= b.len;
        }
        if (lower(a.ptr[i++]) != lower(b.ptr[j++])) {
            return false;
        }
    }
}

static bool passes(const struct str_array *filter, struct str word)
{
    if (filter->len <= 0) {
        return true;
    }
    for (int32_t i = 0; i < filter->len; i++) {
        if (same_word(filter->v[i], word)) {
            return true;
        }
    }
    return false;
}

static void add_group(struct api_request *r, const struct group_listing *group)
{
    struct listing *listing = r->state;
    struct list_groups_response_listed_group_array *groups = &listing->response->groups;
    if (groups->len == listing->capacity) {
        int32_t capacity = listing->capacity > 0 ? listing->capacity * 2 : 64;
        struct list_groups_response_listed_group *grown = ARENA_NEW(r->arena, struct list_groups_response_listed_group, capacity);
        for (int32_t i = 0; i < groups->len; i++) {
            grown[i] = groups->v[i];
        }
        groups->v = grown;
        listing->capacity = capacity;
    }
    groups->v[groups->len++] = (struct list_groups_response_listed_group){
        .group_id = arena_str(r->arena, group->group_id),
        .protocol_type = arena_str(r->arena, group->protocol_type),
        .group_state = group->state,
        .group_type = group->type,
    };
}

static void read_shard(struct coord_read *read, const struct group_set *set)
{
    struct list_part *part = read->ctx;
    struct api_request *r = part->whole;
    const struct list_groups_request *request = r->request;
    if (r->answered || r->gone) {
        return;
    }
    struct group_listing group;
    for (struct str id = group_set_next(set, STR_NULL); !str_is_null(id); id = group_set_next(set, id)) {
        if (group_listing(set, id, &group) && passes(&request->states_filter, group.state) && passes(&request->types_filter, group.type)) {
            add_group(r, &group);
        }
    }
}

static void finish(struct api_request *r)
{
    struct listing *listing = r->state;
    if (listing->error != 0) {
        listing->response->groups.len = 0;
        listing->response->error_code = listing->error;
    }
    wait_cancel(r);
    api_answer(r, listing->response);
}

static void shard_done(struct coord_read *read, int16_t error)
{
    struct list_part *part = read->ctx;
    struct api_request *r = part->whole;
    struct listing *listing = r->state;
    if (error != 0) { /* this node stopped leading the shard while it was read */
        listing->error = KAFKA_COORDINATOR_NOT_AVAILABLE;
    }
    if (--listing->parts_left == 0 && !r->answered) {
        finish(r);
    }
    api_unref(r);
}

/* No majority confirms, or the client has gone: the reads go on, their result is not wanted. */
static void too_late(struct api_request *r)
{
    struct listing *listing = r->state;
    listing->error = KAFKA_COORDINATOR_NOT_AVAILABLE;
    if (!r->answered) {
        finish(r);
    }
}

/* 0: nothing to do for this node; 1: to be read here; negative: nobody serves it now. */
static int shard_task(struct api_request *r, uint32_t shard, int16_t *ret_error)
{
    uint32_t leader;
    int16_t state = coord_shard_state(r->api->coord, shard, &leader);
    if (state == 0) {
        return 1;
    }
    if (leader != 0 && leader != r->api->options.node_id) {
        return 0;
    }
    *ret_error = leader == 0 ? KAFKA_COORDINATOR_NOT_AVAILABLE : KAFKA_COORDINATOR_LOAD_IN_PROGRESS;
    return -1;
}

void api_list_groups(struct api_request *r)
{
    struct api *a = r->api;
    uint32_t shards = replica_shard_count(coord_replica(a->coord));
    struct listing *listing = arena_get(r->arena, sizeof(*listing));
    struct list_part *parts = ARENA_NEW(r->arena, struct list_part, shards);
    listing->response = api_response(r);
    listing->parts_left = 1;
    r->state = listing;
    for (uint32_t shard = 0; shard < shards; shard++) {
        int task = shard_task(r, shard, &listing->error);
        if (task > 0) {
            parts[shard].whole = r;
            parts[shard].read = (struct coord_read){.shard = shard, .read = read_shard, .done = shard_done, .ctx = &parts[shard]};
            listing->parts_left++;
            api_ref(r);
            a->submitted = true;
            coord_submit_read(a->coord, &parts[shard].read);
        }
    }
    if (--listing->parts_left == 0 || listing->error != 0) {
        finish(r);
    } else {
        wait_arm(r, a->now_us + LIST_DEADLINE_US, too_late);
    }
}
