/* group_show.c: a classic group or a consumer group as tables and as JSON, and what all kinds of group have in common there. */
#include "commands.h"
#include "out.h"

#include <inttypes.h>

/* ---- of all kinds ---- */

struct str names_text(const struct str_array *names, struct arena *arena)
{
    struct str text = STR_NULL;
    for (int32_t i = 0; i < names->len; i++) {
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), i > 0 ? "," : "", STR_ARG(names->v[i]));
    }
    return text;
}

json_t *names_json(const struct str_array *names)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < names->len; i++) {
        out_json_add(array, out_json_text(names->v[i]));
    }
    return array;
}

struct str coordinator_text(const struct coordinator_view *v, struct arena *arena)
{
    return v->id < 0 ? STR_NULL : arena_printf(arena, "%" PRId32 " (%s:%" PRId32 ")", v->id, v->host, v->port);
}

json_t *coordinator_json(const struct coordinator_view *v)
{
    json_t *one = json_object();
    out_json_set(one, "id", json_integer(v->id));
    out_json_set(one, "host", out_json_text(str_of(v->host)));
    out_json_set(one, "port", json_integer(v->port));
    return one;
}

json_t *group_shard_json(const struct coordinator_view *v)
{
    return v->shard < 0 ? json_null() : json_integer(v->shard);
}

json_t *protection_json(enum protection protection)
{
    return protection == PROTECTION_NOT_TOLD ? json_null() : json_boolean(protection == PROTECTION_ON);
}

void protection_print(struct cli *cli, enum protection protection)
{
    if (protection == PROTECTION_ON) {
        fputs("\nPROTECTED  not deleted, and its offsets are changed by its members only, but with --force\n", cli->out);
    }
}

/* ---- JSON ---- */

static const char *member_type_name(int8_t type)
{
    return type == MEMBER_CLASSIC ? "classic" : type == MEMBER_CONSUMER ? "consumer" : NULL;
}

/* What a member of a consumer group says and is told by its coordinator. */
static void add_consumer_member(json_t *one, const struct member_view *m)
{
    const char *type = member_type_name(m->type);
    out_json_set(one, "rackId", out_json_text(m->rack_id));
    out_json_set(one, "memberEpoch", json_integer(m->epoch));
    out_json_set(one, "memberType", type != NULL ? json_string(type) : json_null());
    out_json_set(one, "topics", names_json(&m->topics));
    out_json_set(one, "topicRegex", out_json_text(m->regex));
    out_json_set(one, "assignment", topic_partitions_json(&m->assignment));
    out_json_set(one, "targetAssignment", topic_partitions_json(&m->target));
}

static void add_classic_member(json_t *one, const struct group_view *g, const struct member_view *m, struct arena *arena)
{
    if (str_eq(g->protocol_type, STR("consumer"))) {
        out_json_set(one, "subscription", consumer_subscription_json(m->subscription, arena));
    } else {
        json_t *opaque = json_object();
        out_json_set(opaque, "bytes", json_integer(m->subscription.len > 0 ? m->subscription.len : 0));
        out_json_set(one, "subscription", opaque);
    }
    if (m->assignment_known) {
        out_json_set(one, "assignment", topic_partitions_json(&m->assignment));
    } else {
        out_json_set(one, "assignmentBytes", json_integer(m->assignment_bytes.len > 0 ? m->assignment_bytes.len : 0));
    }
}

static json_t *member_json(const struct group_view *g, const struct member_view *m, struct arena *arena)
{
    json_t *one = json_object();
    out_json_set(one, "memberId", out_json_text(m->member_id));
    out_json_set(one, "groupInstanceId", out_json_text(m->instance_id));
    out_json_set(one, "clientId", out_json_text(m->client_id));
    out_json_set(one, "host", out_json_text(m->host));
    if (g->is_consumer) {
        add_consumer_member(one, m);
    } else {
        add_classic_member(one, g, m, arena);
    }
    return one;
}

