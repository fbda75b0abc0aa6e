#include "group_view.h"
#include "log.h"
#include "log_past.h"
#include "out.h"

#include <muster/closest.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { KAFKA_GROUP_ID_NOT_FOUND = 69, MEANT_MS = 500 };

int cli_connect(struct cli *cli, struct client *c)
{
    if (cli_text(cli, "at") != NULL) {
        return log_past_connect(cli, c);
    }
    if (cli_text(cli, "data") != NULL && !cli->command->both) {
        return cli_fail(cli, CLI_USAGE, "--data goes with --at: as of which moment ('now' is the end)?");
    }
    if (client_init(c, cli->bootstrap, cli->timeout_ms) < 0) {
        return cli_fail(cli, CLI_USAGE, "%s", c->error);
    }
    c->from = cli->bootstrap_from;
    return CLI_OK;
}

int cli_client_failed(struct cli *cli, const struct client *c, int rc)
{
    if (rc == MUSTER_E_VERSION || rc == MUSTER_E_MALFORMED || rc == MUSTER_E_NOT_FOUND) {
        return cli_fail(cli, CLI_FAILED, "%s", c->error);
    }
    if (rc == MUSTER_E_NOT_LEADER) {
        return cli_fail(cli, CLI_UNREACHABLE, "%s", c->error);
    }
    return cli_fail(cli, CLI_UNREACHABLE, "the cluster cannot be reached: %s%s%s%s%s", c->error, c->from != NULL ? " (" : "",
                    c->from != NULL ? c->from : "", c->from != NULL ? ")" : "",
                    rc == MUSTER_E_CLOSED && c->changing ? "; the request may have been carried out" : "");
}

/* ---- one group ---- */

static int16_t describe_error(const void *answer)
{
    const struct describe_groups_response *response = answer;
    return response->groups.len == 1 ? response->groups.v[0].error_code : 0;
}

static int16_t consumer_describe_error(const void *answer)
{
    const struct consumer_group_describe_response *response = answer;
    return response->groups.len == 1 ? response->groups.v[0].error_code : 0;
}

static void view_classic_member(const struct describe_groups_response_described_group_member *m, bool consumer, struct arena *arena,
                                struct member_view *ret)
{
    struct consumer_subscription subscription;
    struct consumer_assignment assignment;
    *ret = (struct member_view){.member_id = m->member_id,
                                .instance_id = m->group_instance_id,
                                .client_id = m->client_id,
                                .host = m->client_host,
                                .topics = {NULL, -1},
                                .subscription = m->member_metadata,
                                .assignment_bytes = m->member_assignment};
    if (consumer && consumer_subscription_parse(m->member_metadata, arena, &subscription)) {
        ret->topics = subscription.topics;
    }
    if (consumer && consumer_assignment_parse(m->member_assignment, arena, &assignment)) {
        ret->assignment_known = true;
        ret->assignment = assignment.topics;
    }
}

static int fetch_classic(struct client *c, struct str group, struct arena *arena, struct group_view *view)
{
    struct describe_groups_request request;
    const void *answer;
    wire_init(&wire_describe_groups_request, &request);
    request.groups.v = &group;
    request.groups.len = 1;
    struct client_call call = {.key = API_KEY_DESCRIBE_GROUPS, .max_version = -1, .request = &request};
    int rc = client_group_call(c, group, &call, describe_error, arena, &answer);
    if (rc < 0) {
        return rc;
    }
    const struct describe_groups_response *response = answer;
    if (response->groups.len != 1) {
        view->error = -1;
        return MUSTER_E_OK;
    }
    const struct describe_groups_response_described_group *g = &response->groups.v[0];
    view->error = g->error_code;
    view->error_message = g->error_message;
    /* Up to version 5 an unknown group is "Dead" without an error. */
    if (g->error_code == 0 && str_eq(g->group_state, STR("Dead"))) {
        view->error = KAFKA_GROUP_ID_NOT_FOUND;
    }
    if (view->error != 0) {
        return MUSTER_E_OK;
    }
    view->type = STR("classic");
    view->state = g->group_state;
    view->protocol_type = g->protocol_type;
    view->protocol = g->protocol_data;
    view->member_count = g->members.len;
    view->members = ARENA_NEW(arena, struct member_view, g->members.len);
    for (int32_t i = 0; i < g->members.len; i++) {
        view_classic_member(&g->members.v[i], str_eq(g->protocol_type, STR("consumer")), arena, &view->members[i]);
    }
    return MUSTER_E_OK;
}

