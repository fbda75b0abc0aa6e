#include "words.h"
#include "print.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what happened -------------------------------------------------------------------------------------------------------- */

static void print_why(const struct group_out *out, struct buf *to)
{
    print_text(" why=\"", to);
    print_text(out->rule, to);
    print_text("\"", to);
    if (!str_is_empty(out->reason)) {
        print_text(" reason=\"", to);
        print_str(out->reason, to);
        print_text("\"", to);
    }
    print_text("\n", to);
    golden_rule_seen(out->rule);
}

static void print_timer_name(const struct group_timer *t, struct buf *to)
{
    static const char *const names[] = {
        [GROUP_TIMER_SESSION] = "session", [GROUP_TIMER_REBALANCE] = "rebalance", [GROUP_TIMER_INITIAL_DELAY] = "initial",
        [GROUP_TIMER_SYNC] = "sync",       [GROUP_TIMER_PENDING_ID] = "pending",  [GROUP_TIMER_REVOKE] = "revoke",
        [GROUP_TIMER_ASSIGN] = "assign",   [GROUP_TIMER_REJOIN] = "rejoin",       [GROUP_TIMER_REFRESH] = "refresh"};
    print_text(names[t->kind], to);
    if (!str_is_empty(t->member_id)) {
        print_text("(", to);
        print_str(t->member_id, to);
        print_text(")", to);
    }
}

static void print_wishes(const struct group_out *out, struct buf *to)
{
    if (out->timer_count == 0) {
        return;
    }
    print_text("timers", to);
    for (size_t i = 0; i < out->timer_count; i++) {
        print_text(out->timers[i].delay_ms < 0 ? " -" : " ", to);
        print_timer_name(&out->timers[i].timer, to);
        if (out->timers[i].delay_ms >= 0) {
            print_text(out->timers[i].keep ? "~" : "=", to);
            print_ms(out->timers[i].delay_ms, to);
        }
    }
    print_text("\n", to);
}

static void print_creation(const struct create_topics_request *create, struct buf *to)
{
    print_text(" create=", to);
    for (int32_t i = 0; i < create->topics.len; i++) {
        print_text(i > 0 ? "," : "", to);
        print_str(create->topics.v[i].name, to);
        print_text(":", to);
        print_number(create->topics.v[i].num_partitions, to);
    }
}

/* What takes longer, or others have to do. */
static void print_work(const struct group_out *out, struct buf *to)
{
    print_wishes(out, to);
    if (!out->assign && !out->resolve && out->create == NULL) {
        return;
    }
    print_text("work", to);
    print_text(out->assign ? " assign" : "", to);
    print_text(out->resolve ? " resolve" : "", to);
    if (out->create != NULL) {
        print_creation(out->create, to);
    }
    print_text("\n", to);
}

static void on_record(void *ctx, struct record record)
{
    struct golden *g = ctx;
    print_text("record ", &g->happened);
    print_record(record, &g->happened);
    print_text("\n", &g->happened);
}

static void print_name(const struct world_request *r, struct buf *to)
{
    print_text(r->name, to);
    print_text(": ", to);
}

static void on_waits(void *ctx, const struct world_request *r, const struct group_out *out)
{
    struct golden *g = ctx;
    print_work(out, &g->happened);
    print_name(r, &g->happened);
    print_text("waits", &g->happened);
    print_why(out, &g->happened);
}

static void on_asked(void *ctx, const struct world_request *r, const struct group_out *out)
{
    (void)ctx;
    (void)r;
    golden_rule_seen(out->rule); /* not worth a line */
}

static void on_answer(void *ctx, const struct world_request *r, const struct group_out *out)
{
    struct golden *g = ctx;
    const struct wire_type *type = r->tag;
    print_work(out, &g->happened);
    print_name(r, &g->happened);
    print_text("answer", &g->happened);
    if (out->answer != NULL) {
        print_message(type, r->op.api_version, out->answer, &g->happened);
    }
    print_held(out, &g->happened);
    print_why(out, &g->happened);
}

