/* configs.c: muster configs list, get, set, unset: kafka-configs.sh by operands. */
#include "configs_view.h"

#include "commands.h"
#include "out.h"

#include <stdlib.h>
#include <string.h>

struct entity {
    enum config_resource type;
    struct str name;
};

/* The first two operands, by Kafka's words for --entity-type, or one of them. */
static bool take_entity(struct cli *cli, struct entity *ret)
{
    static const struct {
        const char *many, *one;
        enum config_resource type;
    } types[] = {{"topics", "topic", CONFIG_OF_TOPIC}, {"brokers", "broker", CONFIG_OF_BROKER}, {"groups", "group", CONFIG_OF_GROUP}};
    const char *word = cli->operands[0];
    int64_t node;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(word, types[i].many) == 0 || strcmp(word, types[i].one) == 0) {
            bool all_brokers = types[i].type == CONFIG_OF_BROKER && strcmp(cli->operands[1], "default") == 0;
            *ret = (struct entity){types[i].type, all_brokers ? STR("") : str_of(cli->operands[1])};
            if (ret->type == CONFIG_OF_BROKER && !all_brokers && !cli_parse_number(cli->operands[1], 0, INT32_MAX, &node)) {
                cli_say(cli, "'%s' is not the id of a node, nor 'default', which is all of them", cli->operands[1]);
                return false;
            }
            return true;
        }
    }
    cli_say(cli, "'%s' has no configs; there are: topics, brokers, groups", word);
    return false;
}

static int refused(struct cli *cli, int16_t error, struct str message)
{
    return cli_fail(cli, CLI_FAILED, "%s '%s': %s", cli->operands[0], cli->operands[1], kafka_error_text(error, message, &cli->arena));
}

/* ---- shown ---- */

typedef struct describe_configs_response_resource_result told;

static const char *source_name(int8_t source)
{
    static const char *const names[] = {[1] = "topic", [2] = "broker", [3] = "brokers", [4] = "file", [5] = "default", [8] = "group"};
    return source >= 0 && (size_t)source < COUNT_OF(names) && names[source] != NULL ? names[source] : "other";
}

/* Whether somebody has set it for this topic, these brokers or this group. */
static bool is_set(const struct entity *e, int8_t source)
{
    return e->type == CONFIG_OF_TOPIC ? source == 1 : e->type == CONFIG_OF_GROUP ? source == 8 : source == 2 || source == 3;
}

static void add_row(struct table *t, json_t *rows, const told *config)
{
    json_t *one = json_object();
    out_json_set(one, "key", out_json_text(config->name));
    out_json_set(one, "value", out_json_text(config->value));
    out_json_set(one, "source", json_string(source_name(config->config_source)));
    out_json_set(one, "readOnly", json_boolean(config->read_only));
    out_json_set(one, "sensitive", json_boolean(config->is_sensitive));
    out_json_add(rows, one);
    table_text(t, config->name);
    table_text(t, config->value);
    table_text(t, str_of(source_name(config->config_source)));
}

static bool is_wanted(const struct cli *cli, const struct entity *e, const told *config)
{
    if (cli->operand_count > 2) {
        return str_eq(config->name, str_of(cli->operands[2]));
    }
    return cli_flag(cli, "all") || is_set(e, config->config_source);
}

static int print_configs(struct cli *cli, const struct entity *e, const told *v, int32_t len)
{
    static const char *const headers[] = {"KEY", "VALUE", "SOURCE"};
    struct table t;
    json_t *rows = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < len; i++) {
        if (is_wanted(cli, e, &v[i])) {
            add_row(&t, rows, &v[i]);
        }
    }
    int count = (int)json_array_size(rows);
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "configs", json_incref(rows));
        out_json_print(document, cli->out);
    } else if (count > 0) {
        table_print(&t, cli->out);
    }
    json_decref(rows);
    if (count == 0 && cli->operand_count > 2) {
        return cli_fail(cli, CLI_FAILED, "%s '%s' has no config '%s' (muster configs list %s %s --all)", cli->operands[0], cli->operands[1],
                        cli->operands[2], cli->operands[0], cli->operands[1]);
    }
    if (count == 0 && !cli->json) {
        cli_say(cli, "nothing is set for %s '%s'; --all shows what holds by default", cli->operands[0], cli->operands[1]);
    }
    return CLI_OK;
}

