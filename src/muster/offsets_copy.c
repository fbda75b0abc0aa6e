/* offsets_copy.c: muster offsets copy, rename. */
#include "commands.h"
#include "offset_change.h"
#include "out.h"

#include <string.h>

static bool wanted(const struct cli *cli, struct str topic)
{
    bool any = false;
    for (int i = 0; i < cli->given_count; i++) {
        if (strcmp(cli->given[i].name, "topic") == 0) {
            any = true;
            if (str_eq(str_of(cli->given[i].value), topic)) {
                return true;
            }
        }
    }
    return !any;
}

/* What the one has, as changes of the other. */
static int plan(struct cli *cli, struct client *client, struct str from, struct offset_changes *ret)
{
    struct offsets_view had = {0}, has = {0};
    int rc = offsets_view_fetch(client, from, &cli->arena, &had);
    rc = rc == 0 ? offsets_view_fetch(client, ret->group, &cli->arena, &has) : rc;
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    struct offset_changes existing = {0};
    for (int i = 0; i < has.count; i++) {
        offset_changes_add(&existing, has.v[i].topic, has.v[i].partition, &cli->arena)->before = has.v[i].committed;
    }
    for (int i = 0; i < had.count; i++) {
        if (!wanted(cli, had.v[i].topic)) {
            continue;
        }
        struct offset_change *one = offset_changes_add(ret, had.v[i].topic, had.v[i].partition, &cli->arena);
        const struct offset_change *there = offset_changes_find(&existing, one->topic, one->partition);
        one->before = there == NULL ? -1 : there->before;
        one->offset = one->after = had.v[i].committed;
        one->leader_epoch = had.v[i].leader_epoch;
        one->metadata = had.v[i].metadata;
    }
    if (ret->count == 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s has no committed offsets%s", STR_ARG(out_quoted(from, &cli->arena)),
                        cli_flag(cli, "topic") ? " of these topics" : "");
    }
    return CLI_OK;
}

/* ---- copy ---- */

static int copy(struct cli *cli, struct client *client, struct offset_changes *changes, const struct change_how *how)
{
    struct change_report report;
    int code = offsets_change(cli, client, changes, how);
    if (code == CLI_OK && how->create == CREATE_MUST && !str_is_empty(changes->undo)) { /* the old group is deleted next */
        changes->undo = offset_undo_renamed(cli, str_of(cli->operands[0]), changes->group);
    }
    if (code == CLI_OK) {
        change_report_init(&report, cli);
        change_report_add(&report, cli, changes, !how->validate_only);
        change_report_end(&report, cli);
    }
    return code;
}

static int with_plan(struct cli *cli, enum change_create create,
                     int (*then)(struct cli *, struct client *, struct offset_changes *, const struct change_how *))
{
    struct client client;
    struct offset_changes changes = {.group = str_of(cli->operands[1])};
    struct change_how how = {.create = create,
                             .fence = cli_flag(cli, "fence"),
                             .force = cli_flag(cli, "force"),
                             .validate_only = !cli_flag(cli, "execute")};
    if (strcmp(cli->operands[0], cli->operands[1]) == 0) {
        return cli_fail(cli, CLI_USAGE, "both groups are the same");
    }
    int code = cli_connect(cli, &client);
    if (code != CLI_OK) {
        return code;
    }
    code = plan(cli, &client, str_of(cli->operands[0]), &changes);
    code = code == CLI_OK ? then(cli, &client, &changes, &how) : code;
    if (code == CLI_OK && how.validate_only) {
        cli_say(cli, "nothing was changed; --execute does it");
    }
    client_fini(&client);
    return code;
}

static int run_copy(struct cli *cli)
{
    return with_plan(cli, CREATE_MAY, copy);
}

static const struct cli_option copy_options[] = {
    {"topic", "TOPIC", "only offsets of this topic; may be given more than once"},
    {"execute", NULL, "does it; otherwise the plan is shown"},
    {"fence", NULL, "although the other group has members: removes them in the same step"},
    {"force", NULL, "although the other group is protected"},
};

const struct cli_command command_offsets_copy = {
    .noun = "offsets",
    .verb = "copy",
    .operands = "FROM TO",
    .min_operands = 2,
    .max_operands = 2,
    .summary = "Gives another group the offsets of a group.",
    .details =
        "Leader epochs and metadata as well. The other group is made when it does not exist; what it has committed of other partitions\n"
        "stays. Shows what would be done and does nothing, unless --execute is given; then it says how to undo it: what was replaced "
        "comes\n"
        "back out of the log, what had no offset before is deleted, and so is a group that was made.",
    .options = copy_options,
    .option_count = COUNT_OF(copy_options),
    .run = run_copy};

/* ---- rename ---- */

/* Protection is a config of the group of that name: it goes with the group, and is not the new one's. */
static void say_old(struct cli *cli, struct str from, struct str to, bool protects, bool done)
{
    const char *protection = protects ? arena_printf(&cli->arena, ", and its protection with it: group %.*s is not protected",
                                                     STR_ARG(out_quoted(to, &cli->arena)))
                                            .ptr
                                      : "";
    cli_say(cli, "group %.*s %s deleted%s", STR_ARG(out_quoted(from, &cli->arena)), done ? "is" : "would be", protection);
}

/* The old group goes when the new one is there; whatever goes wrong in between leaves two groups, never none. */
static int rename_group(struct cli *cli, struct client *client, struct offset_changes *changes, const struct change_how *how)
{
    struct str from = str_of(cli->operands[0]);
    struct group_view g = {0};
    enum protection protection;
    int code = how->force ? CLI_OK : group_check_protected(cli, client, from);
    if (code != CLI_OK) {
        return code;
    }
    int rc = protection_fetch(client, from, &cli->arena, &protection);
    rc = rc == 0 ? group_view_fetch(client, from, &cli->arena, &g) : rc;
    if (rc < 0) {
        return cli_client_failed(cli, client, rc);
    }
    if (g.error == 0 && g.member_count > 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s has %d member%s; stop them first: they would commit to the old group",
                        STR_ARG(out_quoted(from, &cli->arena)), (int)g.member_count, g.member_count == 1 ? "" : "s");
    }
    code = copy(cli, client, changes, how);
    if (code == CLI_OK && !how->validate_only) {
        code = group_delete(cli, client, from, how->force);
    } else if (code != CLI_OK) {
        return code;
    }
    if (code == CLI_OK) {
        say_old(cli, from, changes->group, protection == PROTECTION_ON, !how->validate_only);
    } else {
        cli_say(cli, "group %.*s has the offsets now, and group %.*s still exists", STR_ARG(out_quoted(changes->group, &cli->arena)),
                STR_ARG(out_quoted(from, &cli->arena)));
    }
    return code;
}

static int run_rename(struct cli *cli)
{
    return with_plan(cli, CREATE_MUST, rename_group);
}

static const struct cli_option rename_options[] = {
    {"execute", NULL, "does it; otherwise the plan is shown"},
    {"force", NULL, "although the group is protected"},
};

const struct cli_command command_offsets_rename = {
    .noun = "offsets",
    .verb = "rename",
    .operands = "FROM TO",
    .min_operands = 2,
    .max_operands = 2,
    .summary = "Moves the offsets of a group without members to a new group, and deletes the old one.",
    .details =
        "The new group must not exist. The old one is deleted when the new one has its offsets; should that fail, both exist and the\n"
        "exit code is 1. Shows what would be done and does nothing, unless --execute is given; then it says how to undo it.",
    .options = rename_options,
    .option_count = COUNT_OF(rename_options),
    .run = run_rename};