static void on_silent(void *ctx, const struct group_op *op, const struct group_out *out)
{
    struct golden *g = ctx;
    print_work(out, &g->happened);
    print_text(op->kind == GROUP_TIMER ? "fires " : group_op_name(op->kind), &g->happened);
    if (op->kind == GROUP_TIMER) {
        print_timer_name(&op->timer, &g->happened);
    }
    print_why(out, &g->happened);
}

void golden_init(struct golden *g, struct buf *out)
{
    memset(g, 0, sizeof *g);
    g->out = out;
    buf_init(&g->happened, 0);
    struct world_events events = {
        .ctx = g, .record = on_record, .waits = on_waits, .asked = on_asked, .answer = on_answer, .silent = on_silent};
    world_init(&g->world, &events);
    print_topics_of(g->world.topic, &g->world.topic_count);
}

void golden_fini(struct golden *g)
{
    group_job_free(g->job);
    golden_flush(g);
    world_fini(&g->world);
    buf_fini(&g->happened);
}

void golden_flush(struct golden *g)
{
    MUSTER_CHECK(g->happened.len == 0 || buf_put(g->out, g->happened.ptr, g->happened.len) == 0);
    buf_clear(&g->happened);
}

/* ---- words of a command ---------------------------------------------------------------------------------------------------- */

_Noreturn void bad_command(const char *what, const char *word)
{
    fprintf(stderr, "golden: %s: %s\n", what, word);
    exit(2);
}

/* a-#12 becomes a-00000000-0000-0000-0000-00000000000c. */
char *expand_ids(struct arena *arena, const char *text)
{
    char *full = arena_get(arena, strlen(text) * 40 + 1);
    char *to = full;
    while (*text != '\0') {
        if (*text == '#' && isdigit((unsigned char)text[1])) {
            char *end;
            unsigned long n = strtoul(text + 1, &end, 10);
            to += snprintf(to, 37, "00000000-0000-0000-0000-%012lx", n);
            text = end;
        } else {
            *to++ = *text++;
        }
    }
    *to = '\0';
    return full;
}

static void split(struct words *w, struct arena *arena, struct str line)
{
    memset(w, 0, sizeof *w);
    w->arena = arena;
    char *text = arena_get(arena, (size_t)line.len + 1);
    memcpy(text, line.ptr, (size_t)line.len);
    for (char *rest = text, *word; (word = strsep(&rest, " ")) != NULL;) {
        if (*word == '\0') {
            continue;
        }
        if (w->count == MAX_WORDS) {
            bad_command("too many words", text);
        }
        w->word[w->count++] = expand_ids(arena, word);
    }
    size_t len = w->count > 0 ? strlen(w->word[0]) : 0;
    if (len > 1 && w->word[0][len - 1] == ':') {
        snprintf(w->client, sizeof w->client, "%.*s", (int)len - 1, w->word[0]);
        memmove(&w->word[0], &w->word[1], (size_t)--w->count * sizeof w->word[0]);
    }
}

const char *value_of(const struct words *w, const char *key)
{
    size_t len = strlen(key);
    for (int i = 1; i < w->count; i++) {
        if (strncmp(w->word[i], key, len) == 0 && w->word[i][len] == '=') {
            return w->word[i] + len + 1;
        }
    }
    return NULL;
}

struct str str_value(const struct words *w, const char *key, const char *otherwise)
{
    const char *value = value_of(w, key);
    return str_of(value == NULL ? otherwise : value);
}

int64_t number_value(const struct words *w, const char *key, int64_t otherwise)
{
    const char *value = value_of(w, key);
    return value == NULL ? otherwise : strtoll(value, NULL, 10);
}

int64_t ms_of(const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 10);
    return strcmp(end, "s") == 0 ? n * 1000 : strcmp(end, "m") == 0 ? n * 60000 : n;
}

