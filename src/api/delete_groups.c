/* delete_groups.c: DeleteGroups (42). A group that is named twice is deleted, and answered, once. */
#include "internal.h"

static struct str group_of(const struct api_request *r, int32_t idx)
{
    const struct str_array *names = r->state;
    return names->v[idx];
}

static void join(struct api_request *r)
{
    struct delete_groups_response *response = api_response(r);
    response->results.len = r->fan->count;
    response->results.v = ARENA_NEW(r->arena, struct delete_groups_response_deletable_group_result, r->fan->count);
    for (int32_t i = 0; i < r->fan->count; i++) {
        response->results.v[i] = *(const struct delete_groups_response_deletable_group_result *)r->fan->answers[i];
    }
    api_answer(r, response);
}

void api_delete_groups(struct api_request *r)
{
    const struct delete_groups_request *request = r->request;
    if (api_too_many_groups(r, request->groups_names.len)) {
        return;
    }
    struct str_array *names = arena_get(r->arena, sizeof(*names));
    bool *repeated = names_repeated(request->groups_names.v, request->groups_names.len, r->arena);
    names->v = ARENA_NEW(r->arena, struct str, request->groups_names.len);
    for (int32_t i = 0; i < request->groups_names.len; i++) {
        if (!repeated[i]) {
            names->v[names->len++] = request->groups_names.v[i];
        }
    }
    r->state = names;
    api_fan_out(r, GROUP_DELETE, names->len, group_of, NULL, join);
}
