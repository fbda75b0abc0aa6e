/* groups_protect.c: muster groups protect, delete: what may not happen by accident; and whether a group is protected. */
#include "commands.h"
#include "configs_view.h"
#include "offset_change.h"
#include "out.h"
#include "streams_view.h"

#include <string.h>

enum { KAFKA_INVALID_CONFIG = 40, KAFKA_POLICY_VIOLATION = 44 };

static bool is_protected(const struct describe_configs_response_result *result)
{
    return result->error_code == 0 && result->configs.len == 1 && str_eq(result->configs.v[0].name, STR("muster.protected")) &&
           str_eq(result->configs.v[0].value, STR("true"));
}

/* By its name: a config that is not set is told only to whom asks for it. */
int protection_fetch(struct client *c, struct str group, struct arena *arena, enum protection *ret)
{
    const struct describe_configs_response_result *configs;
    struct str key = STR("muster.protected");
    int rc = configs_fetch(c, CONFIG_OF_GROUP, group, &key, arena, &configs);
    *ret = PROTECTION_NOT_TOLD;
    if (rc < 0) {
        return rc == MUSTER_E_VERSION ? MUSTER_E_OK : rc;
    }
    if (configs->error_code == 0 && configs->configs.len == 1 && str_eq(configs->configs.v[0].name, key)) {
        *ret = is_protected(configs) ? PROTECTION_ON : PROTECTION_OFF;
    }
    return MUSTER_E_OK;
}

enum { ASKED_AT_ONCE = 1000 };

/* What is answered stands in the order of the request, as a rule. */
static bool tells_protected(const struct describe_configs_response *response, struct str group, int32_t place)
{
    for (int32_t i = 0; i < response->results.len; i++) {
        const struct describe_configs_response_result *result = &response->results.v[(place + i) % response->results.len];
        if (str_eq(result->resource_name, group)) {
            return is_protected(result);
        }
    }
    return false;
}

int protected_keep(struct client *c, struct listed_groups *list, struct arena *arena)
{
    static struct str key = {"muster.protected", 16};
    int kept = 0;
    for (int begin = 0, count; begin < list->count; begin += count) {
        struct describe_configs_request request;
        const void *answer;
        wire_init(&wire_describe_configs_request, &request);
        count = list->count - begin < ASKED_AT_ONCE ? list->count - begin : ASKED_AT_ONCE;
        request.resources.v = ARENA_NEW(arena, struct describe_configs_request_resource, count);
        request.resources.len = count;
        for (int i = 0; i < count; i++) {
            request.resources.v[i] = (struct describe_configs_request_resource){CONFIG_OF_GROUP, list->v[begin + i].group_id, {&key, 1}};
        }
        struct client_call call = {.key = API_KEY_DESCRIBE_CONFIGS, .max_version = -1, .request = &request};
        int rc = client_any_call(c, &call, arena, &answer, NULL);
        if (rc < 0) {
            return rc;
        }
        const struct describe_configs_response *response = answer;
        for (int i = 0; i < count; i++) {
            if (tells_protected(response, list->v[begin + i].group_id, i)) {
                list->v[kept++] = list->v[begin + i];
            }
        }
    }
    list->count = kept;
    return MUSTER_E_OK;
}

int group_check_protected(struct cli *cli, struct client *c, struct str group)
{
    enum protection protection;
    int rc = protection_fetch(c, group, &cli->arena, &protection);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    return protection != PROTECTION_ON ? CLI_OK
                                       : cli_fail(cli, CLI_FAILED, "group %.*s is protected: its config muster.protected is true (--force)",
                                                  STR_ARG(out_quoted(group, &cli->arena)));
}

/* 0, or the error said as an exit code. */
static int set_protection(struct cli *cli, struct client *c, struct str group, bool on)
{
    struct config_change change = {STR("muster.protected"), on ? STR("true") : STR_NULL};
    int16_t error;
    struct str message;
    int rc = configs_alter(c, CONFIG_OF_GROUP, group, &change, 1, &cli->arena, &error, &message);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    return error == 0 ? CLI_OK
                      : cli_fail(cli, CLI_FAILED, "group %.*s: %s%s", STR_ARG(out_quoted(group, &cli->arena)),
                                 kafka_error_text(error, message, &cli->arena),
                                 error == KAFKA_INVALID_CONFIG ? "; groups are protected by muster, not by Apache Kafka" : "");
}