int64_t ms_value(const struct words *w, const char *key, const char *otherwise)
{
    const char *value = value_of(w, key);
    return ms_of(value == NULL ? otherwise : value);
}

char *copy_value(const struct words *w, const char *key, const char *otherwise, struct arena *arena)
{
    const char *value = value_of(w, key);
    return expand_ids(arena, value == NULL ? otherwise : value);
}

/* The next part of a list; parts are separated by the character. NULL at the end. */
char *next_part(char **rest, const char *by)
{
    return *rest == NULL || **rest == '\0' ? NULL : strsep(rest, by);
}

int32_t count_parts(const char *list, char by)
{
    int32_t count = list == NULL || *list == '\0' ? 0 : 1;
    for (const char *at = list; at != NULL && *at != '\0'; at++) {
        count += *at == by ? 1 : 0;
    }
    return count;
}

/* ---- subscriptions and assignments ------------------------------------------------------------------------------------------ */

/* Cuts the text at the first such mark; what stands behind it, or NULL. */
static char *cut_at(char *text, char mark)
{
    char *at = strchr(text, mark);
    if (at != NULL) {
        *at++ = '\0';
    }
    return at;
}

static struct bytes user_data(char *text)
{
    return text == NULL ? BYTES_NULL : bytes_of_str(str_of(text));
}

/* "t1-0", one partition an element. */
static struct consumer_protocol_assignment_topic_partition_array partitions_of(char *text, struct arena *arena)
{
    int32_t len = text == NULL ? 0 : count_parts(text, '+');
    struct consumer_protocol_assignment_topic_partition_array all = {ARENA_NEW(arena, struct consumer_protocol_assignment_topic_partition,
                                                                               len),
                                                                     0};
    for (char *part; text != NULL && (part = next_part(&text, "+")) != NULL;) {
        char *dash = strrchr(part, '-');
        if (dash == NULL) {
            bad_command("topic-partition expected", part);
        }
        *dash = '\0';
        int32_t *number = ARENA_NEW(arena, int32_t, 1);
        *number = (int32_t)strtol(dash + 1, NULL, 10);
        all.v[all.len++] = (struct consumer_protocol_assignment_topic_partition){str_of(part), {number, 1}};
    }
    return all;
}

static struct bytes versioned(const struct wire_msg *msg, int16_t version, const void *value, struct arena *arena)
{
    struct bytes body = wire_encode(msg, version, value, arena);
    uint8_t *v = ARENA_NEW(arena, uint8_t, body.len + 2);
    put_be16(v, (uint16_t)version);
    memcpy(v + 2, body.ptr, (size_t)body.len);
    return (struct bytes){v, body.len + 2};
}

static struct bytes subscription_of(int16_t version, char *text, struct arena *arena)
{
    struct consumer_protocol_subscription s;
    wire_init(&wire_consumer_protocol_subscription, &s);
    s.user_data = user_data(cut_at(text, '!'));
    char *rack = cut_at(text, '^');
    s.rack_id = rack == NULL ? STR_NULL : str_of(rack);
    struct consumer_protocol_assignment_topic_partition_array owned = partitions_of(cut_at(text, '~'), arena);
    s.owned_partitions.v = ARENA_NEW(arena, struct consumer_protocol_subscription_topic_partition, owned.len);
    for (; s.owned_partitions.len < owned.len; s.owned_partitions.len++) {
        s.owned_partitions.v[s.owned_partitions.len].topic = owned.v[s.owned_partitions.len].topic;
        s.owned_partitions.v[s.owned_partitions.len].partitions = owned.v[s.owned_partitions.len].partitions;
    }
    s.topics.v = ARENA_NEW(arena, struct str, count_parts(text, '+'));
    for (char *part; (part = next_part(&text, "+")) != NULL;) {
        s.topics.v[s.topics.len++] = str_of(part);
    }
    return versioned(&wire_consumer_protocol_subscription, version, &s, arena);
}

