/* log_consumer.c: a consumer group as its records make it. */
#include "consumer_protocol.h"
#include "log.h"
#include "out.h"

#include <muster/group.h>

#include <inttypes.h>

struct member_seen {
    struct str member_id;
    const struct consumer_group_member_metadata_value *metadata; /* NULL: the record is not live; so for the others */
    const struct consumer_group_target_assignment_member_value *target;
    const struct consumer_group_current_member_assignment_value *current;
};
struct regex_seen {
    struct str regex;
    const struct consumer_group_regular_expression_value *value;
};
struct group_seen {
    struct str group_id, state;
    const struct group_set *catalog;
    const struct consumer_group_metadata_value *metadata;
    const struct consumer_group_target_assignment_metadata_value *assignment;
    struct member_seen *members;
    int32_t member_count;
    struct regex_seen *regexes;
    int32_t regex_count;
};

/* ---- partitions ---- */

struct part { /* of one topic */
    struct uuid topic_id;
    struct int32_array partitions;
};
struct share {
    struct part *v;
    int32_t len;
};
enum share_kind { SHARE_ASSIGNED, SHARE_REVOKING, SHARE_TARGET };

static struct share target_share(const struct consumer_group_target_assignment_member_value *v, struct arena *arena)
{
    struct share share = {ARENA_NEW(arena, struct part, v->topic_partitions.len), v->topic_partitions.len};
    for (int32_t i = 0; i < share.len; i++) {
        share.v[i] = (struct part){v->topic_partitions.v[i].topic_id, v->topic_partitions.v[i].partitions};
    }
    return share;
}

static struct share current_share(const struct consumer_group_current_member_assignment_value *v, bool revoking, struct arena *arena)
{
    const struct consumer_group_current_member_assignment_value_topic_partitions_array *from =
        revoking ? &v->partitions_pending_revocation : &v->assigned_partitions;
    struct share share = {ARENA_NEW(arena, struct part, from->len), from->len};
    for (int32_t i = 0; i < share.len; i++) {
        share.v[i] = (struct part){from->v[i].topic_id, from->v[i].partitions};
    }
    return share;
}

static struct share share_of(const struct member_seen *m, enum share_kind kind, struct arena *arena)
{
    if (kind == SHARE_TARGET) {
        return m->target == NULL ? (struct share){NULL, 0} : target_share(m->target, arena);
    }
    return m->current == NULL ? (struct share){NULL, 0} : current_share(m->current, kind == SHARE_REVOKING, arena);
}

/* Null: the catalogue does not have it. */
static struct str topic_name(const struct group_seen *g, struct uuid id)
{
    struct catalog_topic topic;
    return g->catalog != NULL && catalog_find_topic_id(g->catalog, id, &topic) ? topic.name : STR_NULL;
}

static struct str topic_id_text(struct uuid id, struct arena *arena)
{
    char text[23];
    uuid_text(id, text);
    return arena_str(arena, str_of(text));
}

/* "orders[0,1]": by name, or by id where there is no such topic; null for nothing. */
static struct str share_text(const struct group_seen *g, const struct member_seen *m, enum share_kind kind, struct arena *arena)
{
    struct share share = share_of(m, kind, arena);
    struct topic_partitions_list list = {ARENA_NEW(arena, struct topic_partitions, share.len), share.len};
    for (int32_t i = 0; i < share.len; i++) {
        struct str name = topic_name(g, share.v[i].topic_id);
        list.v[i].topic = str_is_null(name) ? topic_id_text(share.v[i].topic_id, arena) : name;
        list.v[i].partitions = share.v[i].partitions;
    }
    return list.len == 0 ? STR_NULL : topic_partitions_text(&list, arena);
}