static struct topic_partitions_list view_partitions(const struct consumer_group_describe_response_assignment *a, struct arena *arena)
{
    int32_t count = a->topic_partitions.len > 0 ? a->topic_partitions.len : 0;
    struct topic_partitions_list list = {.v = ARENA_NEW(arena, struct topic_partitions, count), .len = count};
    for (int32_t i = 0; i < count; i++) {
        list.v[i] = (struct topic_partitions){a->topic_partitions.v[i].topic_name, a->topic_partitions.v[i].partitions};
    }
    return list;
}

static void view_consumer_member(const struct consumer_group_describe_response_member *m, struct arena *arena, struct member_view *ret)
{
    *ret = (struct member_view){.member_id = m->member_id,
                                .instance_id = m->instance_id,
                                .client_id = m->client_id,
                                .host = m->client_host,
                                .topics = m->subscribed_topic_names,
                                .subscription = BYTES_NULL,
                                .assignment_bytes = BYTES_NULL,
                                .assignment_known = true,
                                .assignment = view_partitions(&m->assignment, arena),
                                .target = view_partitions(&m->target_assignment, arena),
                                .rack_id = m->rack_id,
                                .regex = m->subscribed_topic_regex,
                                .epoch = m->member_epoch,
                                .type = m->member_type};
}

/* Groups of the consumer protocol (KIP-848) are described by a request of their own. */
static int fetch_consumer(struct client *c, struct str group, struct arena *arena, struct group_view *view)
{
    struct consumer_group_describe_request request;
    const void *answer;
    wire_init(&wire_consumer_group_describe_request, &request);
    request.group_ids.v = &group;
    request.group_ids.len = 1;
    struct client_call call = {.key = API_KEY_CONSUMER_GROUP_DESCRIBE, .max_version = -1, .request = &request};
    int rc = client_group_call(c, group, &call, consumer_describe_error, arena, &answer);
    if (rc == MUSTER_E_VERSION) {
        return MUSTER_E_OK; /* what DescribeGroups said stands */
    }
    if (rc < 0) {
        return rc;
    }
    const struct consumer_group_describe_response *response = answer;
    if (response->groups.len != 1 || response->groups.v[0].error_code != 0) {
        return MUSTER_E_OK;
    }
    const struct consumer_group_describe_response_described_group *g = &response->groups.v[0];
    view->error = 0;
    view->type = STR("consumer");
    view->state = g->group_state;
    view->protocol_type = STR("consumer");
    view->protocol = g->assignor_name;
    view->is_consumer = true;
    view->epoch = g->group_epoch;
    view->assignment_epoch = g->assignment_epoch;
    view->member_count = g->members.len;
    view->members = ARENA_NEW(arena, struct member_view, g->members.len);
    for (int32_t i = 0; i < g->members.len; i++) {
        view_consumer_member(&g->members.v[i], arena, &view->members[i]);
    }
    return MUSTER_E_OK;
}

static int by_member_id(const void *a, const void *b)
{
    return str_cmp(((const struct member_view *)a)->member_id, ((const struct member_view *)b)->member_id);
}

int32_t group_shard(struct client *c, struct str group)
{
    int count = client_shard_count(c);
    return count > 0 ? (int32_t)log_shard_of_group(group, (uint32_t)count) : -1;
}

int coordinator_view_fetch(struct client *c, struct str group, struct arena *arena, struct coordinator_view *ret, int16_t *ret_error)
{
    struct client_node *node = NULL;
    *ret = (struct coordinator_view){.id = -1, .shard = -1};
    int rc = client_coordinator(c, group, arena, &node, ret_error);
    if (rc == 0 && *ret_error == 0) {
        *ret = (struct coordinator_view){.id = node->id, .host = arena_printf(arena, "%s", node->host).ptr, .port = node->port};
        ret->shard = group_shard(c, group);
    }
    return rc;
}