/* ---- one group after the other ---- */

/* Fills a row and an object; an error has been said, and is the exit code. */
typedef int one_group(struct cli *cli, struct client *c, struct str group, struct table *t, json_t *results);

/* Of the first ones; --json says it of each. */
static void say_undos(const struct cli *cli, const json_t *results)
{
    bool any = false;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *undo = json_object_get(json_array_get(results, i), "undo");
        if (undo != NULL) {
            cli_say(cli, "to undo it: %s", json_string_value(undo));
            any = true;
        }
    }
    if (any && json_array_size(results) > CHANGE_UNDOS) {
        cli_say(cli, "and likewise for the other groups (--json says how)");
    }
}

static int each_group(struct cli *cli, const char *result, one_group *act)
{
    const char *const headers[] = {"GROUP", result};
    struct client c;
    struct table t;
    struct str *names;
    int count = 0;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    json_t *results = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    int rc = groups_named(cli, &c, &names, &count);
    code = rc < 0 ? cli_client_failed(cli, &c, rc) : CLI_OK;
    for (int i = 0; rc == 0 && i < count && code != CLI_UNREACHABLE; i++) {
        int one = act(cli, &c, names[i], &t, results);
        code = one != CLI_OK ? one : code;
    }
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "groups", json_incref(results));
        out_json_print(document, cli->out);
    } else if (t.cell_count > 0) {
        table_print(&t, cli->out);
        say_undos(cli, results);
    }
    json_decref(results);
    client_fini(&c);
    return code;
}

/* ---- protect ---- */

static int protect_one(struct cli *cli, struct client *c, struct str group, struct table *t, json_t *results)
{
    bool on = !cli_flag(cli, "off");
    int code = set_protection(cli, c, group, on);
    if (code != CLI_OK) {
        return code;
    }
    if (on && group_missing(c, group, &cli->arena)) {
        cli_say(cli, "group %.*s: there is no such group yet; it will be protected when there is", STR_ARG(out_quoted(group, &cli->arena)));
    }
    json_t *row = json_object();
    out_json_set(row, "group", out_json_text(group));
    out_json_set(row, "protected", json_boolean(on));
    out_json_add(results, row);
    table_text(t, group);
    table_text(t, on ? STR("yes") : STR("no"));
    return CLI_OK;
}

static int run_protect(struct cli *cli)
{
    return each_group(cli, "PROTECTED", protect_one);
}

static const struct cli_option protect_options[] = {
    OPTION_NAMED_GROUPS,
    {"off", NULL, "the groups are not protected any more"},
};

const struct cli_command command_groups_protect = {
    .noun = "groups",
    .verb = "protect",
    .operands = "GROUP...",
    .min_operands = 1,
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Protects groups: without --force they are not deleted and their offsets not reset.",
    .details =
        "By Kafka's tools neither. Members commit as ever, and offsets expire as ever, or go when their topic is deleted, which only\n"
        "'muster topics delete' refuses. The group need not exist yet, and stays protected when it goes by itself. It is the group's\n"
        "config muster.protected. 'muster groups list --protected' lists those that are.",
    .options = protect_options,
    .option_count = COUNT_OF(protect_options),
    .run = run_protect};

/* ---- delete ---- */

static int16_t delete_error(const void *answer)
{
    const struct delete_groups_response *response = answer;
    return response->results.len == 1 ? response->results.v[0].error_code : 0;
}

