#include "made.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_COMMAND = 1, ENTRY_BARRIER = 2, ENTRY_CONFIGURATION = 3 };
static const int64_t wall_ms = 1790000000000;

/* ---- entries ---- */

struct entry_maker {
    struct arena *arena;
    struct log_entry entry;
};

static void maker_init(struct entry_maker *e, struct arena *arena, const char *rule, int16_t api, const char *reason, const char *group,
                       int64_t revision)
{
    e->arena = arena;
    wire_init(&wire_log_entry, &e->entry);
    e->entry.wall_ms = wall_ms;
    e->entry.shard_clock_ms = 5000;
    e->entry.causes.v = ARENA_NEW(arena, struct log_entry_cause, 1);
    e->entry.causes.len = 1;
    e->entry.causes.v[0] = (struct log_entry_cause){.client_id = STR("app"),
                                                    .host = STR("/127.0.0.1"),
                                                    .api_key = api,
                                                    .api_version = 4,
                                                    .group_id = str_of(group),
                                                    .reason = str_of(reason),
                                                    .rule = str_of(rule)};
    e->entry.records.v = ARENA_NEW(arena, struct log_entry_entry_record, 8);
    if (group != NULL) {
        e->entry.groups.v = ARENA_NEW(arena, struct log_entry_group_revision, 1);
        e->entry.groups.len = 1;
        e->entry.groups.v[0] = (struct log_entry_group_revision){.group_id = str_of(group), .revision = revision};
    }
}

static void maker_add(struct entry_maker *e, int16_t type, const void *key, int16_t version, const void *value)
{
    struct record record = wire_record_encode(type, key, version, value, e->arena);
    e->entry.records.v[e->entry.records.len++] = (struct log_entry_entry_record){0, record.key, record.value};
}

static void add_group(struct entry_maker *e, struct str group, int32_t generation, int8_t state, bool tombstone)
{
    struct classic_group_key key = {.group_id = group};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = STR("consumer");
    value.generation = generation;
    value.state = state;
    value.state_wall_ms = wall_ms;
    if (state == 3) {
        value.protocol_name = STR("range");
        value.leader = STR("m1");
    }
    maker_add(e, RECORD_CLASSIC_GROUP, &key, 0, tombstone ? NULL : &value);
}