static int by_key(const void *a, const void *b)
{
    return str_cmp(((const told *)a)->name, ((const told *)b)->name);
}

/* What muster tells only of groups for which it is set, and to whom asks for it by its name: those that are not among v yet. */
static int add_untold(struct client *c, const struct entity *e, struct arena *arena, told **v, int32_t *len)
{
    static const struct str keys[] = {STR("muster.protected"), STR("streams.topology.initialization"), STR("streams.topology.update")};
    const struct describe_configs_response_result *more;
    told *all = ARENA_NEW(arena, told, *len + (int32_t)COUNT_OF(keys));
    int rc = 0;
    if (*len > 0) {
        memcpy(all, *v, (size_t)*len * sizeof(told));
    }
    *v = all;
    for (size_t i = 0; i < COUNT_OF(keys) && rc == 0; i++) {
        bool found = false;
        for (int32_t k = 0; k < *len; k++) {
            found = found || str_eq(all[k].name, keys[i]);
        }
        rc = found ? 0 : configs_fetch(c, e->type, e->name, &keys[i], arena, &more);
        if (!found && rc == 0 && more->error_code == 0 && more->configs.len == 1) {
            all[(*len)++] = more->configs.v[0];
        }
    }
    qsort(all, (size_t)*len, sizeof(*all), by_key);
    return rc;
}

static int run_show(struct cli *cli)
{
    struct client c;
    struct entity e;
    struct str key = cli->operand_count > 2 ? str_of(cli->operands[2]) : STR_NULL;
    const struct describe_configs_response_result *configs;
    int code = take_entity(cli, &e) ? cli_connect(cli, &c) : CLI_USAGE;
    if (code != CLI_OK) {
        return code;
    }
    int rc = configs_fetch(&c, e.type, e.name, str_is_null(key) ? NULL : &key, &cli->arena, &configs);
    told *v = rc == 0 ? configs->configs.v : NULL;
    int32_t len = rc == 0 ? configs->configs.len : 0;
    if (rc == 0 && configs->error_code == 0 && e.type == CONFIG_OF_GROUP && cli_flag(cli, "all")) {
        rc = add_untold(&c, &e, &cli->arena, &v, &len);
    }
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (configs->error_code != 0) {
        code = refused(cli, configs->error_code, configs->error_message);
    } else {
        code = print_configs(cli, &e, v, len);
    }
    client_fini(&c);
    return code;
}

#define OPERANDS "topics|brokers|groups NAME"
#define NAMES                                                                                                                              \
    "NAME is a topic, the id of a node, or a group; 'default' are all nodes. The words are those of kafka-configs.sh --entity-type, "      \
    "which\n"                                                                                                                              \
    "works, too. "

/* clang-format off */
#define ENTITY_OPTIONS                                                                                                                     \
    {"entity-type", "TYPE", "the first operand, by Kafka's name for it"},                                                                  \
    {"entity-name", "NAME", "the second operand, by Kafka's name for it"}
/* clang-format on */
#define NAMED_BY                                                                                                                           \
    {                                                                                                                                      \
        "entity-type", "entity-name"                                                                                                       \
    }

static const struct cli_option entity_options[] = {ENTITY_OPTIONS};
static const struct cli_option list_options[] = {{"all", NULL, "what holds by default as well"}, ENTITY_OPTIONS};

const struct cli_command command_configs_list = {.noun = "configs",
                                                 .verb = "list",
                                                 .operands = OPERANDS,
                                                 .min_operands = 2,
                                                 .max_operands = 2,
                                                 .named_by = NAMED_BY,
                                                 .watchable = true,
                                                 .summary = "Lists the configs that are set for a topic, a node or a group.",
                                                 .details = NAMES "SOURCE says where a value comes from.",
                                                 .options = list_options,
                                                 .option_count = COUNT_OF(list_options),
                                                 .run = run_show};