static struct bytes assignment_of(int16_t version, char *text, struct arena *arena)
{
    struct consumer_protocol_assignment a;
    wire_init(&wire_consumer_protocol_assignment, &a);
    a.user_data = user_data(cut_at(text, '!'));
    a.assigned_partitions = partitions_of(text, arena);
    return versioned(&wire_consumer_protocol_assignment, version, &a, arena);
}

/* "topics:t1+t2~t1-0+t1-1^rack!user data", what follows the topics where it is wanted; "parts:t1-0+t1-1!user data"; a version other than 0 stands behind the
 * word, topics/3:; or just text. */
static struct bytes content_of(struct arena *arena, char *text)
{
    bool topics = strncmp(text, "topics", 6) == 0 && (text[6] == ':' || text[6] == '/');
    bool parts = strncmp(text, "parts", 5) == 0 && (text[5] == ':' || text[5] == '/');
    if (!topics && !parts) {
        return bytes_of_str(str_of(text));
    }
    char *number = text + (topics ? 6 : 5), *rest = cut_name(number);
    int16_t version = (int16_t)(*number == '/' ? strtol(number + 1, NULL, 10) : 0);
    return topics ? subscription_of(version, rest, arena) : assignment_of(version, rest, arena);
}

/* "name:content"; the content may hold colons itself. */
char *cut_name(char *part)
{
    char *colon = strchr(part, ':');
    if (colon == NULL) {
        bad_command("name:content expected", part);
    }
    *colon = '\0';
    return colon + 1;
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------ */

struct world_request *request_new(const struct words *w, enum group_op_kind kind, const struct wire_msg *answer, int16_t version)
{
    struct world_request *r = world_request_new(w->client);
    r->tag = answer->type;
    r->op.kind = kind;
    r->op.api_key = answer->number;
    r->op.api_version = (int16_t)number_value(w, "version", version);
    r->op.group_id = arena_str(&r->arena, str_value(w, "group", "g"));
    request_hold(r, w);
    char *client = arena_get(&r->arena, strlen(w->client) + 1);
    for (size_t i = 0; i < strlen(w->client); i++) {
        client[i] = (char)tolower((unsigned char)w->client[i]);
    }
    r->op.caller = (struct group_caller){.client_id = str_of(client), .host = STR("/127.0.0.1")};
    return r;
}

struct str own(struct world_request *r, struct str s)
{
    return arena_str(&r->arena, s);
}

static void command_join(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_JOIN, &wire_join_group_response, 9);
    struct join_group_request *q = ARENA_NEW(&r->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, q);
    q->group_id = r->op.group_id;
    q->session_timeout_ms = (int32_t)ms_value(w, "session", "10s");
    q->rebalance_timeout_ms = (int32_t)ms_value(w, "rebalance", "20s");
    q->member_id = own(r, str_value(w, "member", ""));
    q->group_instance_id = own(r, str_value(w, "instance", NULL));
    q->protocol_type = own(r, str_value(w, "type", "consumer"));
    q->reason = own(r, str_value(w, "reason", NULL));
    char *rest = expand_ids(&r->arena, value_of(w, "protocols") == NULL ? "range:m" : value_of(w, "protocols")), *part;
    q->protocols.len = count_parts(rest, ',');
    q->protocols.v = ARENA_NEW(&r->arena, struct join_group_request_protocol, q->protocols.len);
    for (int32_t i = 0; (part = next_part(&rest, ",")) != NULL; i++) {
        char *content = cut_name(part);
        q->protocols.v[i].name = str_of(part);
        q->protocols.v[i].metadata = content_of(&r->arena, content);
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

static void command_sync(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_SYNC, &wire_sync_group_response, 5);
    struct sync_group_request *q = ARENA_NEW(&r->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, q);
    q->group_id = r->op.group_id;
    q->generation_id = (int32_t)number_value(w, "generation", 1);
    q->member_id = own(r, str_value(w, "member", ""));
    q->group_instance_id = own(r, str_value(w, "instance", NULL));
    if (r->op.api_version >= 5) {
        q->protocol_type = own(r, str_value(w, "type", "consumer"));
        q->protocol_name = own(r, str_value(w, "name", "range"));
        q->protocol_type = str_eq(q->protocol_type, STR("-")) ? STR_NULL : q->protocol_type;
    }
    char *rest = expand_ids(&r->arena, value_of(w, "assign") == NULL ? "" : value_of(w, "assign")), *part;
    q->assignments.len = count_parts(rest, ',');
    q->assignments.v = ARENA_NEW(&r->arena, struct sync_group_request_assignment, q->assignments.len);
    for (int32_t i = 0; (part = next_part(&rest, ",")) != NULL; i++) {
        char *content = cut_name(part);
        q->assignments.v[i].member_id = str_of(part);
        q->assignments.v[i].assignment = content_of(&r->arena, content);
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

static void command_heartbeat(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_HEARTBEAT, &wire_heartbeat_response, 4);
    struct heartbeat_request *q = ARENA_NEW(&r->arena, struct heartbeat_request, 1);
    wire_init(&wire_heartbeat_request, q);
    q->group_id = r->op.group_id;
    q->generation_id = (int32_t)number_value(w, "generation", 1);
    q->member_id = own(r, str_value(w, "member", ""));
    q->group_instance_id = own(r, str_value(w, "instance", NULL));
    r->op.request = q;
    world_submit(&g->world, r);
}

static void command_leave(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_LEAVE, &wire_leave_group_response, 5);
    struct leave_group_request *q = ARENA_NEW(&r->arena, struct leave_group_request, 1);
    wire_init(&wire_leave_group_request, q);
    q->group_id = r->op.group_id;
    char *rest = expand_ids(&r->arena, value_of(w, "members") == NULL ? "" : value_of(w, "members")), *part;
    q->members.len = count_parts(rest, ',');
    q->members.v = ARENA_NEW(&r->arena, struct leave_group_request_member_identity, q->members.len);
    for (int32_t i = 0; (part = next_part(&rest, ",")) != NULL; i++) {
        char *slash = strchr(part, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
        q->members.v[i].member_id = str_of(part);
        q->members.v[i].group_instance_id = str_of(slash == NULL ? NULL : slash + 1);
        q->members.v[i].reason = own(r, str_value(w, "reason", NULL));
    }
    q->member_id = q->members.len > 0 ? q->members.v[0].member_id : STR("");
    r->op.request = q;
    world_submit(&g->world, r);
}

static void command_commit(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_OFFSET_COMMIT, &wire_offset_commit_response, 9);
    struct offset_commit_request *q = ARENA_NEW(&r->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, q);
    q->group_id = r->op.group_id;
    q->generation_id_or_member_epoch = (int32_t)number_value(w, "generation", -1);
    q->member_id = own(r, str_value(w, "member", ""));
    q->group_instance_id = own(r, str_value(w, "instance", NULL));
    q->retention_time_ms = ms_value(w, "retention", "-1");
    q->topics.v = ARENA_NEW(&r->arena, struct offset_commit_request_topic, w->count);
    for (int i = 1; i < w->count; i++) {
        char *equals = strchr(w->word[i], '='), *dash = strchr(w->word[i], '-');
        if (equals == NULL || dash == NULL || dash > equals) {
            continue;
        }
        struct offset_commit_request_topic *t = &q->topics.v[q->topics.len++];
        wire_init_type(wire_offset_commit_request.type->fields[5].type, t);
        t->name = own(r, (struct str){w->word[i], (int32_t)(dash - w->word[i])});
        t->partitions.len = 1;
        t->partitions.v = ARENA_NEW(&r->arena, struct offset_commit_request_partition, 1);
        t->partitions.v[0].partition_index = (int32_t)strtol(dash + 1, NULL, 10);
        t->partitions.v[0].committed_offset = strtoll(equals + 1, NULL, 10);
        t->partitions.v[0].committed_leader_epoch = -1;
        t->partitions.v[0].committed_metadata = STR("");
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

static void command_describe(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_DESCRIBE, &wire_describe_groups_response, 6);
    r->tag = wire_describe_groups_response.type->fields[1].type;
    world_submit(&g->world, r);
}

static void command_delete(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_DELETE, &wire_delete_groups_response, 3);
    r->tag = wire_delete_groups_response.type->fields[1].type;
    world_submit(&g->world, r);
}

/* Partitions as t-0; one topic after another. With none of them: all offsets of the group. */
static void command_fetch(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_OFFSET_FETCH, &wire_offset_fetch_response, 9);
    r->tag = wire_offset_fetch_response.type->fields[3].type;
    struct offset_fetch_request_group *q = ARENA_NEW(&r->arena, struct offset_fetch_request_group, 1);
    wire_init_type(wire_offset_fetch_request.type->fields[2].type, q);
    q->group_id = r->op.group_id;
    q->member_id = own(r, str_value(w, "member", NULL));
    q->member_epoch = (int32_t)number_value(w, "epoch", -1);
    q->topics.v = ARENA_NEW(&r->arena, struct offset_fetch_request_topics, w->count);
    q->topics.len = 0;
    for (int i = 1; i < w->count; i++) {
        char *dash = strrchr(w->word[i], '-');
        if (dash == NULL || strchr(w->word[i], '=') != NULL) {
            continue;
        }
        struct offset_fetch_request_topics *t = &q->topics.v[q->topics.len++];
        t->name = own(r, (struct str){w->word[i], (int32_t)(dash - w->word[i])});
        t->partition_indexes.len = 1;
        t->partition_indexes.v = ARENA_NEW(&r->arena, int32_t, 1);
        t->partition_indexes.v[0] = (int32_t)strtol(dash + 1, NULL, 10);
    }
    q->topics.len = q->topics.len == 0 ? -1 : q->topics.len;
    r->op.request = q;
    world_submit(&g->world, r);
}

