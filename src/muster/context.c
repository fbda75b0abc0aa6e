#include "context.h"

#include "commands.h"
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

static const char *path_of(struct cli *cli)
{
    const char *own = getenv("MUSTER_CONFIG");
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (own != NULL && own[0] != '\0') {
        return own;
    }
    if (xdg != NULL && xdg[0] == '/') {
        return arena_printf(&cli->arena, "%s/muster/config", xdg).ptr;
    }
    return home != NULL && home[0] != '\0' ? arena_printf(&cli->arena, "%s/.config/muster/config", home).ptr : NULL;
}

/* Without what stands around it. */
static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
        text[--len] = '\0';
    }
    return text;
}

static const char *kept(struct cli *cli, const char *text)
{
    return arena_printf(&cli->arena, "%s", text).ptr;
}

/* NULL, or what is wrong with it. */
static const char *take_section(struct cli *cli, struct cli_contexts *all, char *text)
{
    char *end = strchr(text, ']');
    if (end == NULL || end[1] != '\0' || end == text + 1) {
        return "a section is [NAME]";
    }
    *end = '\0';
    if (all->count == CONTEXTS_MAX) {
        return "there are too many sections";
    }
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->v[i].name, text + 1) == 0) {
            return "the section stands twice";
        }
    }
    all->v[all->count++] = (struct cli_context){.name = kept(cli, trimmed(text + 1)), .timeout_ms = -1};
    return NULL;
}

static const char *take_setting(struct cli *cli, struct cli_contexts *all, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        return "a line is NAME = VALUE";
    }
    *equals = '\0';
    const char *name = trimmed(text);
    const char *value = kept(cli, trimmed(equals + 1));
    struct cli_context *here = all->count > 0 ? &all->v[all->count - 1] : NULL;
    if (here == NULL && strcmp(name, "cluster") == 0) {
        all->chosen = value;
    } else if (here != NULL && strcmp(name, "bootstrap") == 0) {
        here->bootstrap = value;
    } else if (here != NULL && strcmp(name, "timeout") == 0) {
        return cli_parse_number(value, 1, INT32_MAX, &here->timeout_ms) ? NULL : "timeout is a number of milliseconds";
    } else {
        return arena_printf(&cli->arena,
                            here == NULL ? "'%s' stands before the first [NAME], where there is only 'cluster'"
                                         : "'%s' is unknown: a section has 'bootstrap' and 'timeout'",
                            name)
            .ptr;
    }
    return NULL;
}

int contexts_read(struct cli *cli, struct cli_contexts *ret)
{
    char line[LINE_MAX_BYTES];
    *ret = (struct cli_contexts){.path = path_of(cli)};
    FILE *file = ret->path != NULL ? fopen(ret->path, "re") : NULL;
    if (file == NULL) {
        bool missing = ret->path == NULL || errno == ENOENT || errno == ENOTDIR;
        bool named = ret->path != NULL && ret->path == getenv("MUSTER_CONFIG");
        return missing && !named ? CLI_OK : cli_fail(cli, CLI_USAGE, "%s: %s", ret->path, strerror(errno));
    }
    const char *wrong = NULL;
    int number = 0;
    while (wrong == NULL && fgets(line, sizeof(line), file) != NULL) {
        number++;
        char *comment = strchr(line, '#');
        if (comment != NULL) {
            *comment = '\0';
        }
        char *text = trimmed(line);
        if (text[0] != '\0') {
            wrong = text[0] == '[' ? take_section(cli, ret, text) : take_setting(cli, ret, text);
        }
    }
    (void)fclose(file);
    return wrong == NULL ? CLI_OK : cli_fail(cli, CLI_USAGE, "%s, line %d: %s", ret->path, number, wrong);
}

/* The one that is meant when the command line names none; NULL: there is none. */
static const char *chosen_of(const struct cli_contexts *all)
{
    const char *environment = getenv("MUSTER_CLUSTER");
    return environment != NULL && environment[0] != '\0' ? environment : all->chosen;
}

int context_choose(struct cli *cli, const char *name, struct cli_context *ret)
{
    struct cli_contexts all;
    int code = contexts_read(cli, &all);
    if (code != CLI_OK) {
        return code;
    }
    if (name == NULL) {
        name = chosen_of(&all);
    }
    if (name == NULL) {
        return CLI_OK;
    }
    for (int i = 0; i < all.count; i++) {
        if (strcmp(all.v[i].name, name) == 0) {
            *ret = all.v[i];
            cli->bootstrap_from = arena_printf(&cli->arena, "cluster '%s' of %s", name, all.path).ptr;
            return ret->bootstrap != NULL ? CLI_OK : cli_fail(cli, CLI_USAGE, "%s: [%s] has no 'bootstrap'", all.path, name);
        }
    }
    return cli_fail(cli, CLI_USAGE, "%s has no cluster '%s' (`muster config list` shows those it has)",
                    all.path != NULL ? all.path : "the config file", name);
}

/* ---- muster config list ---- */

static int run_list(struct cli *cli)
{
    static const char *const headers[] = {"CLUSTER", "BOOTSTRAP", "TIMEOUT", "DEFAULT"};
    struct cli_contexts all;
    struct table t;
    json_t *clusters = json_array();
    int code = contexts_read(cli, &all);
    const char *meant = code == CLI_OK ? chosen_of(&all) : NULL;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; code == CLI_OK && i < all.count; i++) {
        const struct cli_context *c = &all.v[i];
        bool chosen = meant != NULL && strcmp(meant, c->name) == 0;
        json_t *one = json_object();
        out_json_set(one, "cluster", out_json_text(str_of(c->name)));
        out_json_set(one, "bootstrap", out_json_text(str_of(c->bootstrap)));
        out_json_set(one, "timeoutMs", c->timeout_ms < 0 ? json_null() : json_integer(c->timeout_ms));
        out_json_set(one, "default", json_boolean(chosen));
        out_json_add(clusters, one);
        table_text(&t, str_of(c->name));
        table_text(&t, str_of(c->bootstrap));
        table_number_or_dash(&t, c->timeout_ms);
        table_text(&t, chosen ? STR("yes") : STR("no"));
    }
    if (code == CLI_OK && cli->json) {
        json_t *document = json_object();
        out_json_set(document, "clusters", json_incref(clusters));
        out_json_print(document, cli->out);
    } else if (code == CLI_OK && all.count > 0) {
        table_print(&t, cli->out);
    } else if (code == CLI_OK) {
        cli_say(cli, "%s names no clusters", all.path != NULL ? all.path : "the config file");
    }
    json_decref(clusters);
    return code;
}

const struct cli_command command_config_list = {
    .noun = "config",
    .verb = "list",
    .reach = REACHES_NOBODY,
    .operands = "",
    .summary = "Lists the clusters that the config file names.",
    .details =
        "The file is $MUSTER_CONFIG, else $XDG_CONFIG_HOME/muster/config, else ~/.config/muster/config:\n\n"
        "    cluster = lab                                     # the one that is meant when none is named\n\n"
        "    [lab]\n"
        "    bootstrap = 10.0.0.1:9092,10.0.0.2:9092\n"
        "    timeout = 20000                                   # milliseconds\n\n"
        "--cluster NAME chooses one. Without it $MUSTER_BOOTSTRAP says where to ask; without that the cluster of $MUSTER_CLUSTER is\n"
        "meant, then the file's own choice. --bootstrap says where to ask instead; it does not go together with --cluster.",
    .run = run_list};
