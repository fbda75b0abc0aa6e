/* The configs in force for a group: its own over the node's. */
#include <string.h>

#include "text.h"

struct fixture {
    struct pool pool;
    struct group_set *catalog;
    struct arena arena;
    struct group_settings settings;
    struct streams_configs configs;
};

static int setup(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof(f));
    f.catalog = group_set_new(&f.pool, 0);
    arena_init(&f.arena, 0);
    f.settings.streams = (struct streams_settings){
        .session_timeout_ms = 45000,
        .heartbeat_interval_ms = 5000,
        .assignment_interval_ms = 1000,
        .initial_rebalance_delay_ms = 3000,
        .num_standby_replicas = 1,
        .num_warmup_replicas = 2,
        .acceptable_recovery_lag = 10000,
        .task_offset_interval_ms = 60000,
        .rack_aware_assignment_tags = STR("zone, rack"),
        .assignor_offload = true,
    };
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_fini(&f->arena);
    group_set_free(f->catalog);
    assert_int_equal(f->pool.bytes, 0);
    return 0;
}

static void set(struct fixture *f, const char *group, const char *name, const char *value)
{
    struct config_key key = {.resource_type = 32, .resource_name = str_of(group), .name = str_of(name)};
    struct config_value stored = {.value = str_of(value)};
    struct record record = wire_record_encode(RECORD_CONFIG, &key, 0, value != NULL ? &stored : NULL, &f->arena);
    assert_true(group_apply(f->catalog, 1, record, &f->arena));
}

static void look(struct fixture *f, const char *group)
{
    streams_configs(f->catalog, &f->settings, str_of(group), &f->arena, &f->configs);
}

static void assert_nodes_own(const struct streams_configs *c)
{
    assert_int_equal(c->session_timeout_ms, 45000);
    assert_int_equal(c->heartbeat_interval_ms, 5000);
    assert_int_equal(c->assignment_interval_ms, 1000);
    assert_int_equal(c->initial_rebalance_delay_ms, 3000);
    assert_int_equal(c->num_standby_replicas, 1);
    assert_int_equal(c->num_warmup_replicas, 2);
    assert_int_equal(c->task_offset_interval_ms, 60000);
    assert_int_equal(c->acceptable_recovery_lag, 10000);
    assert_true(c->tags.len == 2 && str_eq(c->tags.v[0], STR("zone")) && str_eq(c->tags.v[1], STR("rack")));
    assert_true(c->offload && !c->warm_up);
    assert_int_equal(c->update, TOPOLOGY_UPDATE_REJECT);
    assert_int_equal(c->initialization, INITIALIZE_IMPLICIT);
}

static void without_own(void **state)
{
    struct fixture *f = *state;
    look(f, "g");
    assert_nodes_own(&f->configs);
    /* Neither another group's, nor those of other kinds of group, nor unknown ones. */
    set(f, "f", "streams.session.timeout.ms", "50000");
    set(f, "g", "consumer.session.timeout.ms", "50000");
    set(f, "g", "share.session.timeout.ms", "50000");
    set(f, "g", "streams.of.a.later.release", "50000");
    set(f, "h", "streams.session.timeout.ms", "50000");
    look(f, "g");
    assert_nodes_own(&f->configs);
    streams_configs(NULL, &f->settings, STR("g"), &f->arena, &f->configs);
    assert_nodes_own(&f->configs);
}

static void own_ones(void **state)
{
    struct fixture *f = *state;
    static const char *const own[][2] = {
        {"streams.session.timeout.ms", "50000"},
        {"streams.heartbeat.interval.ms", "6000"},
        {"streams.assignment.interval.ms", "0"},
        {"streams.initial.rebalance.delay.ms", " 7 "},
        {"streams.num.standby.replicas", "2"},
        {"streams.num.warmup.replicas", "0"},
        {"streams.task.offset.interval.ms", "15000"},
        {"streams.acceptable.recovery.lag", "3000000000"},
        {"streams.rack.aware.assignment.tags", "z"},
        {"streams.assignor.offload.enable", "FALSE"},
        {"streams.warmup.mode", "lag"},
        {"streams.topology.update", "epoch"},
        {"streams.topology.initialization", "strict"},
        {"streams.assignor.name", "sticky"},
    };
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        set(f, "g", own[i][0], own[i][1]);
    }
    look(f, "g");
    const struct streams_configs *c = &f->configs;
    assert_int_equal(c->session_timeout_ms, 50000);
    assert_int_equal(c->heartbeat_interval_ms, 6000);
    assert_int_equal(c->assignment_interval_ms, 0);
    assert_int_equal(c->initial_rebalance_delay_ms, 7);
    assert_int_equal(c->num_standby_replicas, 2);
    assert_int_equal(c->num_warmup_replicas, 0);
    assert_int_equal(c->task_offset_interval_ms, 15000);
    assert_int_equal(c->acceptable_recovery_lag, 3000000000);
    assert_true(c->tags.len == 1 && str_eq(c->tags.v[0], STR("z")));
    assert_true(!c->offload && c->warm_up);
    assert_int_equal(c->update, TOPOLOGY_UPDATE_EPOCH);
    assert_int_equal(c->initialization, INITIALIZE_STRICT);
    /* Taken away again, the node's are back. */
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        set(f, "g", own[i][0], NULL);
    }
    look(f, "g");
    assert_nodes_own(&f->configs);
}

