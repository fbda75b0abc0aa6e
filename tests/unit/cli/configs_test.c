/* configs_test.c: muster configs against a node that is made up: what is sent for a command line, and what of an answer is shown. */
#include "fake_node.h"

#include "configs_view.h"

typedef struct describe_configs_response_resource_result told;

static char asked[512]; /* the newest request, as a text */

static void note(int8_t type, struct str name)
{
    snprintf(asked, sizeof(asked), "%d %.*s", type, STR_ARG(name));
}

static const void *describe(struct fake *f, const struct describe_configs_request *q)
{
    static told configs[] = {{.name = STR("retention.ms"), .value = STR("5"), .config_source = 1, .documentation = STR_NULL},
                             {.name = STR("cleanup.policy"), .value = STR("delete"), .config_source = 5, .documentation = STR_NULL}};
    static told untold = {.name = STR("muster.protected"), .value = STR("false"), .config_source = 5, .documentation = STR_NULL};
    struct describe_configs_response *r = ARENA_NEW(&f->arena, struct describe_configs_response, 1);
    wire_init(&wire_describe_configs_response, r);
    const struct str_array *keys = &q->resources.v[0].configuration_keys;
    note(q->resources.v[0].resource_type, q->resources.v[0].resource_name);
    for (int32_t i = 0; i < keys->len; i++) {
        snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), " %.*s", STR_ARG(keys->v[i]));
    }
    r->results.v = ARENA_NEW(&f->arena, struct describe_configs_response_result, 1);
    r->results.len = 1;
    r->results.v[0] = (struct describe_configs_response_result){.error_message = STR_NULL,
                                                                .resource_type = q->resources.v[0].resource_type,
                                                                .resource_name = q->resources.v[0].resource_name,
                                                                .configs = {configs, COUNT_OF(configs)}};
    r->results.v[0].error_code = str_eq(q->resources.v[0].resource_name, STR("nothing")) ? 3 : 0;
    if (keys->len == 1 && str_eq(keys->v[0], STR("muster.protected"))) { /* told to whom asks for it */
        r->results.v[0].configs.v = &untold;
        r->results.v[0].configs.len = 1;
    }
    return r;
}

static const void *alter(struct fake *f, const struct incremental_alter_configs_request *q)
{
    struct incremental_alter_configs_response *r = ARENA_NEW(&f->arena, struct incremental_alter_configs_response, 1);
    wire_init(&wire_incremental_alter_configs_response, r);
    note(q->resources.v[0].resource_type, q->resources.v[0].resource_name);
    for (int32_t i = 0; i < q->resources.v[0].configs.len; i++) {
        const struct incremental_alter_configs_request_alterable_config *c = &q->resources.v[0].configs.v[i];
        size_t used = strlen(asked);
        snprintf(asked + used, sizeof(asked) - used, " %d:%.*s=%.*s", c->config_operation, STR_ARG(c->name),
                 STR_ARG(str_is_null(c->value) ? STR("null") : c->value));
    }
    r->responses.v = ARENA_NEW(&f->arena, struct incremental_alter_configs_response_alter_configs_resource_response, 1);
    r->responses.len = 1;
    r->responses.v[0] =
        (struct incremental_alter_configs_response_alter_configs_resource_response){.error_message = STR_NULL, .resource_name = STR("")};
    if (strstr(asked, "unknown.key") != NULL) {
        r->responses.v[0].error_code = 40;
        r->responses.v[0].error_message = STR("there is no unknown.key");
    }
    return r;
}

static const void *more(struct fake *f, int16_t key, const void *request)
{
    return key == API_KEY_DESCRIBE_CONFIGS ? describe(f, request) : key == API_KEY_INCREMENTAL_ALTER_CONFIGS ? alter(f, request) : NULL;
}

static int setup(void **state)
{
    static const int16_t keys[] = {API_KEY_DESCRIBE_CONFIGS, API_KEY_INCREMENTAL_ALTER_CONFIGS};
    int rc = fake_setup(state);
    struct fake *f = *state;
    fake_more(f, more, keys, COUNT_OF(keys));
    asked[0] = '\0';
    return rc;
}

