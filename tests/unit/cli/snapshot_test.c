/* snapshot_test.c: backups verified and restored, folders recovered; what is wrong with them is told, and then nothing is left or changed. */
#include "run.h"

#include "made.h"
#include "new_folder.h"

#include <sys/stat.h>
#include <unistd.h>

enum { SHARDS = 2, OFFSETS = 20, CATALOG = 40, LAST = 50, TERM = 3 };
static const struct store_backup_info info = {
    .cluster_id = {{7, 7, 7}}, .taken_ms = 1796000000000, .shard_count = SHARDS, .hash_version = 1, .draw = 99, .version = "0.1.0"};
#define PEERS "1@n1:9093,2@n2:9093,3@n3:9093"

struct fixture {
    char dir[32], file[64], data[64];
    struct pool pool;
    struct group_set *sets[SHARDS];
    struct arena scratch;
    struct store_port port;
};

/* ---- states ---- */

static void apply(struct fixture *f, uint32_t shard, int16_t type, const void *key, const void *value)
{
    struct arena arena;
    const struct wire_record *schema = wire_record_find(type);
    arena_init(&arena, 0);
    assert_true(group_apply(f->sets[shard], LAST, wire_record_encode(type, key, schema->value->max_version, value, &arena), &f->scratch));
    arena_fini(&arena);
}

static void add_offsets(struct fixture *f, uint32_t shard, int count)
{
    for (int i = 0; count > 0; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "group-%d", i);
        if (hash_bytes(name, strlen(name), 0) % SHARDS != shard) {
            continue;
        }
        struct offset_commit_key key = {.group = str_of(name), .topic = STR("orders"), .partition = 1};
        struct offset_commit_value value;
        wire_init(&wire_offset_commit_value, &value);
        value.offset = i;
        value.metadata = STR("here");
        apply(f, shard, RECORD_OFFSET_COMMIT, &key, &value);
        count--;
    }
}

static void add_catalog(struct fixture *f)
{
    struct topic_key topic = {.name = STR("orders")};
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id = (struct uuid){{1, 2, 3}};
    value.partitions = 3;
    apply(f, 0, RECORD_TOPIC, &topic, &value);
    for (int32_t i = 1; i <= 3; i++) {
        struct node_key key = {.node_id = i};
        struct node_value node;
        wire_init(&wire_node_value, &node);
        node.incarnation = (struct uuid){{(uint8_t)i}};
        node.host = STR("old-host");
        node.peer_address = STR("old-host:9093");
        node.rack = STR_NULL;
        apply(f, 0, RECORD_NODE, &key, &node);
    }
}

/* A node of the old cluster took office of both shards. */
static void add_offices(struct fixture *f)
{
    for (int32_t shard = 0; shard < SHARDS; shard++) {
        struct coordinator_move_key key = {.shard = shard, .number = 1};
        struct coordinator_move_value value;
        wire_init(&wire_coordinator_move_value, &value);
        value.node_id = 3;
        value.term = TERM;
        apply(f, (uint32_t)shard, RECORD_COORDINATOR_MOVE, &key, &value);
    }
}