int group_view_fetch(struct client *c, struct str group, struct arena *arena, struct group_view *ret)
{
    *ret = (struct group_view){.group_id = group, .error_message = STR_NULL, .coordinator = {.id = -1}};
    int rc = fetch_classic(c, group, arena, ret);
    if (rc == 0 && ret->error == KAFKA_GROUP_ID_NOT_FOUND) {
        rc = fetch_consumer(c, group, arena, ret);
    }
    if (rc < 0 || ret->error != 0) {
        return rc;
    }
    qsort(ret->members, (size_t)ret->member_count, sizeof(*ret->members), by_member_id);
    int16_t error; /* it is described all the same */
    return coordinator_view_fetch(c, group, arena, &ret->coordinator, &error);
}

/* ---- all groups ---- */

static void add_group(struct listed_groups *list, const struct listed_group *group, struct arena *arena)
{
    if (list->count == list->cap) {
        int cap = list->cap > 0 ? list->cap * 2 : 64;
        struct listed_group *grown = ARENA_NEW(arena, struct listed_group, cap);
        if (list->count > 0) {
            memcpy(grown, list->v, (size_t)list->count * sizeof(*grown));
        }
        list->v = grown;
        list->cap = cap;
    }
    list->v[list->count++] = *group;
}

static int by_group_id(const void *a, const void *b)
{
    return str_cmp(((const struct listed_group *)a)->group_id, ((const struct listed_group *)b)->group_id);
}

/* What one node lists. A node that is loading is asked again until the deadline. */
static int list_of_node(struct client *c, struct client_node *node, const struct client_call *call, struct arena *arena,
                        const struct list_groups_response **ret)
{
    for (int attempt = 0;; attempt++) {
        const void *answer;
        int rc = client_node_call(c, node, call, arena, &answer);
        if (rc < 0) {
            return rc;
        }
        *ret = answer;
        bool trouble = (*ret)->error_code == 14 || (*ret)->error_code == 15;
        if (!trouble || !client_pause(c, attempt)) {
            return MUSTER_E_OK;
        }
    }
}

static const char *const state_names[] = {
    "PreparingRebalance", "CompletingRebalance", "Stable", "Empty", "Assigning", "Reconciling", "NotReady", "Dead", NULL};
static const char *const type_names[] = {"classic", "consumer", "streams", "share", NULL};

/* A bit by the place of the name, 0 for none. */
static uint32_t bit_of(const char *const *names, struct str name)
{
    for (int i = 0; names[i] != NULL; i++) {
        if ((size_t)name.len == strlen(names[i]) && strncasecmp(name.ptr, names[i], (size_t)name.len) == 0) {
            return 1U << i;
        }
    }
    return 0;
}

static bool wanted(const struct list_groups_response_listed_group *g, const struct list_filter *filter)
{
    return filter == NULL || ((filter->states == 0 || (filter->states & bit_of(state_names, g->group_state)) != 0) &&
                              (filter->types == 0 || (filter->types & bit_of(type_names, g->group_type)) != 0));
}

static int take_names(struct cli *cli, const char *option, const char *const *names, uint32_t *ret)
{
    const char *at = cli_text(cli, option);
    *ret = 0;
    while (at != NULL && (at[0] != '\0' || *ret != 0)) { /* left out: all of them, as with Kafka's tool */
        at += strspn(at, " ");
        struct str name = {at, (int32_t)strcspn(at, ",")};
        const char *next = at[name.len] == ',' ? at + name.len + 1 : NULL;
        while (name.len > 0 && name.ptr[name.len - 1] == ' ') {
            name.len--;
        }
        uint32_t bit = bit_of(names, name);
        if (bit == 0) {
            struct str all = str_of(names[0]);
            for (int i = 1; names[i] != NULL; i++) {
                all = arena_printf(&cli->arena, "%.*s, %s", STR_ARG(all), names[i]);
            }
            return cli_fail(cli, CLI_USAGE, "--%s: '%.*s' is no %s of groups; there are: %.*s", option, STR_ARG(name), option,
                            STR_ARG(all));
        }
        *ret |= bit;
        at = next;
    }
    return CLI_OK;
}

int list_filter_take(struct cli *cli, struct list_filter *ret)
{
    int code = take_names(cli, "state", state_names, &ret->states);
    return code == CLI_OK ? take_names(cli, "type", type_names, &ret->types) : code;
}

