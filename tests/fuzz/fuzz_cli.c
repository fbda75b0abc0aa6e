/* fuzz_cli.c: what people and scripts give to `muster`: a command line (arguments separated by newlines), or, after a first byte 0, a topology file.
 *
 * The commands are the real ones but for what they do: each asks for every option that it has, as text and as a number. Whatever was given, a message is made of
 * bytes that a terminal shows and does not obey, and the exit status is one of those that are documented. */
#include "commands.h"
#include "topology_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_COMMANDS = 64, MOST_ARGUMENTS = 80 };

static int look(struct cli *cli)
{
    int count;
    const struct str *names = cli_names(cli, &count);
    MUSTER_CHECK(count == cli->operand_count && (count == 0 || names != NULL));
    MUSTER_CHECK(cli->operand_count >= cli->command->min_operands || cli_flag(cli, "all-groups"));
    MUSTER_CHECK(cli->command->max_operands < 0 || cli->operand_count <= cli->command->max_operands);
    for (size_t i = 0; i < cli->command->option_count; i++) {
        const struct cli_option *o = &cli->command->options[i];
        int64_t number = 0;
        if (cli_text(cli, o->name) != NULL && o->value != NULL && !cli_number(cli, o->name, 0, 1000, 7, &number)) {
            return CLI_USAGE;
        }
        MUSTER_CHECK(number >= 0 && number <= 1000);
    }
    return CLI_OK;
}

static void check_shown(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        MUSTER_CHECK(text[i] == '\n' || ((uint8_t)text[i] >= ' ' && text[i] != 0x7f));
    }
}

static void command_line(const uint8_t *data, size_t size)
{
    static struct cli_command copies[MOST_COMMANDS];
    const struct cli_command *commands[MOST_COMMANDS];
    MUSTER_CHECK(cli_command_count <= MOST_COMMANDS);
    for (size_t i = 0; i < cli_command_count; i++) {
        copies[i] = *cli_commands[i];
        copies[i].run = look;
        copies[i].watchable = false; /* it would be done for ever */
        commands[i] = &copies[i];
    }
    setenv("MUSTER_CONFIG", "/dev/null", 1);
    char *text = calloc(size + 1, 1);
    char *argv[MOST_ARGUMENTS + 1] = {(char[]){"muster"}};
    int argc = 1;
    memcpy(text, data, size);
    for (char *at = text, *end; at != NULL && argc < MOST_ARGUMENTS; at = end) {
        end = strchr(at, '\n');
        if (end != NULL) {
            *end++ = '\0';
        }
        argv[argc++] = at;
    }
    char *out_text = NULL, *err_text = NULL;
    size_t out_len = 0, err_len = 0;
    FILE *out = open_memstream(&out_text, &out_len), *err = open_memstream(&err_text, &err_len);
    int rc = cli_main(commands, cli_command_count, argc, argv, out, err);
    fclose(out);
    fclose(err);
    MUSTER_CHECK(rc == CLI_OK || rc == CLI_USAGE);
    MUSTER_CHECK(rc == CLI_OK || err_len > 0);
    check_shown(out_text, out_len);
    check_shown(err_text, err_len);
    free(out_text);
    free(err_text);
    free(text);
}

static void topology(const uint8_t *data, size_t size)
{
    char path[64], *err_text = NULL;
    size_t err_len = 0;
    int file = memfd_create("topology", 0);
    MUSTER_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    struct cli cli = {.out = stdout, .err = open_memstream(&err_text, &err_len)};
    struct streams_group_initialize_request request;
    arena_init(&cli.arena, 0);
    wire_init(&wire_streams_group_initialize_request, &request);
    int rc = topology_read(&cli, path, &request);
    fclose(cli.err);
    MUSTER_CHECK(rc == CLI_OK || rc == CLI_USAGE || rc == CLI_FAILED);
    MUSTER_CHECK((rc == CLI_OK) == (err_len == 0));
    check_shown(err_text, err_len);
    if (rc == CLI_OK) { /* what is sent is whole */
        MUSTER_CHECK(wire_encode(&wire_streams_group_initialize_request, 0, &request, &cli.arena).len > 0);
    }
    free(err_text);
    arena_fini(&cli.arena);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 16) {
        return 0;
    }
    if (size > 0 && data[0] == 0) {
        topology(data + 1, size - 1);
    } else {
        command_line(data, size);
    }
    return 0;
}