static void set_cursor(struct fixture *f, int64_t index)
{
    struct catalog_cursor_key key = {.shard = 1};
    struct catalog_cursor_value value = {.catalog_index = index};
    apply(f, 1, RECORD_CATALOG_CURSOR, &key, &value);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    (void)snprintf(f->dir, sizeof(f->dir), "/tmp/muster-snapshot-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->file, sizeof(f->file), "%s/day.backup", f->dir);
    (void)snprintf(f->data, sizeof(f->data), "%s/data", f->dir);
    arena_init(&f->scratch, 0);
    assert_int_equal(store_port_posix_init(&f->port, f->dir, false), 0);
    for (uint32_t i = 0; i < SHARDS; i++) {
        f->sets[i] = group_set_new(&f->pool, i);
    }
    add_catalog(f);
    add_offsets(f, 0, OFFSETS / 2);
    add_offsets(f, 1, OFFSETS);
    set_cursor(f, CATALOG);
    add_offices(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (uint32_t i = 0; i < SHARDS; i++) {
        group_set_free(f->sets[i]);
    }
    store_port_posix_fini(&f->port);
    arena_fini(&f->scratch);
    made_folder_remove(f->dir);
    free(f);
    return 0;
}

/* ---- files ---- */

/* hash 0: the right one. */
static void write_section(struct fixture *f, struct store_backup_writer *w, uint32_t shard, uint64_t index, uint64_t hash)
{
    struct store_backup_section section = {.shard = shard,
                                           .index = index,
                                           .term = TERM,
                                           .state_hash = hash != 0 ? hash : group_set_hash(f->sets[shard])};
    struct buf run;
    bool more = true;
    section.catalog_index = (uint64_t)group_set_cursor(f->sets[shard]);
    assert_int_equal(store_backup_begin(w, &section), 0);
    buf_init(&run, 0);
    group_snapshot_begin(f->sets[shard]);
    while (more) {
        buf_clear(&run);
        more = group_snapshot_next(f->sets[shard], 300, &run);
        assert_int_equal(store_backup_add(w, (struct bytes){run.ptr, (int32_t)run.len}), 0);
    }
    group_snapshot_end(f->sets[shard]);
    buf_fini(&run);
    assert_int_equal(store_backup_end(w), 0);
}

static void write_file(struct fixture *f, uint64_t catalog, uint64_t hash)
{
    struct store_backup_writer *w;
    assert_int_equal(store_backup_create(&f->port, "day.backup", 1, &info, &w), 0);
    write_section(f, w, 1, LAST + 7, hash);
    write_section(f, w, 0, catalog, 0);
    assert_int_equal(store_backup_commit(w), 0);
}

static void flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    (void)fputc(byte ^ 1, file);
    (void)fclose(file);
}

static void expect(struct run r, int code, const char *out, const char *err)
{
    if (r.code != code || (out != NULL && strstr(r.out, out) == NULL) || (err != NULL && strstr(r.err, err) == NULL)) {
        fail_msg("exit code %d, not %d, or something is missing in\n%s\n%s", r.code, code, r.out, r.err);
    }
    run_fini(&r);
}

/* ---- verify ---- */

static void test_verify(void **state)
{
    struct fixture *f = *state;
    write_file(f, LAST, 0);
    expect(run_cli("snapshot", "verify", f->file, NULL), 0, "Whole: cluster BwcHAAAAAAAAAAAAAAAAAA, saved 2026-11-", NULL);
    assert_columns_told(run_cli("snapshot", "verify", f->file, NULL), "snapshot", "verify");
    struct run r = run_cli("snapshot", "verify", f->file, "--json", NULL);
    assert_int_equal(r.code, 0);
    json_t *document = json_loads(r.out, 0, NULL);
    const json_t *shards = json_object_get(document, "shards");
    assert_int_equal(json_array_size(shards), SHARDS);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(shards, 0), "shard")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(shards, 0), "offsets")), OFFSETS);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(shards, 1), "topics")), 1);
    json_decref(document);
    run_fini(&r);
}

static void test_verify_finds_what_does_not_fit(void **state)
{
    struct fixture *f = *state;
    expect(run_cli("snapshot", "verify", f->file, NULL), 1, NULL, "there is no such file");
    expect(run_cli("snapshot", "verify", "/nowhere/day.backup", NULL), 1, NULL, "there is no such file");
    write_file(f, LAST, 12345);
    expect(run_cli("snapshot", "verify", f->file, NULL), 5, NULL, "shard 1: the state does not have the hash");
    write_file(f, CATALOG - 1, 0);
    expect(run_cli("snapshot", "verify", f->file, NULL), 5, NULL, "the catalogue is older than what another shard has acted on");
    write_file(f, CATALOG, 0);
    expect(run_cli("snapshot", "verify", f->file, NULL), 0, NULL, NULL);
    flip(f->file, -100);
    expect(run_cli("snapshot", "verify", f->file, NULL), 5, NULL, "is damaged: at byte ");
    struct offset_commit_key key = {.group = STR("lost"), .topic = STR("orders"), .partition = 1};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.metadata = STR("");
    apply(f, hash_bytes("lost", 4, 0) % SHARDS == 0 ? 1 : 0, RECORD_OFFSET_COMMIT, &key, &value);
    write_file(f, LAST, 0);
    expect(run_cli("snapshot", "verify", f->file, NULL), 5, NULL, "a group that belongs to another shard");
}

/* ---- restore ---- */

static struct store_identity identity_of(const char *dir)
{
    struct store_port port;
    struct store_identity identity;
    assert_int_equal(store_port_posix_init(&port, dir, true), 0);
    assert_int_equal(store_identity_read(&port, &identity), 0);
    store_port_posix_fini(&port);
    return identity;
}