static void add_member(struct entry_maker *e)
{
    /* version 1, topics [orders], user data null, nothing owned */
    static const uint8_t subscription[] = {0, 1, 0, 0, 0, 1, 0, 6, 'o', 'r', 'd', 'e', 'r', 's', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    struct classic_member_key key = {.group_id = STR("g"), .member_id = STR("m1")};
    struct classic_member_value value;
    struct classic_member_value_classic_protocol protocol = {STR("range"), {subscription, sizeof(subscription)}};
    wire_init(&wire_classic_member_value, &value);
    value.client_id = STR("app");
    value.client_host = STR("/127.0.0.1");
    value.session_timeout_ms = 45000;
    value.rebalance_timeout_ms = 60000;
    value.join_generation = 1;
    value.id_delivered = true;
    value.protocols.v = &protocol;
    value.protocols.len = 1;
    maker_add(e, RECORD_CLASSIC_MEMBER, &key, 0, &value);
}

static void add_assignment(struct entry_maker *e)
{
    static const uint8_t assignment[] = {0, 1, 0, 0, 0, 1, 0, 6, 'o', 'r', 'd', 'e',  'r',  's',  0,
                                         0, 0, 2, 0, 0, 0, 0, 0, 0,   0,   1,   0xff, 0xff, 0xff, 0xff};
    struct classic_assignment_key key = {.group_id = STR("g"), .member_id = STR("m1")};
    struct classic_assignment_value value = {.generation = 1, .assignment = {assignment, sizeof(assignment)}};
    maker_add(e, RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value);
}

static void add_commit(struct entry_maker *e, int64_t offset, bool tombstone)
{
    struct offset_commit_key key = {.group = STR("g"), .topic = STR("orders"), .partition = 1};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = offset;
    value.metadata = STR("here");
    value.commit_timestamp = wall_ms;
    maker_add(e, RECORD_OFFSET_COMMIT, &key, 4, tombstone ? NULL : &value);
}

static void make_topic(struct entry_maker *e, struct arena *arena)
{
    struct topic_key key = {.name = STR("orders")};
    struct topic_value value;
    maker_init(e, arena, "topic: created", API_KEY_CREATE_TOPICS, NULL, NULL, 0);
    wire_init(&wire_topic_value, &value);
    value.topic_id = (struct uuid){{1, 2, 3}};
    value.partitions = 3;
    value.replication_factor = 3;
    maker_add(e, RECORD_TOPIC, &key, 0, &value);
}

static void make_command(struct entry_maker *e, struct arena *arena, uint64_t index, uint64_t term)
{
    switch (index) {
    case 3:
        maker_init(e, arena, "join: new member", API_KEY_JOIN_GROUP, "first start", "g", 0);
        add_group(e, STR("g"), 1, 3, false);
        add_member(e);
        break;
    case 4:
        maker_init(e, arena, "sync: assigned", API_KEY_SYNC_GROUP, NULL, "g", 1);
        add_assignment(e);
        add_commit(e, 17, false);
        break;
    case 5:
        maker_init(e, arena, "commit: of a member", API_KEY_OFFSET_COMMIT, NULL, "g", 2);
        add_commit(e, term == 1 ? 99 : 42, false);
        break;
    case 6:
        maker_init(e, arena, "join: new group", API_KEY_JOIN_GROUP, NULL, "h", 0);
        add_group(e, STR("h"), 0, 0, false);
        break;
    case 7:
        maker_init(e, arena, "delete: empty group", API_KEY_DELETE_GROUPS, NULL, "h", 1);
        add_group(e, STR("h"), 0, 0, true);
        break;
    default:
        MUSTER_CHECK(index == MADE_LAST);
        maker_init(e, arena, "offsets: deleted", API_KEY_OFFSET_DELETE, NULL, "g", 3);
        add_commit(e, 0, true);
        break;
    }
}

struct store_record made_entry(struct arena *arena, uint32_t shard, uint64_t index, uint64_t term)
{
    static const uint8_t zeros[8];
    struct store_record r = {.kind = STORE_ENTRY, .entry_type = ENTRY_COMMAND, .shard = shard, .index = index, .term = term};
    struct entry_maker e;
    if (index <= 2) {
        r.entry_type = index == 1 ? ENTRY_CONFIGURATION : ENTRY_BARRIER;
        r.payload = (struct bytes){zeros, sizeof(zeros)};
        return r;
    }
    if (shard == 0) {
        make_topic(&e, arena);
    } else {
        make_command(&e, arena, index, term);
    }
    r.payload = wire_encode(&wire_log_entry, 0, &e.entry, arena);
    return r;
}

/* ---- the folder ---- */

static void ignore_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx, (void)shard, (void)state;
}

static void ignore_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx, (void)shard, (void)index, (void)term, (void)entry_type, (void)payload;
}

void made_init(struct made *m)
{
    struct store_options options = {.shard_count = 2, .segment_bytes = 16384, .reserve_bytes = 4096, .entry_max_bytes = 100000};
    struct store_recovery recovery = {NULL, ignore_shard, ignore_entry};
    struct store_report report;
    *m = (struct made){.disk = mem_disk_new()};
    arena_init(&m->arena, 0);
    mem_disk_port(m->disk, &m->port);
    MUSTER_CHECK(store_open(&m->store, &m->port, &options, &recovery, &report) == 0);
}

void made_write(struct made *m, struct store_record record)
{
    MUSTER_CHECK(store_write(m->store, &record, 1) == 0);
}

void made_story(struct made *m)
{
    for (uint32_t shard = 0; shard < 2; shard++) {
        made_write(m, (struct store_record){.kind = STORE_TERM, .shard = shard, .term = 1, .vote = 1});
    }
    for (uint64_t index = 1; index <= 3; index++) {
        made_write(m, made_entry(&m->arena, 0, index, 1));
    }
    for (uint64_t index = 1; index <= 5; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 1));
    }
    made_write(m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 2, .vote = 2});
    for (uint64_t index = 5; index <= MADE_LAST; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 2));
    }
}

static struct group_set *state_after(struct made *m, struct pool *pool, uint64_t index)
{
    struct group_set *set = group_set_new(pool, 1);
    for (uint64_t i = 3; i <= index; i++) {
        struct store_record r = made_entry(&m->arena, 1, i, i < 5 ? 1 : 2);
        const char *why = NULL;
        bool applied = group_apply_entry(set, i, r.payload, &m->arena, NULL, NULL, &why);
        MUSTER_CHECK(applied);
    }
    return set;
}

