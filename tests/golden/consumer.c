/* consumer.c: the commands of consumer groups. Their small language:
 *
 *     topics=t,u                     names that are subscribed to; empty: none; "-": null, which it is without the word, but for a join's topics=in
 *     owned=in:0/1,u:2               partitions; empty: an empty list, as a join has by itself; "-": null. A topic that was made again is in@2, in@3 */
#include "print.h"
#include "words.h"

#include <stdlib.h>
#include <string.h>

typedef struct consumer_group_heartbeat_request request;
typedef struct consumer_group_heartbeat_request_topic_partitions_array partitions;

static struct str_array names_of(char *text, struct arena *arena)
{
    struct str_array all = {ARENA_NEW(arena, struct str, count_parts(text, ',')), 0};
    for (char *name; (name = next_part(&text, ",")) != NULL;) {
        all.v[all.len++] = str_of(name);
    }
    return all;
}

static void fill_subscription(request *q, const struct words *w, struct arena *arena)
{
    bool joins = q->member_epoch == 0 && value_of(w, "regex") == NULL;
    char *names = copy_value(w, "topics", joins ? "in" : "-", arena);
    q->subscribed_topic_names.len = -1;
    if (strcmp(names, "-") != 0) {
        q->subscribed_topic_names = names_of(names, arena);
    }
    q->subscribed_topic_regex = arena_str(arena, str_value(w, "regex", NULL));
    q->server_assignor = arena_str(arena, str_value(w, "assignor", NULL));
}

/* The nth topic of that name, "in@n"; one that there never was has an id of its own. */
static struct uuid id_of(const struct world *world, char *name)
{
    struct uuid id = {{0}};
    char *at = strchr(name, '@');
    long number = at == NULL ? 1 : strtol(at + 1, NULL, 10);
    if (at != NULL) {
        *at = '\0';
    }
    for (int i = 0; i < world->topic_count; i++) {
        if (strcmp(world->topic[i].name, name) == 0 && --number == 0) {
            return world->topic[i].id;
        }
    }
    memset(id.b, 0xdd, sizeof id.b);
    return id;
}

static partitions partitions_of(const struct world *world, char *text, struct arena *arena)
{
    partitions all = {.v = ARENA_NEW(arena, struct consumer_group_heartbeat_request_topic_partitions, count_parts(text, ','))};
    for (char *part; (part = next_part(&text, ",")) != NULL;) {
        struct consumer_group_heartbeat_request_topic_partitions *one = &all.v[all.len++];
        char *numbers = cut_name(part), *number;
        one->topic_id = id_of(world, part);
        one->partitions.v = ARENA_NEW(arena, int32_t, count_parts(numbers, '/'));
        while ((number = next_part(&numbers, "/")) != NULL) {
            one->partitions.v[one->partitions.len++] = (int32_t)strtol(number, NULL, 10);
        }
    }
    return all;
}

void request_hold(struct world_request *r, const struct words *w)
{
    r->op.told_ms = (int32_t)ms_value(w, "told", "0");
    r->op.holds = r->op.told_ms > 0;
    r->op.held_ms = (int32_t)ms_value(w, "held", "0");
    r->op.held = r->op.held_ms > 0;
}

void command_consumer(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_CONSUMER_HEARTBEAT, &wire_consumer_group_heartbeat_response, 1);
    struct arena *arena = &r->arena;
    request *q = ARENA_NEW(arena, request, 1);
    wire_init(&wire_consumer_group_heartbeat_request, q);
    q->group_id = r->op.group_id;
    q->member_epoch = (int32_t)number_value(w, "epoch", 0);
    q->member_id = own(r, str_value(w, "member", r->op.caller.client_id.ptr));
    q->instance_id = own(r, str_value(w, "instance", NULL));
    q->rack_id = own(r, str_value(w, "rack", NULL));
    q->rebalance_timeout_ms = (int32_t)ms_value(w, "timeout", q->member_epoch == 0 ? "60s" : "-1");
    fill_subscription(q, w, arena);
    char *owned = copy_value(w, "owned", q->member_epoch == 0 ? "" : "-", arena);
    q->topic_partitions.len = -1;
    if (strcmp(owned, "-") != 0) {
        q->topic_partitions = partitions_of(&g->world, owned, arena);
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

void command_consumer_describe(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_CONSUMER_DESCRIBE, &wire_consumer_group_describe_response, 1);
    r->tag = wire_consumer_group_describe_response.type->fields[1].type;
    world_submit(&g->world, r);
}