static struct store_identity restore(struct fixture *f, const char *node, const char *peers, const char *token)
{
    char dir[80];
    static int count;
    (void)snprintf(dir, sizeof(dir), "%s/node-%d", f->dir, count++);
    expect(run_cli("snapshot", "restore", f->file, "--node-id", node, "--peers", peers, "--data", dir, "--token", token, NULL), 0,
           "Restored into ", NULL);
    expect(run_cli("log", "verify", "--data", dir, NULL), 0, "the state agreed with 2 of them", NULL);
    expect(run_cli("log", "state", "--data", dir, "--type", "Topic", NULL), 0, "orders", NULL);
    expect(run_cli("log", "state", "--data", dir, "--type", "Node", NULL), 1, NULL, "there is nothing");
    expect(run_cli("log", "state", "--data", dir, "--type", "CoordinatorMove", NULL), 1, NULL, "there is nothing");
    return identity_of(dir);
}

/* All nodes of one file with the same words are one cluster; with others they are others. */
static void test_restore(void **state)
{
    struct fixture *f = *state;
    write_file(f, LAST, 0);
    struct store_identity one = restore(f, "1", PEERS, "a"), two = restore(f, "2", "3@n3:9093,2@n2:9093,1@n1:9093", "a");
    assert_true(one.node_id == 1 && two.node_id == 2 && one.shard_count == SHARDS && one.hash_version == 1);
    assert_true(uuid_eq(one.cluster_id, two.cluster_id) && !uuid_eq(one.cluster_id, info.cluster_id));
    assert_true(one.peer_count == 3 && two.peer_count == 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(one.peers[i].node_id == i + 1 && uuid_eq(one.peers[i].incarnation, two.peers[i].incarnation));
        assert_string_equal(one.peers[i].address, two.peers[i].address);
        assert_false(uuid_eq(one.peers[i].incarnation, one.peers[(i + 1) % 3].incarnation));
    }
    assert_true(uuid_eq(one.incarnation, one.peers[0].incarnation) && uuid_eq(two.incarnation, one.peers[1].incarnation));
    assert_false(uuid_eq(restore(f, "1", PEERS, "b").cluster_id, one.cluster_id));
    assert_false(uuid_eq(restore(f, "1", "1@n1:9093", "a").cluster_id, one.cluster_id));
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "2", "--peers", PEERS, "--data", f->data, "--cluster-id",
                   "AQEAAAAAAAAAAAAAAAAAAA", "--json", NULL),
           0, "\"clusterId\": \"AQEAAAAAAAAAAAAAAAAAAA\"", NULL);
}

static void test_restore_refuses(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *words[8], *why;
        int code;
    } cases[] = {
        {{"--peers", PEERS, NULL}, "--node-id N is missing", 2},
        {{"--node-id", "1", NULL}, "--peers ID@HOST:PORT,... is missing", 2},
        {{"--node-id", "4", "--peers", PEERS, NULL}, "--peers does not name node 4", 2},
        {{"--node-id", "0", "--peers", PEERS, NULL}, "--node-id takes a whole number", 2},
        {{"--node-id", "1", "--peers", PEERS, "--cluster-id", "short", NULL}, "--cluster-id takes 22 characters", 2},
        {{"--node-id", "1", "--peers", PEERS, "--cluster-id", "BwcHAAAAAAAAAAAAAAAAAA", NULL}, "the id of the cluster that was saved", 2},
    };
    write_file(f, LAST, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *const *w = cases[i].words;
        expect(run_cli("snapshot", "restore", f->file, "--data", f->data, w[0], w[1], w[2], w[3], w[4], w[5], NULL), cases[i].code, NULL,
               cases[i].why);
        assert_int_not_equal(access(f->data, F_OK), 0);
    }
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "1", "--peers", PEERS, NULL), 2, NULL, "--data DIR is missing");
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "1", "--peers", PEERS, "--data", f->data, "--token", "a", "--cluster-id",
                   "b", NULL),
           2, NULL, "exclude each other");
    /* The folder of the file is not empty. */
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "1", "--peers", PEERS, "--data", f->dir, NULL), 1, NULL, "is not empty");
}

static int files_in(const char *dir)
{
    char command[128];
    int count = -1;
    (void)snprintf(command, sizeof(command), "find %s -mindepth 1 | wc -l", dir);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    (void)pclose(pipe);
    return count;
}

