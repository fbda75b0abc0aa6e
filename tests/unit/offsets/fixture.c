#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which rules fired, over all tests -------------------------------------------------------------------------------------- */

enum { RULES = 256 };
static const char *hit[RULES];
static int hits;

static void note_rule(const char *rule)
{
    if (!rule_was_hit(rule) && hits < RULES) {
        hit[hits++] = rule;
    }
}

bool rule_was_hit(const char *rule)
{
    for (int i = 0; i < hits; i++) {
        if (strcmp(hit[i], rule) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- answers as text ----------------------------------------------------------------------------------------------------------- */

static void say(struct fixture *f, const char *format, ...)
{
    size_t at = strlen(f->answer);
    va_list args;
    va_start(args, format);
    vsnprintf(f->answer + at, sizeof f->answer - at, format, args);
    va_end(args);
}

static void say_topic(struct fixture *f, bool first, struct str name, struct uuid id)
{
    say(f, "%s", first ? "" : " ");
    if (name.len > 0) {
        say(f, "%.*s[", STR_ARG(name));
    } else {
        say(f, "#%02x[", id.b[15]);
    }
}

static void say_commit(struct fixture *f, const struct offset_commit_response *r)
{
    for (int32_t t = 0; t < r->topics.len; t++) {
        say_topic(f, t == 0, r->topics.v[t].name, r->topics.v[t].topic_id);
        for (int32_t i = 0; i < r->topics.v[t].partitions.len; i++) {
            const struct offset_commit_response_partition *p = &r->topics.v[t].partitions.v[i];
            say(f, "%s%d:%d", i > 0 ? " " : "", p->partition_index, p->error_code);
        }
        say(f, "]");
    }
}

static void say_delete(struct fixture *f, const struct offset_delete_response *r)
{
    for (int32_t t = 0; t < r->topics.len; t++) {
        say_topic(f, t == 0, r->topics.v[t].name, (struct uuid){{0}});
        for (int32_t i = 0; i < r->topics.v[t].partitions.len; i++) {
            const struct offset_delete_response_partition *p = &r->topics.v[t].partitions.v[i];
            say(f, "%s%d:%d", i > 0 ? " " : "", p->partition_index, p->error_code);
        }
        say(f, "]");
    }
}

static void say_alter(struct fixture *f, const struct alter_group_offsets_response *r)
{
    if (r->fenced > 0) {
        say(f, "fenced %d ", r->fenced);
    }
    for (int32_t t = 0; t < r->topics.len; t++) {
        say_topic(f, t == 0, r->topics.v[t].name, (struct uuid){{0}});
        for (int32_t i = 0; i < r->topics.v[t].partitions.len; i++) {
            const struct alter_group_offsets_response_partition *p = &r->topics.v[t].partitions.v[i];
            say(f, "%s%d:%d %lld>%lld", i > 0 ? " " : "", p->partition_index, p->error_code, (long long)p->before, (long long)p->after);
        }
        say(f, "]");
    }
}

static void say_fetch(struct fixture *f, const struct offset_fetch_response_group *r)
{
    if (r->error_code != 0) {
        say(f, "error %d ", r->error_code);
    }
    for (int32_t t = 0; t < r->topics.len; t++) {
        say_topic(f, t == 0, r->topics.v[t].name, r->topics.v[t].topic_id);
        for (int32_t i = 0; i < r->topics.v[t].partitions.len; i++) {
            const struct offset_fetch_response_partitions *p = &r->topics.v[t].partitions.v[i];
            assert_true(p->metadata.len >= 0);
            say(f, "%s%d=%lld/%d/%.*s", i > 0 ? " " : "", p->partition_index, (long long)p->committed_offset, p->committed_leader_epoch,
                STR_ARG(p->metadata));
            if (p->error_code != 0) {
                say(f, "!%d", p->error_code);
            }
        }
        say(f, "]");
    }
}

static void take_join(struct fixture *f, const struct join_group_response *r)
{
    f->error = r->error_code;
    f->generation = r->generation_id;
    snprintf(f->member_id, sizeof f->member_id, "%.*s", STR_ARG(r->member_id));
}

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct fixture *f = ctx;
    note_rule(out->rule);
    snprintf(f->rule, sizeof f->rule, "%s", out->rule);
    f->error = out->error;
    f->more = out->more;
    f->answer[0] = '\0';
    switch (request->op.kind) {
    case GROUP_OFFSET_COMMIT:
        say_commit(f, out->answer);
        break;
    case GROUP_OFFSET_FETCH:
        say_fetch(f, out->answer);
        break;
    case GROUP_OFFSET_DELETE:
        say_delete(f, out->answer);
        break;
    case GROUP_ALTER_OFFSETS:
        say_alter(f, out->answer);
        break;
    case GROUP_DELETE:
        assert_int_equal(out->error, ((const struct delete_groups_response_deletable_group_result *)out->answer)->error_code);
        break;
    case GROUP_JOIN:
        take_join(f, out->answer);
        break;
    default:
        break;
    }
}

static void on_silent(void *ctx, const struct group_op *op, const struct group_out *out)
{
    struct fixture *f = ctx;
    (void)op;
    note_rule(out->rule);
    snprintf(f->rule, sizeof f->rule, "%s", out->rule);
}

static void on_record(void *ctx, struct record record)
{
    struct fixture *f = ctx;
    (void)record;
    f->records++;
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    world_init(&f->world, &(struct world_events){.ctx = f, .record = on_record, .answer = on_answer, .silent = on_silent});
    f->world.settings.initial_rebalance_delay_ms = 0;
    world_topic_set(&f->world, "ta", 3);
    world_topic_set(&f->world, "tb", 3);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    world_fini(&f->world);
    free(f);
    return 0;
}

/* ---- reading the short form ----------------------------------------------------------------------------------------------------- */

struct short_partition {
    char topic[300];
    int32_t partition;
    int64_t offset;
    int32_t epoch;
    struct str metadata;
};
enum { SHORT_PARTITIONS = 4096 };

/* "ta:0=5/3/meta, ta:1=7": "~" as metadata is null, "*N" are N letters. */
static int read_short(const char *text, struct arena *arena, struct short_partition *ret)
{
    int count = 0;
    while (text != NULL && *text != '\0') {
        struct short_partition *p = &ret[count];
        int used = 0;
        *p = (struct short_partition){.offset = 0, .epoch = -1, .metadata = STR("")};
        const char *colon = strchr(text, ':');
        assert_non_null(colon);
        snprintf(p->topic, sizeof p->topic, "%.*s", (int)(colon - text), text);
        text = colon + 1;
        if (*text != '-' && (*text < '0' || *text > '9')) {
            p->partition = -1000; /* "ta:": a topic without partitions */
        } else {
            p->partition = (int32_t)strtol(text, (char **)(uintptr_t)&text, 10);
        }
        if (*text == '=') {
            p->offset = strtoll(text + 1, (char **)(uintptr_t)&text, 10);
        }
        if (*text == '/') {
            p->epoch = (int32_t)strtol(text + 1, (char **)(uintptr_t)&text, 10);
        }
        if (*text == '/') {
            const char *end = strchr(text, ',');
            used = end != NULL ? (int)(end - text) - 1 : (int)strlen(text) - 1;
            p->metadata = (struct str){text + 1, used};
            text += 1 + used;
        }
        if (str_eq(p->metadata, STR("~"))) {
            p->metadata = STR_NULL;
        } else if (p->metadata.len > 1 && p->metadata.ptr[0] == '*') {
            int32_t len = (int32_t)strtol(p->metadata.ptr + 1, NULL, 10);
            char *letters = arena_get(arena, (size_t)len);
            memset(letters, 'm', (size_t)len);
            p->metadata = (struct str){letters, len};
        }
        count++;
        assert_true(count < SHORT_PARTITIONS);
        while (*text == ',' || *text == ' ') {
            text++;
        }
    }
    return count;
}

/* Neighbours with the same topic belong together. */
static int run_length(const struct short_partition *p, int count)
{
    int n = 1;
    while (n < count && strcmp(p[n].topic, p[0].topic) == 0) {
        n++;
    }
    return n;
}

static struct uuid id_of(struct fixture *f, const char *topic)
{
    struct topic_view view;
    struct uuid id = {{0}};
    if (f->world.topics.by_name(f->world.topics.ctx, str_of(topic), &view)) {
        return view.id;
    }
    if (strcmp(topic, "zero") != 0) {
        id.b[15] = 0xff;
    }
    return id;
}

static struct world_request *request_new(enum group_op_kind kind, int16_t key, int16_t version, const char *group, const void *request,
                                         struct world_request *r)
{
    r->op.kind = kind;
    r->op.api_key = key;
    r->op.api_version = version;
    r->op.group_id = arena_str(&r->arena, str_of(group));
    r->op.request = request;
    r->op.caller = (struct group_caller){STR("client"), STR("/127.0.0.1")};
    return r;
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------------- */

static struct short_partition parts[SHORT_PARTITIONS];

static void fill_commit(struct fixture *f, struct world_request *r, const struct commit *c, struct offset_commit_request *q)
{
    int count = read_short(c->partitions, &r->arena, parts);
    q->topics.v = ARENA_NEW(&r->arena, struct offset_commit_request_topic, count);
    for (int i = 0; i < count;) {
        int n = run_length(&parts[i], count - i);
        struct offset_commit_request_topic *t = &q->topics.v[q->topics.len++];
        t->name = arena_str(&r->arena, str_of(parts[i].topic));
        t->topic_id = id_of(f, parts[i].topic);
        t->partitions.v = ARENA_NEW(&r->arena, struct offset_commit_request_partition, n);
        t->partitions.len = parts[i].partition == -1000 ? 0 : n;
        for (int k = 0; k < n; k++, i++) {
            t->partitions.v[k] = (struct offset_commit_request_partition){.partition_index = parts[i].partition,
                                                                          .committed_offset = parts[i].offset,
                                                                          .committed_leader_epoch = parts[i].epoch,
                                                                          .committed_metadata = parts[i].metadata};
        }
    }
}

const char *commit(struct fixture *f, struct commit c)
{
    struct world_request *r = world_request_new("commit");
    struct offset_commit_request *q = ARENA_NEW(&r->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, q);
    q->group_id = arena_str(&r->arena, str_of(c.group));
    q->member_id = arena_str(&r->arena, str_of(c.member != NULL ? c.member : ""));
    q->group_instance_id = str_of(c.instance);
    q->generation_id_or_member_epoch = c.generation != 0 || c.zero_generation ? c.generation : -1;
    q->retention_time_ms = c.retention_ms != 0 ? c.retention_ms : -1;
    fill_commit(f, r, &c, q);
    world_submit(&f->world, request_new(GROUP_OFFSET_COMMIT, 8, c.version != 0 ? c.version : 9, c.group, q, r));
    return f->answer;
}

const char *fetch(struct fixture *f, int16_t version, const char *group, const char *topics)
{
    struct world_request *r = world_request_new("fetch");
    struct offset_fetch_request_group *q = ARENA_NEW(&r->arena, struct offset_fetch_request_group, 1);
    q->group_id = arena_str(&r->arena, str_of(group));
    q->member_epoch = -1;
    int count = read_short(topics, &r->arena, parts);
    q->topics.v = ARENA_NEW(&r->arena, struct offset_fetch_request_topics, count);
    for (int i = 0; i < count;) {
        int n = run_length(&parts[i], count - i);
        struct offset_fetch_request_topics *t = &q->topics.v[q->topics.len++];
        t->name = arena_str(&r->arena, str_of(parts[i].topic));
        t->topic_id = id_of(f, parts[i].topic);
        t->partition_indexes.v = ARENA_NEW(&r->arena, int32_t, n);
        t->partition_indexes.len = parts[i].partition == -1000 ? 0 : n;
        for (int k = 0; k < n; k++, i++) {
            t->partition_indexes.v[k] = parts[i].partition;
        }
    }
    q->topics.len = topics == NULL ? -1 : q->topics.len;
    world_submit(&f->world, request_new(GROUP_OFFSET_FETCH, 9, version, group, q, r));
    return f->answer;
}

const char *offset_delete(struct fixture *f, const char *group, const char *topics)
{
    struct world_request *r = world_request_new("delete");
    struct offset_delete_request *q = ARENA_NEW(&r->arena, struct offset_delete_request, 1);
    q->group_id = arena_str(&r->arena, str_of(group));
    int count = read_short(topics, &r->arena, parts);
    q->topics.v = ARENA_NEW(&r->arena, struct offset_delete_request_topic, count);
    for (int i = 0; i < count;) {
        int n = run_length(&parts[i], count - i);
        struct offset_delete_request_topic *t = &q->topics.v[q->topics.len++];
        t->name = arena_str(&r->arena, str_of(parts[i].topic));
        t->partitions.v = ARENA_NEW(&r->arena, struct offset_delete_request_partition, n);
        t->partitions.len = n;
        for (int k = 0; k < n; k++, i++) {
            t->partitions.v[k].partition_index = parts[i].partition;
        }
    }
    world_submit(&f->world, request_new(GROUP_OFFSET_DELETE, 47, 0, group, q, r));
    return f->answer;
}

const char *alter(struct fixture *f, struct alter a)
{
    struct world_request *r = world_request_new("alter");
    struct alter_group_offsets_request *q = ARENA_NEW(&r->arena, struct alter_group_offsets_request, 1);
    wire_init(&wire_alter_group_offsets_request, q);
    q->group_id = arena_str(&r->arena, str_of(a.group));
    q->create = a.create;
    q->fence = a.fence;
    q->force = a.force;
    q->validate_only = a.validate;
    int count = read_short(a.partitions, &r->arena, parts);
    q->topics.v = ARENA_NEW(&r->arena, struct alter_group_offsets_request_topic, count);
    for (int i = 0; i < count;) {
        int n = run_length(&parts[i], count - i);
        struct alter_group_offsets_request_topic *t = &q->topics.v[q->topics.len++];
        t->name = arena_str(&r->arena, str_of(parts[i].topic));
        t->partitions.v = ARENA_NEW(&r->arena, struct alter_group_offsets_request_partition, n);
        t->partitions.len = n;
        for (int k = 0; k < n; k++, i++) {
            t->partitions.v[k] = (struct alter_group_offsets_request_partition){.partition_index = parts[i].partition,
                                                                                .action = a.moves                 ? 1
                                                                                          : parts[i].offset == -1 ? 2
                                                                                                                  : 0,
                                                                                .offset = parts[i].offset,
                                                                                .most = INT64_MAX,
                                                                                .leader_epoch = parts[i].epoch,
                                                                                .metadata = parts[i].metadata};
        }
    }
    world_submit(&f->world, request_new(GROUP_ALTER_OFFSETS, 20020, 0, a.group, q, r));
    return f->answer;
}

int16_t group_delete(struct fixture *f, const char *group, int *ret_slices)
{
    int slices = 0;
    do {
        struct world_request *r = world_request_new("group delete");
        world_submit(&f->world, request_new(GROUP_DELETE, 42, 2, group, NULL, r));
        slices++;
    } while (f->more);
    if (ret_slices != NULL) {
        *ret_slices = slices;
    }
    return f->error;
}

/* ---- members ------------------------------------------------------------------------------------------------------------------------------ */

static struct bytes subscription(struct arena *arena, const char *topics)
{
    struct buf b;
    uint8_t word[4];
    int32_t count = 0;
    if (topics == NULL) {
        return (struct bytes){(const uint8_t *)"x", 1};
    }
    buf_init(&b, 0);
    put_be16(word, 1);
    buf_put(&b, word, 2);
    buf_put(&b, word, 4); /* the count, patched below */
    while (*topics != '\0') {
        size_t len = strcspn(topics, ",");
        put_be16(word, (uint16_t)len);
        buf_put(&b, word, 2);
        buf_put(&b, topics, len);
        topics += len + (topics[len] == ',' ? 1 : 0);
        count++;
    }
    put_be32(b.ptr + 2, (uint32_t)count);
    put_be32(word, UINT32_MAX);
    buf_put(&b, word, 4); /* no user data */
    put_be32(word, 0);
    buf_put(&b, word, 4); /* no owned partitions */
    struct bytes copy = arena_bytes(arena, (struct bytes){b.ptr, (int32_t)b.len});
    buf_fini(&b);
    return copy;
}

static struct bytes assignment(struct arena *arena, const char *text)
{
    struct buf b;
    uint8_t word[4];
    int32_t topics = 0;
    int count = read_short(text, arena, parts);
    buf_init(&b, 0);
    put_be16(word, 1);
    buf_put(&b, word, 2);
    buf_put(&b, word, 4);
    for (int i = 0; i < count; topics++) {
        int n = run_length(&parts[i], count - i);
        put_be16(word, (uint16_t)strlen(parts[i].topic));
        buf_put(&b, word, 2);
        buf_put(&b, parts[i].topic, strlen(parts[i].topic));
        put_be32(word, (uint32_t)n);
        buf_put(&b, word, 4);
        for (int k = 0; k < n; k++, i++) {
            put_be32(word, (uint32_t)parts[i].partition);
            buf_put(&b, word, 4);
        }
    }
    put_be32(b.ptr + 2, (uint32_t)topics);
    put_be32(word, UINT32_MAX);
    buf_put(&b, word, 4);
    struct bytes copy = arena_bytes(arena, (struct bytes){b.ptr, (int32_t)b.len});
    buf_fini(&b);
    return copy;
}

void join(struct fixture *f, const char *group, const char *protocol_type, const char *topics, const char *member, int32_t rebalance_ms)
{
    struct world_request *r = world_request_new("join");
    struct join_group_request *q = ARENA_NEW(&r->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, q);
    q->group_id = arena_str(&r->arena, str_of(group));
    q->session_timeout_ms = 600000;
    q->rebalance_timeout_ms = rebalance_ms;
    q->member_id = arena_str(&r->arena, str_of(member));
    q->protocol_type = str_of(protocol_type);
    q->protocols.v = ARENA_NEW(&r->arena, __typeof__(*q->protocols.v), 1);
    q->protocols.len = 1;
    q->protocols.v[0].name = STR("range");
    q->protocols.v[0].metadata = subscription(&r->arena, topics);
    world_submit(&f->world, request_new(GROUP_JOIN, 11, 3, group, q, r));
}

int16_t sync(struct fixture *f, const char *group, const char *partitions)
{
    struct world_request *r = world_request_new("sync");
    struct sync_group_request *q = ARENA_NEW(&r->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, q);
    q->group_id = arena_str(&r->arena, str_of(group));
    q->generation_id = f->generation;
    q->member_id = arena_str(&r->arena, str_of(f->member_id));
    q->assignments.v = ARENA_NEW(&r->arena, __typeof__(*q->assignments.v), 1);
    q->assignments.len = 1;
    q->assignments.v[0].member_id = q->member_id;
    q->assignments.v[0].assignment = assignment(&r->arena, partitions);
    world_submit(&f->world, request_new(GROUP_SYNC, 14, 3, group, q, r));
    return f->error;
}

int16_t leave(struct fixture *f, const char *group, const char *member)
{
    struct world_request *r = world_request_new("leave");
    struct leave_group_request *q = ARENA_NEW(&r->arena, struct leave_group_request, 1);
    wire_init(&wire_leave_group_request, q);
    q->group_id = arena_str(&r->arena, str_of(group));
    q->member_id = arena_str(&r->arena, str_of(member));
    world_submit(&f->world, request_new(GROUP_LEAVE, 13, 1, group, q, r));
    return f->error;
}

int16_t heartbeat(struct fixture *f, const char *group, int32_t generation, const char *member)
{
    struct world_request *r = world_request_new("heartbeat");
    struct heartbeat_request *q = ARENA_NEW(&r->arena, struct heartbeat_request, 1);
    wire_init(&wire_heartbeat_request, q);
    q->group_id = arena_str(&r->arena, str_of(group));
    q->generation_id = generation;
    q->member_id = arena_str(&r->arena, str_of(member));
    world_submit(&f->world, request_new(GROUP_HEARTBEAT, 12, 3, group, q, r));
    return f->error;
}

void stable(struct fixture *f, const char *group, const char *topics, const char *partitions)
{
    join(f, group, "consumer", topics, "", 200000);
    assert_int_equal(f->error, 0);
    assert_int_equal(sync(f, group, partitions), 0);
}

/* ---- the rest --------------------------------------------------------------------------------------------------------------------------------- */

void run(struct fixture *f, enum group_op_kind kind, const char *group)
{
    struct group_op op = {.kind = kind, .api_key = -1, .group_id = str_of(group)};
    world_run(&f->world, &op);
}

bool group_exists(struct fixture *f, const char *group)
{
    struct group_listing listing;
    return group_listing(f->world.set, str_of(group), &listing);
}

void import_offset(struct fixture *f, const char *group, const char *topic, int32_t partition, int64_t offset, struct uuid id)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct offset_commit_key key = {.group = str_of(group), .topic = str_of(topic), .partition = partition};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = offset;
    value.metadata = STR("");
    value.topic_id = id;
    value.commit_clock_ms = f->world.now_ms;
    struct record record = wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &arena);
    world_apply(&f->world, &record, 1);
    arena_fini(&arena);
}
