/* fixture.h: a set, a few topics, and one streams group "g" made of records. */
#ifndef MUSTER_TESTS_UNIT_OUTSIDE_FIXTURE_H
#define MUSTER_TESTS_UNIT_OUTSIDE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "state.h"
#include "streams/streams.h"

enum { FIXTURE_TOPICS = 8 };
struct fixture {
    struct pool pool;
    struct group_set *set;
    struct arena arena, scratch;
    struct topic_view topic[FIXTURE_TOPICS];
    int topic_count;
    struct topics topics;
    struct group_settings settings;
    struct group_op op; /* of the last decision */
};

int fixture_setup(void **state);
int fixture_teardown(void **state);
#define fixture_test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

void fixture_topic(struct fixture *f, const char *name, int32_t partitions);
void fixture_apply(struct fixture *f, int16_t type, const void *key, const void *value);
/* The records the group needs to be a streams group; t NULL: without a topology. */
void fixture_group(struct fixture *f, int32_t epoch, const struct streams_group_topology_value *t);
void fixture_member(struct fixture *f, const char *member_id, const struct member_position *position);
/* Decides, and applies the records. The answer lies in the arena. */
struct group_out fixture_decide(struct fixture *f, enum group_op_kind kind, int16_t version, const void *request);

int run_commit_tests(void);
int run_describe_tests(void);
int run_initialize_tests(void);
int run_random_tests(void);

#endif