/* Damage that shows only at the end leaves no folder that a node would start on; the next attempt works, after an interrupted one, too. */
static void test_restore_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    char path[96];
    write_file(f, CATALOG - 1, 0);
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "1", "--peers", PEERS, "--data", f->data, NULL), 5, NULL,
           "the catalogue is older");
    assert_int_equal(files_in(f->data), 0);
    (void)snprintf(path, sizeof(path), "%s/making.tmp", f->data);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/making.tmp/snap-0-1.snap", f->data);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fclose(file);
    write_file(f, LAST, 0);
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "1", "--peers", PEERS, "--data", f->data, NULL), 0, NULL, NULL);
    expect(run_cli("log", "verify", "--data", f->data, NULL), 0, "the state agreed with 2 of them", NULL);
    assert_int_equal(files_in(f->data), 2 + SHARDS); /* identity, segment, snapshots */
}

/* ---- recover ---- */

static void make_folder(struct fixture *f)
{
    write_file(f, LAST, 0);
    expect(run_cli("snapshot", "restore", f->file, "--node-id", "2", "--peers", PEERS, "--data", f->data, NULL), 0, NULL, NULL);
}

static void test_recover(void **state)
{
    struct fixture *f = *state;
    make_folder(f);
    struct store_identity before = identity_of(f->data);
    int files = files_in(f->dir);
    expect(run_cli("cluster", "recover", "--data", f->data, NULL), 2, "SHARD", "nothing was done: --force-new-cluster");
    assert_int_equal(files_in(f->dir), files);
    struct run r = run_cli("cluster", "recover", "--data", f->data, "--force-new-cluster", "--json", NULL);
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.err, "WARNING"));
    json_t *document = json_loads(r.out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(document, "peers")), "2@n2:9093");
    struct store_identity old = identity_of(json_string_value(json_object_get(document, "oldData"))), now = identity_of(f->data);
    json_decref(document);
    run_fini(&r);
    assert_true(uuid_eq(old.cluster_id, before.cluster_id) && uuid_eq(old.incarnation, before.incarnation));
    assert_false(uuid_eq(now.cluster_id, before.cluster_id) || uuid_eq(now.incarnation, before.incarnation));
    assert_true(now.node_id == 2 && now.peer_count == 1 && now.peers[0].node_id == 2 && uuid_eq(now.peers[0].incarnation, now.incarnation));
    expect(run_cli("log", "verify", "--data", f->data, NULL), 0, "the state agreed with 2 of them", NULL);
    expect(run_cli("log", "dump", "--data", f->data, "--all", NULL), 0, NULL, NULL);
}

/* A node that was still joining: what it has nothing of is said, and begins empty; the new cluster has it as its founder. */
static void test_recover_of_half_a_node(void **state)
{
    struct fixture *f = *state;
    struct new_folder folder;
    struct cli cli;
    struct run r;
    struct store_identity identity = {
        .cluster_id = {{1}}, .node_id = 1, .incarnation = {{2}}, .shard_count = SHARDS, .hash_version = 1, .joined = true, .peer_count = 1};
    identity.peers[0] = (struct store_peer){.node_id = 1, .incarnation = {{2}}, .address = "n1:9093"};
    cli_begin(&cli, &r, false);
    assert_int_equal(new_folder_begin(&cli, f->data, &identity, &folder), 0);
    assert_int_equal(new_folder_shard(&folder, 0, LAST, 1, f->sets[0]), 0);
    assert_int_equal(new_folder_commit(&folder), 0);
    cli_end(&cli, &r, 0);
    run_fini(&r);
    assert_true(identity_of(f->data).joined);
    expect(run_cli("cluster", "recover", "--data", f->data, "--force-new-cluster", NULL), 0, NULL,
           "shard 1: the folder holds nothing of it");
    assert_false(identity_of(f->data).joined);
    expect(run_cli("log", "verify", "--data", f->data, NULL), 0, "the state agreed with 1 of them", NULL);
}