static json_t *share_json(const struct group_seen *g, const struct member_seen *m, enum share_kind kind, struct arena *arena)
{
    struct share share = share_of(m, kind, arena);
    json_t *array = json_array();
    for (int32_t i = 0; i < share.len; i++) {
        json_t *one = json_object(), *partitions = json_array();
        for (int32_t k = 0; k < share.v[i].partitions.len; k++) {
            out_json_add(partitions, json_integer(share.v[i].partitions.v[k]));
        }
        out_json_set(one, "topicId", out_json_text(topic_id_text(share.v[i].topic_id, arena)));
        out_json_set(one, "topic", out_json_text(topic_name(g, share.v[i].topic_id)));
        out_json_set(one, "partitions", partitions);
        out_json_add(array, one);
    }
    return array;
}

/* ---- the group ---- */

static const char *protocol_of(const struct member_seen *m)
{
    return m->metadata->classic_member_metadata == NULL ? "consumer" : "classic";
}

/* "a,b /t-.*": topics, and the regular expression. */
static struct str subscription_text(const struct consumer_group_member_metadata_value *v, struct arena *arena)
{
    struct str text = STR("");
    for (int32_t i = 0; i < v->subscribed_topic_names.len; i++) {
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), i > 0 ? "," : "", STR_ARG(v->subscribed_topic_names.v[i]));
    }
    if (v->subscribed_topic_regex.len > 0) {
        text = arena_printf(arena, "%.*s%s/%.*s", STR_ARG(text), text.len > 0 ? " " : "", STR_ARG(v->subscribed_topic_regex));
    }
    return text.len == 0 ? STR_NULL : text;
}

static void print_table(struct cli *cli, const struct group_seen *g, struct arena *arena)
{
    static const char *const headers[] = {"MEMBER-ID",    "GROUP-INSTANCE-ID", "PROTOCOL",  "EPOCH", "STATE",
                                          "SUBSCRIPTION", "PARTITIONS",        "GIVING-UP", "TARGET"};
    fprintf(cli->out, "Consumer group %.*s: %.*s, epoch %" PRId32 ", assignment epoch %" PRId32 "\n", STR_ARG(out_text(g->group_id, arena)),
            STR_ARG(g->state), g->metadata->epoch, g->assignment == NULL ? 0 : g->assignment->assignment_epoch);
    struct table t;
    table_init(&t, arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < g->member_count; i++) {
        const struct member_seen *m = &g->members[i];
        table_text(&t, m->member_id);
        table_text(&t, m->metadata == NULL ? STR_NULL : m->metadata->instance_id);
        table_text(&t, m->metadata == NULL ? STR_NULL : str_of(protocol_of(m)));
        table_text(&t, m->current == NULL ? STR_NULL : arena_printf(arena, "%" PRId32, m->current->member_epoch));
        table_text(&t, m->current == NULL ? STR_NULL : str_of(log_consumer_state(m->current->state)));
        table_text(&t, m->metadata == NULL ? STR_NULL : subscription_text(m->metadata, arena));
        for (int kind = SHARE_ASSIGNED; kind <= SHARE_TARGET; kind++) {
            table_text(&t, share_text(g, m, (enum share_kind)kind, arena));
        }
    }
    if (g->member_count > 0) {
        table_print(&t, cli->out);
    }
}

static json_t *texts_json(const struct str_array *texts)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < texts->len; i++) {
        out_json_add(array, out_json_text(texts->v[i]));
    }
    return array;
}

static json_t *member_json(const struct group_seen *g, const struct member_seen *m, struct arena *arena)
{
    const struct consumer_group_member_metadata_value *v = m->metadata;
    json_t *one = json_object();
    out_json_set(one, "memberId", out_json_text(m->member_id));
    out_json_set(one, "groupInstanceId", v == NULL ? json_null() : out_json_text(v->instance_id));
    out_json_set(one, "protocol", v == NULL ? json_null() : json_string(protocol_of(m)));
    out_json_set(one, "assignor", v == NULL ? json_null() : out_json_text(v->server_assignor));
    out_json_set(one, "topics", v == NULL ? json_array() : texts_json(&v->subscribed_topic_names));
    out_json_set(one, "topicRegex", v == NULL ? json_null() : out_json_text(v->subscribed_topic_regex));
    out_json_set(one, "memberEpoch", m->current == NULL ? json_null() : json_integer(m->current->member_epoch));
    out_json_set(one, "previousMemberEpoch", m->current == NULL ? json_null() : json_integer(m->current->previous_member_epoch));
    out_json_set(one, "state", m->current == NULL ? json_null() : json_string(log_consumer_state(m->current->state)));
    out_json_set(one, "partitions", share_json(g, m, SHARE_ASSIGNED, arena));
    out_json_set(one, "givingUp", share_json(g, m, SHARE_REVOKING, arena));
    out_json_set(one, "target", share_json(g, m, SHARE_TARGET, arena));
    return one;
}