static void make_snapshot(struct made *m, uint64_t index, uint64_t as_of, uint64_t hash, uint64_t trim)
{
    struct pool pool = {0};
    struct group_set *set = state_after(m, &pool, as_of);
    struct store_snapshot_meta meta = {
        .shard = 1, .index = index, .term = index < 5 ? 1 : 2, .config_index = 1, .config = {(const uint8_t *)"c", 1}};
    struct store_snapshot_writer *w = NULL;
    struct buf run;
    buf_init(&run, 0);
    meta.state_hash = hash != 0 ? hash : group_set_hash(set);
    MUSTER_CHECK(store_snapshot_create(&m->port, &meta, &w) == 0);
    group_snapshot_begin(set);
    while (group_snapshot_next(set, 1 << 16, &run)) {
    }
    group_snapshot_end(set);
    MUSTER_CHECK(store_snapshot_add(w, (struct bytes){run.ptr, (int32_t)run.len}) == 0);
    MUSTER_CHECK(store_snapshot_commit(w) == 0);
    buf_fini(&run);
    group_set_free(set);
    made_write(m, (struct store_record){.kind = STORE_SNAPSHOT, .shard = 1, .index = index, .term = meta.term, .trim = trim});
}

void made_snapshot(struct made *m, uint64_t index, uint64_t hash, uint64_t trim)
{
    make_snapshot(m, index, index, hash, trim);
}

void made_snapshot_as(struct made *m, uint64_t index, uint64_t as_of)
{
    make_snapshot(m, index, as_of, 0, 0);
}

void made_close(struct made *m)
{
    store_close(m->store);
    m->store = NULL;
    mem_disk_end_process(m->disk, &m->port);
}

void made_fini(struct made *m)
{
    if (m->store != NULL) {
        made_close(m);
    }
    mem_disk_free(m->disk);
    arena_fini(&m->arena);
}

void made_export(const struct made *m, const char *dir)
{
    for (size_t i = 0; i < mem_disk_file_count(m->disk); i++) {
        char path[512];
        const char *name = mem_disk_file_name(m->disk, i);
        struct bytes data = mem_disk_file(m->disk, name);
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0444);
        MUSTER_CHECK(fd >= 0 && write(fd, data.ptr, (size_t)data.len) == data.len);
        close(fd);
    }
}

/* ---- other stories ---- */

void made_change_init(struct made_change *e, int16_t api_key, const char *rule, const char *group, int64_t revision)
{
    wire_init(&wire_log_entry, &e->v);
    e->cause = (struct log_entry_cause){.client_id = STR("app-1"),
                                        .host = STR("/127.0.0.1"),
                                        .api_key = api_key,
                                        .group_id = str_of(group),
                                        .reason = STR_NULL,
                                        .rule = str_of(rule)};
    e->group = (struct log_entry_group_revision){.group_id = str_of(group), .revision = revision};
    e->v.wall_ms = wall_ms;
    e->v.causes.v = &e->cause;
    e->v.causes.len = 1;
    e->v.groups.v = &e->group;
    e->v.groups.len = 1;
    e->v.records.v = e->records;
}

void made_change_add(struct made_change *e, struct record record)
{
    MUSTER_CHECK(e->v.records.len < (int32_t)COUNT_OF(e->records));
    e->records[e->v.records.len++] = (struct log_entry_entry_record){0, record.key, record.value};
}

void made_change_write(struct made *m, const struct made_change *e, uint64_t index)
{
    made_write(m, (struct store_record){.kind = STORE_ENTRY,
                                        .entry_type = ENTRY_COMMAND,
                                        .shard = 1,
                                        .index = index,
                                        .term = 1,
                                        .payload = wire_encode(&wire_log_entry, 0, &e->v, &m->arena)});
}

void made_folder(const struct made *m, char dir[32])
{
    memcpy(dir, "/tmp/muster-cli-XXXXXX", sizeof("/tmp/muster-cli-XXXXXX"));
    MUSTER_CHECK(mkdtemp(dir) != NULL);
    made_export(m, dir);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void made_folder_remove(const char *dir)
{
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
