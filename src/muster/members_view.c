#include "members_view.h"

const char *member_standing_name(int8_t standing)
{
    static const char *const names[] = {"joining", "learner", "voter", "leaving"};
    return standing >= 0 && standing < (int8_t)COUNT_OF(names) ? names[standing] : "unknown";
}

const char *member_change_name(int8_t kind)
{
    static const char *const names[] = {"none", "add", "promote", "remove", "replace"};
    return kind >= 0 && kind < (int8_t)COUNT_OF(names) ? names[kind] : "unknown";
}

static void ask(struct client *c, struct client_node *node, struct arena *arena, struct members_view *view)
{
    struct cluster_members_request request;
    const void *answer = NULL;
    wire_init(&wire_cluster_members_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_MEMBERS, .max_version = -1, .request = &request};
    if (client_node_call(c, node, &call, arena, &answer) < 0) {
        return;
    }
    const struct cluster_members_response *response = answer;
    if (response->error_code != 0) {
        return;
    }
    view->answers[view->answer_count++] = response;
    if (view->base == NULL || response->node_id == view->controller) {
        view->base = response;
    }
}

int members_fetch(struct client *c, struct arena *arena, struct members_view *ret)
{
    const struct metadata_response *metadata;
    *ret = (struct members_view){.controller = -1};
    int rc = client_metadata(c, NULL, 0, arena, &metadata);
    if (rc < 0) {
        return rc;
    }
    ret->controller = c->controller;
    struct client_node *node = client_broker(c, 0);
    for (int n = 0; node != NULL && n < MEMBERS_MAX; node = client_broker(c, ++n)) {
        ask(c, node, arena, ret);
    }
    return ret->base != NULL ? MUSTER_E_OK : MUSTER_E_VERSION;
}

int members_shards(const struct members_view *view)
{
    return view->base->shards.len;
}

const struct cluster_members_response_shard *members_shard(const struct members_view *view, int32_t shard)
{
    const struct cluster_members_response_shard *any = NULL;
    for (int i = 0; i < view->answer_count; i++) {
        if (shard >= view->answers[i]->shards.len) {
            continue;
        }
        const struct cluster_members_response_shard *s = &view->answers[i]->shards.v[shard];
        if (s->leads) {
            return s;
        }
        any = any == NULL || (s->committed && !any->committed) ? s : any;
    }
    return any;
}

struct member_progress members_progress(const struct members_view *view, int32_t node)
{
    struct member_progress p = {.lag = -1};
    for (int32_t shard = 0; shard < members_shards(view); shard++) {
        const struct cluster_members_response_shard *s = members_shard(view, shard);
        for (int32_t i = 0; s != NULL && i < s->replicas.len; i++) {
            const struct cluster_members_response_replica *r = &s->replicas.v[i];
            if (r->node_id != node) {
                continue;
            }
            p.votes += r->voter;
            p.learns += !r->voter;
            int64_t lag = !s->leads ? -1 : s->leader == node ? 0 : r->match_index >= 0 ? s->last_index - r->match_index : -1;
            p.lag = lag > p.lag ? lag : p.lag;
        }
    }
    return p;
}

const struct cluster_members_response_member *members_find(const struct members_view *view, int32_t node)
{
    for (int32_t i = 0; i < view->base->members.len; i++) {
        if (view->base->members.v[i].node_id == node) {
            return &view->base->members.v[i];
        }
    }
    return NULL;
}
