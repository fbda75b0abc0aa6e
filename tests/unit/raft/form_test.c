/* A node of an empty folder that is taken into a cluster that is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "form.h"

#include "mem_port.h"

#include <stdio.h>
#include <string.h>

static struct form_request join_of(uint32_t node)
{
    struct form_request q = {.op = FORM_JOIN, .feature_level = 1};
    q.identity = (struct store_identity){.cluster_id = {{7}},
                                         .node_id = node,
                                         .incarnation = {{(uint8_t)node}},
                                         .shard_count = 8,
                                         .hash_version = 1,
                                         .joined = true,
                                         .peer_count = 4};
    for (uint32_t i = 0; i < 4; i++) {
        q.identity.peers[i].node_id = i + 1;
        q.identity.peers[i].incarnation.b[0] = (uint8_t)(i + 1);
        snprintf(q.identity.peers[i].address, sizeof q.identity.peers[i].address, "h%u:9093", i + 1);
    }
    return q;
}

struct fixture {
    struct mem_disk *disk;
    struct store_port port;
    struct form form;
    struct form_answer answer;
};

static void setup(struct fixture *f)
{
    struct form_config config = {.node_id = 4, .shard_count = 8, .hash_version = 1, .feature_level = 1, .peer_count = 1};
    char text[FORM_TEXT_BYTES];
    config.peers[0].node_id = 4;
    memcpy(config.peers[0].address, "h4:9093", sizeof "h4:9093");
    memset(f, 0, sizeof *f);
    f->disk = mem_disk_new();
    mem_disk_port(f->disk, &f->port);
    assert_int_equal(form_init(&f->form, &f->port, &config, text), 0);
}

static int ask(struct fixture *f, const struct form_request *q)
{
    form_handle(&f->form, f, q, &f->answer);
    return f->answer.error;
}

static void test_join_messages(void **state)
{
    static struct form_request request, back;
    struct buf out;
    (void)state;
    request = join_of(4);
    request.feature_level = 3;
    buf_init(&out, FORM_FRAME_MAX);
    assert_int_equal(form_request_encode(&out, &request), 0);
    for (size_t len = 0; len < out.len; len++) {
        assert_int_equal(form_request_decode((struct bytes){out.ptr, (int32_t)len}, &back), MUSTER_E_MALFORMED);
    }
    assert_int_equal(form_request_decode((struct bytes){out.ptr, (int32_t)out.len}, &back), 0);
    assert_memory_equal(&back, &request, sizeof back);
    buf_fini(&out);
}

static void test_an_empty_node_joins(void **state)
{
    static struct form_request q;
    static struct fixture f;
    struct store_identity read;
    (void)state;
    setup(&f);
    q = join_of(4);
    assert_int_equal(ask(&f, &q), 0);
    assert_int_equal(f.answer.state, FORM_FORMED);
    assert_int_equal(f.form.state, FORM_FORMED);
    assert_int_equal(store_identity_read(&f.port, &read), 0);
    assert_true(read.joined && read.peer_count == 4 && read.incarnation.b[0] == 4);
    assert_int_equal(ask(&f, &q), 0); /* asked again, as by the next leader */
    q.identity.incarnation.b[0]++;
    assert_int_equal(ask(&f, &q), MUSTER_E_EXISTS); /* the folder of another incarnation */
    q = join_of(4);
    q.identity.cluster_id.b[0]++;
    assert_int_equal(ask(&f, &q), MUSTER_E_EXISTS);
    form_handle_formed(&read, &q, &f.answer); /* the same of a node that runs */
    assert_int_equal(f.answer.error, MUSTER_E_EXISTS);
    q = join_of(4);
    form_handle_formed(&read, &q, &f.answer);
    assert_int_equal(f.answer.error, 0);
    mem_disk_free(f.disk);
}

static void test_who_does_not_fit_does_not_join(void **state)
{
    static struct form_request q;
    static struct fixture f;
    struct store_identity read;
    (void)state;
    setup(&f);
    q = join_of(3);
    assert_int_equal(ask(&f, &q), MUSTER_E_INVALID);
    assert_string_equal(f.answer.text, "this is node 4, not node 3");
    q = join_of(4);
    q.identity.shard_count = 4;
    assert_int_equal(ask(&f, &q), MUSTER_E_INVALID);
    q = join_of(4);
    q.feature_level = 2;
    assert_int_equal(ask(&f, &q), MUSTER_E_INVALID);
    assert_string_equal(f.answer.text, "it knows feature levels up to 1, and the cluster is at 2: a newer musterd is needed there");
    assert_int_equal(store_identity_read(&f.port, &read), MUSTER_E_NOT_FOUND);
    assert_int_equal(f.form.state, FORM_EMPTY);
    /* One that a forming has prepared belongs to that. */
    struct form_request prepare = join_of(4);
    prepare.op = FORM_PREPARE;
    prepare.identity.joined = false;
    prepare.identity.peer_count = 1;
    prepare.identity.peers[0] = prepare.identity.peers[3];
    assert_int_equal(ask(&f, &prepare), 0);
    q = join_of(4);
    assert_int_equal(ask(&f, &q), MUSTER_E_REFUSED);
    mem_disk_free(f.disk);
}

/* Nothing of it counts when the disk does not take it. */
static void test_a_failed_write_is_told(void **state)
{
    static struct form_request q;
    static struct fixture f;
    (void)state;
    setup(&f);
    q = join_of(4);
    mem_disk_faults(f.disk)->fail_sync = 1;
    assert_int_equal(ask(&f, &q), MUSTER_E_IO);
    assert_int_equal(f.form.state, FORM_EMPTY);
    assert_int_equal(ask(&f, &q), 0);
    mem_disk_free(f.disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join_messages),
        cmocka_unit_test(test_an_empty_node_joins),
        cmocka_unit_test(test_who_does_not_fit_does_not_join),
        cmocka_unit_test(test_a_failed_write_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
