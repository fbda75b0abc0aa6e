/* fake_offsets.c: groups and offsets of a node that is made up, beyond what it answers by itself. */
#include "fake_offsets.h"

typedef struct list_groups_response_listed_group listed;

const void *fake_lists_two(struct fake *f, int16_t key, const void *request)
{
    static const listed groups[] = {
        {.group_id = STR("old"), .protocol_type = STR("consumer"), .group_state = STR("Empty"), .group_type = STR("classic")},
        {.group_id = STR("new"), .protocol_type = STR("consumer"), .group_state = STR("Stable"), .group_type = STR("consumer")},
    };
    (void)request;
    if (key != API_KEY_LIST_GROUPS) {
        return NULL;
    }
    struct list_groups_response *r = ARENA_NEW(&f->arena, struct list_groups_response, 1);
    wire_init(&wire_list_groups_response, r);
    r->groups.v = ARENA_NEW(&f->arena, listed, COUNT_OF(groups));
    memcpy(r->groups.v, groups, sizeof(groups));
    r->groups.len = COUNT_OF(groups);
    return r;
}

typedef struct list_offsets_response_partition_response listed_end;

/* Of orders 0 nobody has set the end; the others end at 15. */
static const void *list_ends(struct fake *f, const struct list_offsets_request *request)
{
    struct list_offsets_response *r = ARENA_NEW(&f->arena, struct list_offsets_response, 1);
    wire_init(&wire_list_offsets_response, r);
    r->topics.len = request->topics.len;
    r->topics.v = ARENA_NEW(&f->arena, struct list_offsets_response_topic_response, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        r->topics.v[i].name = request->topics.v[i].name;
        r->topics.v[i].partitions.len = request->topics.v[i].partitions.len;
        r->topics.v[i].partitions.v = ARENA_NEW(&f->arena, listed_end, r->topics.v[i].partitions.len);
        for (int32_t k = 0; k < r->topics.v[i].partitions.len; k++) {
            const struct list_offsets_request_partition *p = &request->topics.v[i].partitions.v[k];
            r->topics.v[i].partitions.v[k] = (listed_end){.partition_index = p->partition_index,
                                                          .timestamp = -1,
                                                          .offset = p->timestamp == -1 && p->partition_index > 0 ? 15 : 0};
        }
    }
    return r;
}

/* As a coordinator does it to the group "behind", which has committed 10 everywhere. */
const void *fake_alters(struct fake *f, const struct alter_group_offsets_request *request)
{
    struct alter_group_offsets_response *r = ARENA_NEW(&f->arena, struct alter_group_offsets_response, 1);
    wire_init(&wire_alter_group_offsets_response, r);
    r->topics.len = request->topics.len;
    r->topics.v = ARENA_NEW(&f->arena, struct alter_group_offsets_response_topic, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        r->topics.v[i].name = request->topics.v[i].name;
        r->topics.v[i].partitions.len = request->topics.v[i].partitions.len;
        r->topics.v[i].partitions.v = ARENA_NEW(&f->arena, altered, r->topics.v[i].partitions.len);
        for (int32_t k = 0; k < r->topics.v[i].partitions.len; k++) {
            const struct alter_group_offsets_request_partition *p = &request->topics.v[i].partitions.v[k];
            int64_t to = p->action == 1 ? 10 + p->offset : p->offset;
            to = p->action == 1 && to > p->most ? p->most : to;
            r->topics.v[i].partitions.v[k] = (altered){.partition_index = p->partition_index, .before = 10, .after = to};
        }
    }
    return r;
}

const void *fake_ends_and_changes(struct fake *f, int16_t key, const void *request)
{
    return key == API_KEY_LIST_OFFSETS          ? list_ends(f, request)
           : key == API_KEY_ALTER_GROUP_OFFSETS ? fake_alters(f, request)
           : key == API_KEY_LIST_GROUPS         ? fake_lists_two(f, key, request)
                                                : NULL;
}

/* A group that there is not, and one whose name is close to it. */
const void *fake_lists_close(struct fake *f, int16_t key, const void *request)
{
    const void *r = fake_lists_two(f, key, request);
    if (r != NULL) {
        ((const struct list_groups_response *)r)->groups.v[1].group_id = STR("nome");
    }
    return r;
}