/* A group that changed hands between two answers is listed once. */
static void drop_doubles(struct listed_groups *list)
{
    int kept = 0;
    for (int i = 0; i < list->count; i++) {
        if (kept == 0 || !str_eq(list->v[kept - 1].group_id, list->v[i].group_id)) {
            list->v[kept++] = list->v[i];
        }
    }
    list->count = kept;
}

const char *group_meant(struct client *c, struct str group, struct arena *arena)
{
    const struct metadata_response *metadata;
    const void *answer = NULL;
    struct list_groups_request request;
    struct closest closest;
    int64_t attempt_ms = c->attempt_ms;
    wire_init(&wire_list_groups_request, &request);
    struct client_call call = {.key = API_KEY_LIST_GROUPS, .max_version = -1, .request = &request};
    closest_init(&closest, group, 1 + group.len / 4);
    c->attempt_ms = attempt_ms < MEANT_MS ? attempt_ms : MEANT_MS;
    int rc = client_metadata(c, NULL, 0, arena, &metadata);
    for (int n = 0; rc == 0 && client_broker(c, n) != NULL; n++) {
        bool told = client_node_call(c, client_broker(c, n), &call, arena, &answer) == 0;
        const struct list_groups_response *response = answer;
        for (int32_t i = 0; told && i < response->groups.len; i++) {
            closest_offer(&closest, response->groups.v[i].group_id);
        }
    }
    c->attempt_ms = attempt_ms;
    return str_is_null(closest.found) ? "" : arena_printf(arena, "; did you mean %.*s?", STR_ARG(out_quoted(closest.found, arena))).ptr;
}

int group_list_fetch(struct cli *cli, struct client *c, const struct list_filter *filter, struct listed_groups *ret)
{
    const struct metadata_response *metadata;
    struct list_groups_request request;
    wire_init(&wire_list_groups_request, &request);
    struct client_call call = {.key = API_KEY_LIST_GROUPS, .max_version = -1, .request = &request};
    int rc = client_metadata(c, NULL, 0, &cli->arena, &metadata);
    int answered = 0, refused = 0;
    *ret = (struct listed_groups){0};
    for (int n = 0; rc == 0 && client_broker(c, n) != NULL; n++) {
        struct client_node *node = client_broker(c, n);
        const struct list_groups_response *response;
        int one = list_of_node(c, node, &call, &cli->arena, &response);
        if (one < 0 || response->error_code != 0) {
            cli_say(cli, "node %d does not say which groups it coordinates: %s", node->id,
                    one < 0 ? c->error : kafka_error_text(response->error_code, STR_NULL, &cli->arena));
            refused += one >= 0;
            continue;
        }
        answered++;
        for (int32_t i = 0; i < response->groups.len; i++) {
            const struct list_groups_response_listed_group *g = &response->groups.v[i];
            struct listed_group group = {g->group_id, g->group_type, g->protocol_type, g->group_state, node->id};
            if (wanted(g, filter)) {
                add_group(ret, &group, &cli->arena);
            }
        }
    }
    if (rc == 0 && answered == 0) {
        (void)snprintf(c->error, sizeof(c->error), "%s",
                       refused > 0 ? "no node can say which groups there are: no majority answers (muster cluster status)"
                                   : "no node says which groups there are");
        return refused > 0 ? MUSTER_E_NOT_LEADER : MUSTER_E_REFUSED;
    }
    if (ret->count > 0) {
        qsort(ret->v, (size_t)ret->count, sizeof(*ret->v), by_group_id);
    }
    drop_doubles(ret);
    return rc;
}

int groups_named(struct cli *cli, struct client *c, struct str **ret, int *ret_count)
{
    struct listed_groups all;
    *ret = cli_names(cli, ret_count);
    if (*ret_count > 0) {
        return MUSTER_E_OK;
    }
    int rc = group_list_fetch(cli, c, NULL, &all);
    if (rc < 0) {
        return rc;
    }
    *ret = ARENA_NEW(&cli->arena, struct str, all.count);
    *ret_count = all.count;
    for (int i = 0; i < all.count; i++) {
        (*ret)[i] = all.v[i].group_id;
    }
    return MUSTER_E_OK;
}