static void command_offset_delete(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_OFFSET_DELETE, &wire_offset_delete_response, 0);
    struct offset_delete_request *q = ARENA_NEW(&r->arena, struct offset_delete_request, 1);
    q->group_id = r->op.group_id;
    q->topics.v = ARENA_NEW(&r->arena, struct offset_delete_request_topic, w->count);
    for (int i = 1; i < w->count; i++) {
        char *dash = strrchr(w->word[i], '-');
        if (dash == NULL || strchr(w->word[i], '=') != NULL) {
            continue;
        }
        struct offset_delete_request_topic *t = &q->topics.v[q->topics.len++];
        t->name = own(r, (struct str){w->word[i], (int32_t)(dash - w->word[i])});
        t->partitions.len = 1;
        t->partitions.v = ARENA_NEW(&r->arena, struct offset_delete_request_partition, 1);
        t->partitions.v[0].partition_index = (int32_t)strtol(dash + 1, NULL, 10);
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

static bool has_word(const struct words *w, const char *word)
{
    for (int i = 1; i < w->count; i++) {
        if (strcmp(w->word[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* t-0=5 sets, t-0+=5 and t-0-=5 move, t-0=gone deletes; the words fence, force, validate. */
static void command_alter(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_ALTER_OFFSETS, &wire_alter_group_offsets_response, 0);
    struct alter_group_offsets_request *q = ARENA_NEW(&r->arena, struct alter_group_offsets_request, 1);
    wire_init(&wire_alter_group_offsets_request, q);
    q->group_id = r->op.group_id;
    q->create = (int8_t)number_value(w, "create", 0);
    q->fence = has_word(w, "fence");
    q->force = has_word(w, "force");
    q->validate_only = has_word(w, "validate");
    q->reason = own(r, str_value(w, "reason", NULL));
    q->topics.v = ARENA_NEW(&r->arena, struct alter_group_offsets_request_topic, w->count);
    for (int i = 1; i < w->count; i++) {
        char *equals = strchr(w->word[i], '=');
        char *dash = equals == NULL ? NULL : memchr(w->word[i], '-', (size_t)(equals - w->word[i]));
        if (dash == NULL) {
            continue;
        }
        struct alter_group_offsets_request_topic *t = &q->topics.v[q->topics.len++];
        t->name = own(r, (struct str){w->word[i], (int32_t)(dash - w->word[i])});
        t->partitions.len = 1;
        t->partitions.v = ARENA_NEW(&r->arena, struct alter_group_offsets_request_partition, 1);
        bool moves = equals[-1] == '+' || equals[-1] == '-';
        *t->partitions.v =
            (struct alter_group_offsets_request_partition){.partition_index = (int32_t)strtol(dash + 1, NULL, 10),
                                                           .action = strcmp(equals, "=gone") == 0 ? 2
                                                                     : moves                      ? 1
                                                                                                  : 0,
                                                           .offset = strtoll(equals + 1, NULL, 10) * (equals[-1] == '-' ? -1 : 1),
                                                           .least = number_value(w, "least", 0),
                                                           .most = number_value(w, "most", INT64_MAX),
                                                           .leader_epoch = -1,
                                                           .metadata = STR_NULL};
    }
    r->op.request = q;
    world_submit(&g->world, r);
}

/* ---- the world around ---------------------------------------------------------------------------------------------------------- */

static void command_tick(struct golden *g, const struct words *w)
{
    if (w->count != 2) {
        bad_command("tick needs a time", w->word[0]);
    }
    world_tick(&g->world, ms_of(w->word[1]));
}

static void command_failover(struct golden *g, const struct words *w)
{
    (void)w;
    world_failover(&g->world);
}

static const struct {
    const char *word;
    enum group_timer_kind kind;
} timer_words[] = {{"session", GROUP_TIMER_SESSION}, {"rebalance", GROUP_TIMER_REBALANCE}, {"initial", GROUP_TIMER_INITIAL_DELAY},
                   {"sync", GROUP_TIMER_SYNC},       {"pending", GROUP_TIMER_PENDING_ID},  {"revoke", GROUP_TIMER_REVOKE},
                   {"assign", GROUP_TIMER_ASSIGN},   {"rejoin", GROUP_TIMER_REJOIN},       {"refresh", GROUP_TIMER_REFRESH}};

/* A timer that fired as it was cancelled or armed anew. */
static void command_fire(struct golden *g, const struct words *w)
{
    struct group_op op = {.kind = GROUP_TIMER, .api_key = -1, .group_id = str_value(w, "group", "g")};
    op.timer.group_id = op.group_id;
    op.timer.member_id = str_value(w, "member", "");
    op.timer.epoch = (int32_t)number_value(w, "epoch", 0);
    for (size_t i = 0; i < COUNT_OF(timer_words); i++) {
        if (w->count > 1 && strcmp(timer_words[i].word, w->word[1]) == 0) {
            op.timer.kind = timer_words[i].kind;
            world_run(&g->world, &op);
            return;
        }
    }
    bad_command("no such timer", w->count > 1 ? w->word[1] : "");
}

static void command_timers(struct golden *g, const struct words *w)
{
    (void)w;
    struct group_timer timer;
    int64_t due;
    print_text("armed", &g->happened);
    for (int i = 0; world_timer_at(&g->world, i, &timer, &due); i++) {
        print_text(" ", &g->happened);
        print_timer_name(&timer, &g->happened);
        print_text("=", &g->happened);
        print_ms(due - g->world.now_ms, &g->happened);
    }
    print_text("\n", &g->happened);
}

static void command_topic(struct golden *g, const struct words *w)
{
    if (w->count != 3) {
        bad_command("topic needs a name and a number of partitions", w->word[0]);
    }
    world_topic_set(&g->world, w->word[1], (int32_t)strtol(w->word[2], NULL, 10));
}

static void command_topics_changed(struct golden *g, const struct words *w)
{
    struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = str_value(w, "group", "g")};
    world_run(&g->world, &op);
}

static void command_retention(struct golden *g, const struct words *w)
{
    struct group_op op = {.kind = GROUP_RETENTION, .api_key = -1, .group_id = str_value(w, "group", "g")};
    world_run(&g->world, &op);
}

static void command_hold(struct golden *g, const struct words *w)
{
    (void)w;
    g->world.hold = true;
}

static void command_release(struct golden *g, const struct words *w)
{
    (void)w;
    g->world.hold = false;
    world_ask_again(&g->world);
}

static void command_revision(struct golden *g, const struct words *w)
{
    struct group_set_counts counts;
    group_set_counts(g->world.set, &counts);
    print_text("revision ", &g->happened);
    print_number(group_revision(g->world.set, str_value(w, "group", "g")), &g->happened);
    print_text(" groups ", &g->happened);
    print_number(counts.groups, &g->happened);
    print_text(" members ", &g->happened);
    print_number(counts.members, &g->happened);
    print_text(" hash ", &g->happened);
    print_text(group_set_hash(g->world.set) == 0 ? "0" : "set", &g->happened);
    print_text("\n", &g->happened);
}

static const struct {
    const char *word;
    void (*run)(struct golden *g, const struct words *w);
    bool client;
} commands[] = {
    {"join", command_join, true},
    {"sync", command_sync, true},
    {"heartbeat", command_heartbeat, true},
    {"leave", command_leave, true},
    {"commit", command_commit, true},
    {"describe", command_describe, true},
    {"delete", command_delete, true},
    {"fetch", command_fetch, true},
    {"offset-delete", command_offset_delete, true},
    {"alter", command_alter, true},
    {"create-topics", command_create_topics, true},
    {"create-partitions", command_create_partitions, true},
    {"delete-topics", command_delete_topics, true},
    {"alter-configs", command_alter_configs, true},
    {"producer-id", command_producer_id, true},
    {"change-member", command_change_member, true},
    {"member-step", command_member_step, true},
    {"register-node", command_register_node, true},
    {"upgrade", command_upgrade, true},
    {"consumer", command_consumer, true},
    {"consumer-describe", command_consumer_describe, true},
    {"streams", command_streams, true},
    {"initialize", command_initialize, true},
    {"description", command_description, true},
    {"streams-describe", command_streams_describe, true},
    {"streams-topology", command_streams_topology, true},
    {"cursor", command_cursor, false},
    {"history", command_history, true},
    {"level", command_level, false},
    {"config", command_config, false},
    {"begin", command_begin, false},
    {"finish", command_finish, false},
    {"created", command_created, false},
    {"made", command_made, false},
    {"tick", command_tick, false},
    {"failover", command_failover, false},
    {"timers", command_timers, false},
    {"fire", command_fire, false},
    {"topic", command_topic, false},
    {"topics-changed", command_topics_changed, false},
    {"retention", command_retention, false},
    {"set", command_set, false},
    {"hold", command_hold, false},
    {"release", command_release, false},
    {"revision", command_revision, false},
};

void golden_command(struct golden *g, struct str line)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct words w;
    split(&w, &arena, line);
    size_t i = 0;
    while (w.count > 0 && i < COUNT_OF(commands) && strcmp(commands[i].word, w.word[0]) != 0) {
        i++;
    }
    if (w.count == 0 || i == COUNT_OF(commands) || commands[i].client != (w.client[0] != '\0')) {
        bad_command("no such command", arena_printf(&arena, "%.*s", STR_ARG(line)).ptr);
    }
    commands[i].run(g, &w);
    arena_fini(&arena);
}