json_t *group_json(const struct group_view *g, const struct offsets_view *offsets, struct arena *arena)
{
    json_t *one = json_object();
    json_t *members = json_array();
    for (int i = 0; i < g->member_count; i++) {
        out_json_add(members, member_json(g, &g->members[i], arena));
    }
    out_json_set(one, "group", out_json_text(g->group_id));
    out_json_set(one, "type", out_json_text(g->type));
    out_json_set(one, "state", out_json_text(g->state));
    out_json_set(one, "protocolType", out_json_text(g->protocol_type));
    out_json_set(one, "protocol", out_json_text(g->protocol));
    if (g->is_consumer) {
        out_json_set(one, "epoch", json_integer(g->epoch));
        out_json_set(one, "assignmentEpoch", json_integer(g->assignment_epoch));
    }
    out_json_set(one, "coordinator", coordinator_json(&g->coordinator));
    out_json_set(one, "shard", group_shard_json(&g->coordinator));
    out_json_set(one, "protected", protection_json(g->protection));
    out_json_set(one, "members", members);
    out_json_set(one, "offsets", offsets_json(offsets));
    return one;
}

/* ---- tables ---- */

static void print_consumer_summary(struct cli *cli, const struct group_view *g)
{
    static const char *const headers[] = {"GROUP",    "TYPE",     "STATE",       "EPOCH", "ASSIGNMENT-EPOCH|ASSIGNED",
                                          "ASSIGNOR", "#MEMBERS", "COORDINATOR", "SHARD"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_text(&t, g->group_id);
    table_text(&t, g->type);
    table_text(&t, g->state);
    table_number(&t, g->epoch);
    table_number(&t, g->assignment_epoch);
    table_text(&t, g->protocol);
    table_number(&t, g->member_count);
    table_text(&t, coordinator_text(&g->coordinator, &cli->arena));
    table_number_or_dash(&t, g->coordinator.shard);
    table_print(&t, cli->out);
}

static void print_classic_summary(struct cli *cli, const struct group_view *g)
{
    static const char *const headers[] = {"GROUP", "TYPE", "STATE", "PROTOCOL", "STRATEGY", "#MEMBERS", "COORDINATOR", "SHARD"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_text(&t, g->group_id);
    table_text(&t, g->type);
    table_text(&t, g->state);
    table_text(&t, str_is_empty(g->protocol_type) ? STR_NULL : g->protocol_type);
    table_text(&t, str_is_empty(g->protocol) ? STR_NULL : g->protocol);
    table_number(&t, g->member_count);
    table_text(&t, coordinator_text(&g->coordinator, &cli->arena));
    table_number_or_dash(&t, g->coordinator.shard);
    table_print(&t, cli->out);
}

void group_print_summary(struct cli *cli, const struct group_view *g)
{
    if (g->is_consumer) {
        print_consumer_summary(cli, g);
    } else {
        print_classic_summary(cli, g);
    }
    protection_print(cli, g->protection);
}

static void print_consumer_members(struct cli *cli, const struct group_view *g)
{
    static const char *const headers[] = {"GROUP",       "CONSUMER-ID",      "GROUP-INSTANCE-ID|INSTANCE",
                                          "HOST",        "CLIENT-ID|CLIENT", "PROTOCOL",
                                          "EPOCH",       "TARGET-EPOCH",     "TOPICS",
                                          "TOPIC-REGEX", "ASSIGNMENT",       "TARGET"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < g->member_count; i++) {
        const struct member_view *m = &g->members[i];
        table_text(&t, g->group_id);
        table_text(&t, m->member_id);
        table_text(&t, m->instance_id);
        table_text(&t, m->host);
        table_text(&t, m->client_id);
        table_text(&t, str_of(member_type_name(m->type)));
        table_number(&t, m->epoch);
        table_number(&t, g->assignment_epoch);
        table_text(&t, names_text(&m->topics, &cli->arena));
        table_text(&t, str_is_empty(m->regex) ? STR_NULL : m->regex);
        table_text(&t, topic_partitions_text(&m->assignment, &cli->arena));
        table_text(&t, topic_partitions_text(&m->target, &cli->arena));
    }
    fputc('\n', cli->out);
    table_print(&t, cli->out);
}

static void print_classic_members(struct cli *cli, const struct group_view *g)
{
    static const char *const headers[] = {"GROUP",  "CONSUMER-ID", "GROUP-INSTANCE-ID|INSTANCE", "HOST", "CLIENT-ID|CLIENT",
                                          "TOPICS", "ASSIGNMENT"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < g->member_count; i++) {
        const struct member_view *m = &g->members[i];
        table_text(&t, g->group_id);
        table_text(&t, m->member_id);
        table_text(&t, m->instance_id);
        table_text(&t, m->host);
        table_text(&t, m->client_id);
        table_text(&t, names_text(&m->topics, &cli->arena));
        table_text(&t, m->assignment_known
                           ? topic_partitions_text(&m->assignment, &cli->arena)
                           : arena_printf(&cli->arena, "%d bytes", m->assignment_bytes.len > 0 ? m->assignment_bytes.len : 0));
    }
    fputc('\n', cli->out);
    table_print(&t, cli->out);
}

void group_print_members(struct cli *cli, const struct group_view *g)
{
    if (g->is_consumer) {
        print_consumer_members(cli, g);
    } else {
        print_classic_members(cli, g);
    }
}

/* The member that a partition is assigned to; NULL: none. */
static const struct member_view *owner_of(const struct group_view *g, struct str topic, int32_t partition)
{
    for (int i = 0; i < g->member_count; i++) {
        for (int32_t k = 0; k < g->members[i].assignment.len; k++) {
            const struct topic_partitions *t = &g->members[i].assignment.v[k];
            for (int32_t p = 0; str_eq(t->topic, topic) && p < t->partitions.len; p++) {
                if (t->partitions.v[p] == partition) {
                    return &g->members[i];
                }
            }
        }
    }
    return NULL;
}

static void add_offset_row(struct table *t, const struct group_view *g, const struct offset_view *o, const struct member_view *owner,
                           bool epochs)
{
    table_text(t, g->group_id);
    table_text(t, o != NULL ? o->topic : STR_NULL);
    table_number_or_dash(t, o != NULL ? o->partition : -1);
    table_number_or_dash(t, o != NULL ? o->committed : -1);
    table_number_or_dash(t, o != NULL ? o->end : -1);
    table_number_or_dash(t, o != NULL ? offset_lag(o) : -1);
    table_text(t, owner != NULL ? owner->member_id : STR_NULL);
    table_text(t, owner != NULL ? owner->host : STR_NULL);
    table_text(t, owner != NULL ? owner->client_id : STR_NULL);
    if (epochs) {
        table_number_or_dash(t, o != NULL ? o->leader_epoch : -1);
    }
}

/* Partitions that are committed or assigned, then the members that have none. */
void group_print_offsets(struct cli *cli, const struct group_view *g, const struct offsets_view *offsets)
{
    static const char *const headers[] = {"GROUP", "TOPIC",       "PARTITION|PART", "CURRENT-OFFSET|CURRENT", "LOG-END-OFFSET|END",
                                          "LAG",   "CONSUMER-ID", "HOST",           "CLIENT-ID|CLIENT",       "LEADER-EPOCH|EPOCH"};
    struct table t;
    bool epochs = cli_flag(cli, "verbose");
    table_init(&t, &cli->arena, headers, COUNT_OF(headers) - !epochs);
    for (int i = 0; i < offsets->count; i++) {
        add_offset_row(&t, g, &offsets->v[i], owner_of(g, offsets->v[i].topic, offsets->v[i].partition), epochs);
    }
    for (int i = 0; i < g->member_count; i++) {
        if (g->members[i].assignment.len == 0) {
            add_offset_row(&t, g, NULL, &g->members[i], epochs);
        }
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}
