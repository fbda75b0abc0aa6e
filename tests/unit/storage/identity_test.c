/* identity_test.c: the identity file. */
#include "fixture.h"

static struct store_identity sample(void)
{
    struct store_identity id = {
        .cluster_id = {{1, 2, 3}}, .node_id = 2, .incarnation = {{9, 8, 7}}, .shard_count = 8, .hash_version = 1, .peer_count = 3};
    for (uint32_t i = 0; i < 3; i++) {
        id.peers[i].node_id = i + 1;
        id.peers[i].incarnation.b[0] = (uint8_t)(i + 1);
        (void)snprintf(id.peers[i].address, sizeof(id.peers[i].address), "node-%u.example:%u", i + 1, 9093 + 100 * i);
    }
    memset(id.peers[2].address, 'h', sizeof(id.peers[2].address) - 1); /* the longest */
    return id;
}

static bool same(const struct store_identity *a, const struct store_identity *b)
{
    bool equal = uuid_eq(a->cluster_id, b->cluster_id) && a->node_id == b->node_id && uuid_eq(a->incarnation, b->incarnation) &&
                 a->shard_count == b->shard_count && a->hash_version == b->hash_version && a->joined == b->joined &&
                 a->peer_count == b->peer_count;
    for (uint32_t i = 0; equal && i < a->peer_count; i++) {
        equal = a->peers[i].node_id == b->peers[i].node_id && uuid_eq(a->peers[i].incarnation, b->peers[i].incarnation) &&
                strcmp(a->peers[i].address, b->peers[i].address) == 0;
    }
    return equal;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store_identity id = sample();
    struct store_identity read;
    mem_disk_port(disk, &port);
    assert_int_equal(store_identity_read(&port, &read), MUSTER_E_NOT_FOUND);
    assert_int_equal(store_identity_write(&port, &id), 0);
    assert_int_equal(store_identity_read(&port, &read), 0);
    assert_true(same(&id, &read));
    id.node_id = 77;
    id.peer_count = 1;
    id.joined = true;
    assert_int_equal(store_identity_write(&port, &id), 0);
    assert_int_equal(store_identity_read(&port, &read), 0);
    assert_true(same(&id, &read));
    assert_int_equal(mem_disk_file_count(disk), 1);
    mem_disk_free(disk);
}

static void every_flip_and_cut_is_noticed(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store_identity id = sample();
    mem_disk_port(disk, &port);
    assert_int_equal(store_identity_write(&port, &id), 0);
    size_t len = (size_t)mem_disk_file(disk, "identity").len;
    for (size_t at = 0; at < len; at++) {
        struct mem_disk *copy = mem_disk_clone(disk);
        struct store_port copy_port;
        struct store_identity untouched = {.node_id = 4711};
        mem_disk_port(copy, &copy_port);
        mem_disk_flip(copy, "identity", at, (uint8_t)(1u << (at % 8)));
        assert_int_equal(store_identity_read(&copy_port, &untouched), MUSTER_E_CORRUPT);
        mem_disk_cut(copy, "identity", at);
        assert_int_equal(store_identity_read(&copy_port, &untouched), MUSTER_E_CORRUPT);
        assert_int_equal(untouched.node_id, 4711);
        mem_disk_free(copy);
    }
    mem_disk_free(disk);
}

static void writing_is_all_or_nothing(void **state)
{
    (void)state;
    unsigned old_seen = 0;
    unsigned new_seen = 0;
    for (uint64_t cut = 1; cut <= 6; cut++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct mem_disk *disk = mem_disk_new();
            struct store_port port;
            struct store_identity old = sample();
            struct store_identity new = sample();
            struct store_identity read;
            struct prng random;
            new.node_id = 3;
            mem_disk_port(disk, &port);
            assert_int_equal(store_identity_write(&port, &old), 0);
            mem_disk_faults(disk)->cut_power = cut;
            int rc = store_identity_write(&port, &new);
            prng_seed(&random, seed);
            mem_disk_crash(disk, &random);
            mem_disk_port(disk, &port);
            assert_int_equal(store_identity_read(&port, &read), 0);
            assert_true(same(&read, &new) || (rc < 0 && same(&read, &old)));
            old_seen += read.node_id == old.node_id ? 1 : 0;
            new_seen += read.node_id == new.node_id ? 1 : 0;
            mem_disk_free(disk);
        }
    }
    assert_true(old_seen > 10 && new_seen > 10);
}

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store_identity id = sample();
    mem_disk_port(disk, &port);
    id.shard_count = 0;
    assert_int_equal(store_identity_write(&port, &id), MUSTER_E_INVALID);
    id = sample();
    id.peer_count = 33;
    assert_int_equal(store_identity_write(&port, &id), MUSTER_E_INVALID);
    id = sample();
    memset(id.peers[0].address, 'x', sizeof(id.peers[0].address));
    assert_int_equal(store_identity_write(&port, &id), MUSTER_E_INVALID);
    assert_int_equal(mem_disk_file_count(disk), 0);
    mem_disk_free(disk);
}

/* Written again while a log is there, the mark that a log was begun stays. */
static void rewriting_does_not_forget_the_log(void **state)
{
    (void)state;
    struct box b;
    struct store_identity id = sample();
    box_init(&b, 4096, 0);
    id.shard_count = TWIN_SHARDS;
    struct store_port port;
    mem_disk_port(b.disk, &port);
    assert_int_equal(store_identity_write(&port, &id), 0);
    assert_int_equal(box_open(&b), 0);
    id.peers[0].node_id = 11;
    assert_int_equal(store_identity_write(&port, &id), 0);
    box_close(&b);
    mem_disk_delete(b.disk, "log-0000000000000001.seg");
    assert_int_equal(box_open(&b), MUSTER_E_CORRUPT);
    box_fini(&b);
}

static void a_damaged_identity_stops_the_start(void **state)
{
    (void)state;
    struct box b;
    struct store_identity id = sample();
    box_init(&b, 4096, 0);
    struct store_port port;
    mem_disk_port(b.disk, &port);
    assert_int_equal(store_identity_write(&port, &id), 0);
    mem_disk_flip(b.disk, "identity", 20, 1);
    assert_int_equal(box_open(&b), MUSTER_E_CORRUPT);
    assert_string_equal(b.report.corrupt_file, "identity");
    box_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),           cmocka_unit_test(every_flip_and_cut_is_noticed),
        cmocka_unit_test(writing_is_all_or_nothing),         cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(rewriting_does_not_forget_the_log), cmocka_unit_test(a_damaged_identity_stops_the_start),
    };
    return cmocka_run_group_tests_name("storage identity", tests, NULL, NULL);
}
