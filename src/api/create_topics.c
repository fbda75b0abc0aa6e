/* create_topics.c: CreateTopics (19), for clients and for this node itself: topics that a streams group needs. */
#include "internal.h"

enum { TOPIC_ALREADY_EXISTS = 36, OWN_TIMEOUT_MS = 10000 /* a group waits with whatever it needs next until the answer is there */ };

void api_create_topics(struct api_request *r)
{
    api_controller(r, CATALOG_CREATE_TOPICS, true);
}

/* ---- for this node itself ---- */

struct creation {
    api_created_fn *done;
    void *ctx;
    uint64_t token;
};

static struct str cause_of(const struct create_topics_response_creatable_topic_result *topic, struct arena *arena)
{
    if (!str_is_empty(topic->error_message)) {
        return topic->error_message;
    }
    switch (topic->error_code) {
    case KAFKA_REQUEST_TIMED_OUT:
        return STR("The request timed out.");
    case KAFKA_NOT_CONTROLLER:
        return STR("This is not the correct controller for this cluster.");
    default:
        return arena_printf(arena, "error %d", topic->error_code);
    }
}

/* "name (cause), name (cause)"; null when every topic is there, whoever made it. */
static struct str failure_of(const struct create_topics_response *answer, struct arena *arena)
{
    struct str text = STR_NULL;
    for (int32_t i = 0; i < answer->topics.len; i++) {
        const struct create_topics_response_creatable_topic_result *topic = &answer->topics.v[i];
        if (topic->error_code == KAFKA_NONE || topic->error_code == TOPIC_ALREADY_EXISTS) {
            continue;
        }
        struct str cause = cause_of(topic, arena);
        text = arena_printf(arena, "%.*s%s%.*s (%.*s)", STR_ARG(text), str_is_null(text) ? "" : ", ", STR_ARG(topic->name), STR_ARG(cause));
    }
    return text;
}

static void created(struct api_request *r, const void *response)
{
    const struct creation *c = r->state;
    if (r->gone) { /* the node ends: whoever asked is no more */
        return;
    }
    c->done(c->ctx, c->token, response != NULL ? failure_of(response, r->arena) : STR("no answer"));
}

void api_create_topics_own(struct api *a, const struct create_topics_request *request, api_created_fn *done, void *ctx, uint64_t token)
{
    struct api_request *r = api_new_own(a);
    struct creation *c = arena_get(r->arena, sizeof(*c));
    struct create_topics_request own = *request;
    own.timeout_ms = OWN_TIMEOUT_MS;
    *c = (struct creation){done, ctx, token};
    api_run_value(r, API_KEY_CREATE_TOPICS, &own, created, c);
}