static int ask_delete(struct cli *cli, struct client *c, struct str group, int16_t *ret_error, struct str *ret_message)
{
    struct delete_groups_request request;
    const void *answer;
    wire_init(&wire_delete_groups_request, &request);
    request.groups_names.v = &group;
    request.groups_names.len = 1;
    struct client_call call = {.key = API_KEY_DELETE_GROUPS, .max_version = -1, .request = &request, .changes = true};
    int rc = client_group_call(c, group, &call, delete_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    const struct delete_groups_response *response = answer;
    *ret_error = response->results.len == 1 ? response->results.v[0].error_code : -1;
    *ret_message = response->results.len == 1 ? response->results.v[0].error_message : STR_NULL;
    return CLI_OK;
}

/* Kafka's request cannot say that the group goes although it is protected: the protection is taken away first, and put back if the group stays. */
static int try_delete(struct cli *cli, struct client *c, struct str group, bool force, int16_t *ret_error, struct str *ret_message)
{
    int code = ask_delete(cli, c, group, ret_error, ret_message);
    if (code != CLI_OK || *ret_error != KAFKA_POLICY_VIOLATION || !force) {
        return code;
    }
    code = set_protection(cli, c, group, false);
    code = code == CLI_OK ? ask_delete(cli, c, group, ret_error, ret_message) : code;
    if (code != CLI_OK || *ret_error != 0) {
        (void)set_protection(cli, c, group, true);
    }
    return code;
}

static int say_refused(struct cli *cli, struct str group, int16_t error, struct str message)
{
    return cli_fail(cli, CLI_FAILED, "group %.*s: %s%s", STR_ARG(out_quoted(group, &cli->arena)),
                    kafka_error_text(error, message, &cli->arena), error == KAFKA_POLICY_VIOLATION ? " (--force)" : "");
}

int group_delete(struct cli *cli, struct client *c, struct str group, bool force)
{
    int16_t error = 0;
    struct str message = STR_NULL;
    int code = try_delete(cli, c, group, force, &error, &message);
    return code != CLI_OK || error == 0 ? code : say_refused(cli, group, error, message);
}

/* The command that makes the group again, with its offsets; null: it has none, or the cluster keeps no log that it could be taken from. */
static struct str undo_of(struct cli *cli, struct client *c, struct str group)
{
    struct offsets_view had;
    if (group_shard(c, group) < 0) {
        return STR_NULL;
    }
    struct offset_undo undo = offset_undo_note(cli, c, group);
    bool any = offsets_view_fetch(c, group, &cli->arena, &had) == 0 && had.count > 0;
    return any ? offset_undo_deleted(cli, &undo, group) : STR_NULL;
}

static int delete_one(struct cli *cli, struct client *c, struct str group, struct table *t, json_t *results)
{
    int16_t error = 0;
    struct str message = STR_NULL;
    bool told = cli->json || json_array_size(results) < CHANGE_UNDOS;
    struct str undo = told ? undo_of(cli, c, group) : STR_NULL;
    int code = try_delete(cli, c, group, cli_flag(cli, "force"), &error, &message);
    if (code != CLI_OK) {
        return code;
    }
    table_text(t, group);
    table_text(t, error == 0 ? STR("deleted") : str_of(kafka_error_name(error, &cli->arena)));
    json_t *one = json_object();
    out_json_set(one, "group", out_json_text(group));
    out_json_set(one, "deleted", json_boolean(error == 0));
    out_json_set(one, "error", error == 0 ? json_null() : out_json_text(str_of(kafka_error_name(error, &cli->arena))));
    if (error == 0 && !str_is_null(undo)) {
        out_json_set(one, "undo", out_json_text(undo));
    }
    out_json_add(results, one);
    return error == 0 ? CLI_OK : say_refused(cli, group, error, message);
}

static int run_delete(struct cli *cli)
{
    return each_group(cli, "RESULT", delete_one);
}

static const struct cli_option delete_options[] = {
    OPTION_NAMED_GROUPS,
    OPTION_ALL_GROUPS,
    {"force", NULL, "although the group is protected"},
};

const struct cli_command command_groups_delete = {
    .noun = "groups",
    .verb = "delete",
    .operands = "GROUP...",
    .min_operands = 1,
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Deletes groups without members, of any type, with their offsets.",
    .details =
        "A group that has members is refused: stop its members first. Exit code 1 when any of the groups could not be deleted.\n"
        "There is no plan, and nothing is asked: what is named is deleted at once, with --all-groups every group without members that is\n"
        "not protected, as kafka-consumer-groups.sh does it. Of a group that had offsets it is said how it comes back with them, out of\n"
        "the log: by 'muster offsets pre-create'.",
    .options = delete_options,
    .option_count = COUNT_OF(delete_options),
    .run = run_delete};