static void words(void **state)
{
    struct fixture *f = *state;
    set(f, "g", "streams.topology.initialization", "explicit");
    set(f, "g", "streams.rack.aware.assignment.tags", "");
    look(f, "g");
    assert_int_equal(f->configs.initialization, INITIALIZE_EXPLICIT);
    assert_int_equal(f->configs.tags.len, 0);
    set(f, "g", "streams.topology.initialization", "implicit");
    look(f, "g");
    assert_int_equal(f->configs.initialization, INITIALIZE_IMPLICIT);
}

/* A value that is none, written by whatever release, is as if it were not there. */
static void bad_ones(void **state)
{
    struct fixture *f = *state;
    set(f, "g", "streams.session.timeout.ms", "soon");
    set(f, "g", "streams.heartbeat.interval.ms", "5000000000");
    set(f, "g", "streams.acceptable.recovery.lag", "99999999999999999999");
    set(f, "g", "streams.topology.initialization", "sometimes");
    set(f, "g", "streams.warmup.mode", "");
    set(f, "g", "streams.assignor.offload.enable", "maybe");
    set(f, "g", "streams.rack.aware.assignment.tags", "a,a");
    look(f, "g");
    assert_nodes_own(&f->configs);
}

/* Kafka 4.4.0, started again with narrower bounds, tells members the bound and describes the value that was set. */
static void bounds(void **state)
{
    struct fixture *f = *state;
    struct streams_settings *s = &f->settings.streams;
    static const char *const own[][2] = {
        {"streams.session.timeout.ms", "70000"},     {"streams.heartbeat.interval.ms", "100"}, {"streams.assignment.interval.ms", "9000"},
        {"streams.num.standby.replicas", "3"},       {"streams.num.warmup.replicas", "9"},     {"streams.task.offset.interval.ms", "1"},
        {"streams.initial.rebalance.delay.ms", "1"}, {"streams.acceptable.recovery.lag", "1"},
    };
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        set(f, "g", own[i][0], own[i][1]);
    }
    look(f, "g");
    assert_int_equal(f->configs.session_timeout_ms, 70000); /* no bounds */
    assert_int_equal(f->configs.num_standby_replicas, 3);
    s->min_session_timeout_ms = 45000;
    s->max_session_timeout_ms = 60000;
    s->min_heartbeat_interval_ms = 5000;
    s->max_heartbeat_interval_ms = 15000;
    s->max_assignment_interval_ms = 8000;
    s->max_standby_replicas = 0;
    s->max_warmup_replicas = 5;
    s->min_task_offset_interval_ms = 15000;
    look(f, "g");
    assert_int_equal(f->configs.session_timeout_ms, 60000);
    assert_int_equal(f->configs.heartbeat_interval_ms, 5000);
    assert_int_equal(f->configs.assignment_interval_ms, 8000);
    assert_int_equal(f->configs.num_standby_replicas, 0);
    assert_int_equal(f->configs.num_warmup_replicas, 5);
    assert_int_equal(f->configs.task_offset_interval_ms, 15000);
    assert_int_equal(f->configs.initial_rebalance_delay_ms, 1);
    assert_int_equal(f->configs.acceptable_recovery_lag, 1);
}

/* What a decision keeps does not point into the state. */
static void tags_are_copied(void **state)
{
    struct fixture *f = *state;
    set(f, "g", "streams.rack.aware.assignment.tags", "a,b");
    look(f, "g");
    set(f, "g", "streams.rack.aware.assignment.tags", NULL);
    assert_true(f->configs.tags.len == 2 && str_eq(f->configs.tags.v[1], STR("b")));
}

int run_configs_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_own, setup, teardown),     cmocka_unit_test_setup_teardown(own_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(words, setup, teardown),           cmocka_unit_test_setup_teardown(bad_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(tags_are_copied, setup, teardown), cmocka_unit_test_setup_teardown(bounds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