static json_t *group_json(const struct group_seen *g, struct arena *arena)
{
    json_t *group = json_object(), *regexes = json_array(), *members = json_array();
    for (int32_t i = 0; i < g->regex_count; i++) {
        json_t *one = json_object();
        out_json_set(one, "regex", out_json_text(g->regexes[i].regex));
        out_json_set(one, "topics", texts_json(&g->regexes[i].value->topics));
        out_json_add(regexes, one);
    }
    for (int32_t i = 0; i < g->member_count; i++) {
        out_json_add(members, member_json(g, &g->members[i], arena));
    }
    out_json_set(group, "group", out_json_text(g->group_id));
    out_json_set(group, "state", out_json_text(g->state));
    out_json_set(group, "epoch", json_integer(g->metadata->epoch));
    out_json_set(group, "assignmentEpoch", json_integer(g->assignment == NULL ? 0 : g->assignment->assignment_epoch));
    out_json_set(group, "regularExpressions", regexes);
    out_json_set(group, "members", members);
    return group;
}

/* ---- from records ---- */

static struct member_seen *member_of(struct group_seen *g, struct str member_id)
{
    if (g->member_count == 0 || !str_eq(g->members[g->member_count - 1].member_id, member_id)) { /* a member's records are neighbours */
        g->members[g->member_count++] = (struct member_seen){.member_id = member_id};
    }
    return &g->members[g->member_count - 1];
}

static void see(struct group_seen *g, const struct wire_decoded_record *r)
{
    switch (r->schema->type) {
    case RECORD_CONSUMER_GROUP_METADATA:
        g->metadata = r->value;
        break;
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
        g->assignment = r->value;
        break;
    case RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION:
        g->regexes[g->regex_count++] =
            (struct regex_seen){((const struct consumer_group_regular_expression_key *)r->key)->regular_expression, r->value};
        break;
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
        member_of(g, ((const struct consumer_group_member_metadata_key *)r->key)->member_id)->metadata = r->value;
        break;
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
        member_of(g, ((const struct consumer_group_target_assignment_member_key *)r->key)->member_id)->target = r->value;
        break;
    case RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        member_of(g, ((const struct consumer_group_current_member_assignment_key *)r->key)->member_id)->current = r->value;
        break;
    default:
        break;
    }
}

void log_consumer_show(struct log_groups *s)
{
    struct group_seen g = {.group_id = s->group,
                           .catalog = s->catalog,
                           .members = ARENA_NEW(&s->arena, struct member_seen, s->count),
                           .regexes = ARENA_NEW(&s->arena, struct regex_seen, s->count)};
    for (size_t i = 0; i < s->count; i++) {
        struct wire_decoded_record decoded;
        if (wire_record_decode(s->records[i], &s->arena, &decoded) == 0) {
            see(&g, &decoded);
        }
    }
    struct group_listing listing;
    bool in_force = group_listing(s->set, g.group_id, &listing) && str_eq(listing.type, STR("consumer"));
    g.state = in_force ? listing.state : STR("?");
    if (g.metadata == NULL || !log_printer_takes_group(s->printer, g.group_id)) {
        return; /* what is left of a group is none */
    }
    if (s->printer->cli->json) {
        log_groups_json(s, "consumerGroup", group_json(&g, &s->arena));
    } else {
        print_table(s->printer->cli, &g, &s->arena);
    }
    s->printer->printed++;
}