static void assert_asked(struct run r, int code, const char *out, const char *err, const char *request)
{
    if (r.code != code || strstr(r.out, out) == NULL || strstr(r.err, err) == NULL || strcmp(asked, request) != 0) {
        fail_msg("exit code %d\nout: %s\nerr: %s\nasked: %s", r.code, r.out, r.err, asked);
    }
    asked[0] = '\0';
    run_fini(&r);
}

static void configs_are_shown(void **state)
{
    (void)state;
    struct run r = run_cli("configs", "list", "topics", "orders", NULL);
    assert_string_equal(r.out, "KEY           VALUE  SOURCE\nretention.ms      5  topic\n");
    assert_asked(r, CLI_OK, "", "", "2 orders");
    assert_asked(run_cli("configs", "list", "topic", "orders", "--all", NULL), CLI_OK, "cleanup.policy  delete  default\n", "", "2 orders");
    assert_asked(run_cli("configs", "get", "topics", "orders", "cleanup.policy", NULL), CLI_OK, "cleanup.policy  delete  default\n", "",
                 "2 orders cleanup.policy");
    assert_asked(run_cli("configs", "get", "topics", "orders", "x", NULL), CLI_FAILED, "", "topics 'orders' has no config 'x'",
                 "2 orders x");
    assert_asked(run_cli("configs", "get", "groups", "shop", "muster.protected", NULL), CLI_OK, "muster.protected  false  default\n", "",
                 "32 shop muster.protected");
    assert_asked(run_cli("configs", "list", "groups", "shop", "--all", NULL), CLI_OK,
                 "cleanup.policy    delete  default\nmuster.protected  false   default\nretention.ms", "",
                 "32 shop streams.topology.update");
    assert_asked(run_cli("configs", "list", "groups", "shop", NULL), CLI_OK, "", "nothing is set for groups 'shop'", "32 shop");
    assert_asked(run_cli("configs", "list", "brokers", "7", "--all", "--json", NULL), CLI_OK, "\"key\": \"retention.ms\"", "", "4 7");
    assert_asked(run_cli("configs", "list", "brokers", "default", "--all", NULL), CLI_OK, "retention.ms", "", "4 ");
    assert_asked(run_cli("configs", "list", "topics", "nothing", NULL), CLI_FAILED, "", "topics 'nothing': UNKNOWN_TOPIC_OR_PARTITION",
                 "2 nothing");
}

static void configs_are_set_and_taken_away(void **state)
{
    (void)state;
    assert_asked(run_cli("configs", "set", "groups", "shop", "muster.protected=true", "consumer.session.timeout.ms=45000", NULL), CLI_OK,
                 "muster.protected             true\n", "", "32 shop 0:muster.protected=true 0:consumer.session.timeout.ms=45000");
    assert_asked(run_cli("configs", "unset", "brokers", "default", "a", "b", NULL), CLI_OK, "a        -\n", "", "4  1:a=null 1:b=null");
    assert_asked(run_cli("configs", "set", "topics", "orders", "retention.ms=", NULL), CLI_OK, "retention.ms", "",
                 "2 orders 0:retention.ms=");
    assert_asked(run_cli("configs", "set", "topics", "orders", "unknown.key=1", NULL), CLI_FAILED, "",
                 "topics 'orders': INVALID_CONFIG: there is no unknown.key", "2 orders 0:unknown.key=1");
}

static void wrong_words_are_not_sent(void **state)
{
    (void)state;
    assert_asked(run_cli("configs", "set", "topics", "orders", "retention.ms", NULL), CLI_USAGE, "", "'retention.ms' is not KEY=VALUE", "");
    assert_asked(run_cli("configs", "unset", "topics", "orders", "a=1", NULL), CLI_USAGE, "", "'a=1' is not a KEY", "");
    assert_asked(run_cli("configs", "list", "users", "me", NULL), CLI_USAGE, "",
                 "'users' has no configs; there are: topics, brokers, groups", "");
    assert_asked(run_cli("configs", "list", "brokers", "all", NULL), CLI_USAGE, "", "'all' is not the id of a node, nor 'default'", "");
    assert_asked(run_cli("configs", "list", "brokers", "9", NULL), CLI_FAILED, "", "node 9 is not there now", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(configs_are_shown, setup, fake_teardown),
        cmocka_unit_test_setup_teardown(configs_are_set_and_taken_away, setup, fake_teardown),
        cmocka_unit_test_setup_teardown(wrong_words_are_not_sent, setup, fake_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
