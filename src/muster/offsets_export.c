/* offsets_export.c: muster offsets export: committed offsets as a file for `muster offsets import`, for Kafka's tools, or as Kafka's own log. */
#include "commands.h"
#include "kafka_offsets.h"
#include "log.h"
#include "out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int add_group(struct cli *cli, struct client *c, struct str group, bool named, struct saved_offsets *ret)
{
    struct offsets_view offsets;
    int rc = offsets_view_fetch(c, group, &cli->arena, &offsets);
    int code = rc < 0 ? cli_client_failed(cli, c, rc) : offsets_view_judge(cli, group, named, &offsets);
    if (code != CLI_OK) {
        return code;
    }
    for (int i = 0; i < offsets.count; i++) {
        const struct offset_view *o = &offsets.v[i];
        saved_add(ret, &(struct saved_offset){group, o->topic, o->partition, o->committed, o->leader_epoch, o->metadata}, &cli->arena);
    }
    return CLI_OK;
}

/* A file that is whole or is not there: it is written beside its place first. */
static int write_segment(struct cli *cli, const char *path, const struct saved_offsets *offsets)
{
    const char *beside = arena_printf(&cli->arena, "%s.%d.part", path, (int)getpid()).ptr;
    struct buf data;
    int place = out_place(path);
    if (place < 0) {
        return cli_fail(cli, CLI_FAILED, "%s cannot be written: %s", path, muster_strerror(place));
    }
    FILE *file = fopen(beside, "wbe");
    if (file == NULL) {
        return cli_fail(cli, CLI_FAILED, "%s: %s", beside, strerror(errno));
    }
    buf_init(&data, 0);
    kafka_offsets_write(offsets, log_wall_ms(), &data);
    bool good = data.len == 0 || fwrite(data.ptr, data.len, 1, file) == 1;
    buf_fini(&data);
    good = fclose(file) == 0 && good && rename(beside, path) == 0;
    if (!good) {
        int error = errno;
        (void)remove(beside);
        return cli_fail(cli, CLI_FAILED, "%s: %s", path, strerror(error));
    }
    cli_say(cli, "%d offset%s written to %s", offsets->count, offsets->count == 1 ? "" : "s", path);
    return CLI_OK;
}

static int print(struct cli *cli, struct saved_offsets *offsets, bool with_group)
{
    const char *segment = cli_text(cli, "segment");
    if (segment != NULL) {
        return write_segment(cli, segment, offsets);
    }
    if (cli->json) {
        out_json_print(saved_json(offsets), cli->out);
    } else {
        if (out_is_terminal(cli->out)) {
            saved_make_safe(offsets, &cli->arena);
        }
        saved_write_csv(offsets, with_group, cli->out);
    }
    return CLI_OK;
}

static int run_export(struct cli *cli)
{
    struct client c;
    struct saved_offsets offsets = {0};
    int count = 0;
    struct str *names;
    bool every = cli->operand_count == 0;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    int rc = groups_named(cli, &c, &names, &count);
    code = rc < 0 ? cli_client_failed(cli, &c, rc) : CLI_OK;
    for (int i = 0; rc == 0 && i < count && code != CLI_UNREACHABLE; i++) {
        int one = add_group(cli, &c, names[i], !every, &offsets);
        code = one != CLI_OK ? one : code;
    }
    client_fini(&c);
    saved_settle(&offsets);
    if (code == CLI_UNREACHABLE) {
        return code;
    }
    int printed = print(cli, &offsets, every || count > 1);
    return code != CLI_OK ? code : printed;
}

static const struct cli_option export_options[] = {
    OPTION_NAMED_GROUPS,
    OPTION_ALL_GROUPS,
    {"segment", "FILE", "writes a segment file of Kafka's topic __consumer_offsets instead"},
};

const struct cli_command command_offsets_export = {
    .noun = "offsets",
    .verb = "export",
    .operands = "[GROUP...]",
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Prints committed offsets as a file that can be imported.",
    .details =
        "CSV as kafka-consumer-groups has it: topic,partition,offset for one group, with the group in front for several or, when none is\n"
        "named, all. With --json leader epochs and metadata come along.\n"
        "    muster offsets export my-group > my-group.csv\n"
        "    muster offsets import my-group.csv --group my-group --execute",
    .options = export_options,
    .option_count = COUNT_OF(export_options),
    .run = run_export};