/* A node whose copy of shard 0 lags behind what another shard has acted on: its numbers go on from there, else that shard would wait for ever. */
static void test_recover_with_an_old_catalogue(void **state)
{
    struct fixture *f = *state;
    struct new_folder folder;
    struct cli cli;
    struct run r;
    struct store_identity identity = {
        .cluster_id = {{1}}, .node_id = 1, .incarnation = {{2}}, .shard_count = SHARDS, .hash_version = 1, .peer_count = 1};
    identity.peers[0] = (struct store_peer){.node_id = 1, .incarnation = {{2}}, .address = "n1:9093"};
    cli_begin(&cli, &r, false);
    assert_int_equal(new_folder_begin(&cli, f->data, &identity, &folder), 0);
    assert_int_equal(new_folder_shard(&folder, 0, CATALOG - 10, 1, f->sets[0]), 0);
    assert_int_equal(new_folder_shard(&folder, 1, LAST, 1, f->sets[1]), 0);
    assert_int_equal(new_folder_commit(&folder), 0);
    cli_end(&cli, &r, 0);
    run_fini(&r);
    expect(run_cli("cluster", "recover", "--data", f->data, "--force-new-cluster", NULL), 0, NULL, NULL);
    r = run_cli("log", "verify", "--data", f->data, "--json", NULL);
    json_t *document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(document, "shards"), 0), "appliedIndex")), CATALOG);
    json_decref(document);
    run_fini(&r);
}

static void test_recover_refuses(void **state)
{
    struct fixture *f = *state;
    char path[96];
    expect(run_cli("cluster", "recover", NULL), 2, NULL, "--data DIR is missing");
    expect(run_cli("cluster", "recover", "--data", f->data, NULL), 1, NULL, "there is no such folder");
    expect(run_cli("cluster", "recover", "--data", f->dir, "--force-new-cluster", NULL), 1, NULL, "not the data folder of a node");
    make_folder(f);
    int files = files_in(f->dir);
    struct store_port node;
    assert_int_equal(store_port_posix_init(&node, f->data, false), 0);
    assert_int_equal(node.lock(node.ctx), 0);
    expect(run_cli("cluster", "recover", "--data", f->data, "--force-new-cluster", NULL), 1, NULL, "stop the node first");
    store_port_posix_fini(&node);
    (void)snprintf(path, sizeof(path), "%s/snap-0-%d.snap", f->data, LAST);
    flip(path, -60);
    expect(run_cli("cluster", "recover", "--data", f->data, "--force-new-cluster", NULL), 5, NULL, "damaged");
    flip(path, -60);
    assert_int_equal(files_in(f->dir), files);
    (void)snprintf(path, sizeof(path), "%s/identity", f->data);
    flip(path, 30);
    expect(run_cli("cluster", "recover", "--data", f->data, "--force-new-cluster", NULL), 5, NULL, "its identity is damaged");
    assert_int_equal(files_in(f->dir), files);
}

/* ---- save: what goes wrong before a node is asked ---- */

static void test_save_refuses(void **state)
{
    struct fixture *f = *state;
    char path[96];
    (void)snprintf(path, sizeof(path), "%s/nothing/day.backup", f->dir);
    expect(run_cli("snapshot", "save", path, "--bootstrap", "127.0.0.1:1", NULL), 1, NULL, "there is no such folder");
    expect(run_cli("snapshot", "save", "folder/", "--bootstrap", "127.0.0.1:1", NULL), 2, NULL, "is no name of a file");
    expect(run_cli("snapshot", "save", f->file, "--bootstrap", "127.0.0.1:1", "--timeout", "200", NULL), 3, NULL, "cannot be reached");
    expect(run_cli("snapshot", "save", NULL), 2, NULL, "something is missing");
    assert_int_equal(files_in(f->dir), 0);
    FILE *old = fopen(f->file, "we");
    assert_non_null(old);
    fclose(old);
    expect(run_cli("snapshot", "save", f->file, "--bootstrap", "127.0.0.1:1", "--timeout", "200", NULL), 1, NULL, "is there already");
    expect(run_cli("snapshot", "save", f->file, "--force", "--bootstrap", "127.0.0.1:1", "--timeout", "200", NULL), 3, NULL,
           "cannot be reached");
    assert_int_equal(remove(f->file), 0);
    assert_int_equal(symlink("elsewhere", f->file), 0);
    expect(run_cli("snapshot", "save", f->file, "--force", "--bootstrap", "127.0.0.1:1", "--timeout", "200", NULL), 1, NULL,
           "cannot be written: it is a link, a folder or a device, not a file");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_verify),
        TEST(test_verify_finds_what_does_not_fit),
        TEST(test_restore),
        TEST(test_restore_refuses),
        TEST(test_restore_leaves_nothing),
        TEST(test_recover),
        TEST(test_recover_with_an_old_catalogue),
        TEST(test_recover_of_half_a_node),
        TEST(test_recover_refuses),
        TEST(test_save_refuses),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