const struct cli_command command_configs_get = {.noun = "configs",
                                                .verb = "get",
                                                .operands = OPERANDS " KEY",
                                                .min_operands = 3,
                                                .max_operands = 3,
                                                .named_by = NAMED_BY,
                                                .watchable = true,
                                                .summary = "Shows one config of a topic, a node or a group, set or not.",
                                                .details = NAMES "SOURCE says where the value comes from.",
                                                .options = entity_options,
                                                .option_count = COUNT_OF(entity_options),
                                                .run = run_show};

/* ---- changed ---- */

/* KEY=VALUE to set, KEY to take away. NULL with a message. */
static struct config_change *take_changes(struct cli *cli, bool set)
{
    struct config_change *v = ARENA_NEW(&cli->arena, struct config_change, cli->operand_count);
    for (int i = 2; i < cli->operand_count; i++) {
        const char *text = cli->operands[i];
        const char *equals = strchr(text, '=');
        if (set != (equals != NULL) || text[0] == '\0' || equals == text) {
            cli_say(cli, set ? "'%s' is not KEY=VALUE" : "'%s' is not a KEY", text);
            return NULL;
        }
        v[i - 2] = (struct config_change){{text, (int32_t)(equals != NULL ? (size_t)(equals - text) : strlen(text))},
                                          equals != NULL ? str_of(equals + 1) : STR_NULL};
    }
    return v;
}

static void print_changed(struct cli *cli, const struct config_change *v, int count)
{
    static const char *const headers[] = {"KEY", "VALUE"};
    struct table t;
    json_t *rows = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < count; i++) {
        json_t *one = json_object();
        out_json_set(one, "key", out_json_text(v[i].key));
        out_json_set(one, "value", out_json_text(v[i].value));
        out_json_add(rows, one);
        table_text(&t, v[i].key);
        table_text(&t, v[i].value);
    }
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "configs", json_incref(rows));
        out_json_print(document, cli->out);
    } else {
        table_print(&t, cli->out);
    }
    json_decref(rows);
}

static int change(struct cli *cli, bool set)
{
    struct client c;
    struct entity e;
    int16_t error;
    struct str message;
    int count = cli->operand_count - 2;
    struct config_change *v = take_entity(cli, &e) ? take_changes(cli, set) : NULL;
    int code = v != NULL ? cli_connect(cli, &c) : CLI_USAGE;
    if (code != CLI_OK) {
        return code;
    }
    int rc = configs_alter(&c, e.type, e.name, v, count, &cli->arena, &error, &message);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (error != 0) {
        code = refused(cli, error, message);
    } else {
        print_changed(cli, v, count);
    }
    client_fini(&c);
    return code;
}

static int run_set(struct cli *cli)
{
    return change(cli, true);
}

static int run_unset(struct cli *cli)
{
    return change(cli, false);
}

const struct cli_command command_configs_set = {.noun = "configs",
                                                .verb = "set",
                                                .operands = OPERANDS " KEY=VALUE...",
                                                .min_operands = 3,
                                                .max_operands = -1,
                                                .named_by = NAMED_BY,
                                                .summary = "Sets configs of a topic, a node or a group; others stay as they are.",
                                                .details = NAMES "All of them are set or none.",
                                                .options = entity_options,
                                                .option_count = COUNT_OF(entity_options),
                                                .run = run_set};

const struct cli_command command_configs_unset = {.noun = "configs",
                                                  .verb = "unset",
                                                  .operands = OPERANDS " KEY...",
                                                  .min_operands = 3,
                                                  .max_operands = -1,
                                                  .named_by = NAMED_BY,
                                                  .summary = "Takes configs of a topic, a node or a group away: the default holds again.",
                                                  .details = NAMES,
                                                  .options = entity_options,
                                                  .option_count = COUNT_OF(entity_options),
                                                  .run = run_unset};
