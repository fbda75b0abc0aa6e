/* manual.c: manual pages in roff (man macros), and the command that writes them. */
#include "commands.h"
#include "help.h"

#include <muster/roff.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#ifndef MUSTER_VERSION
#error "MUSTER_VERSION is given by the build"
#endif

static void put_text(FILE *to, const char *text)
{
    struct buf out;
    buf_init(&out, 0);
    MUSTER_CHECK(roff_put(&out, str_of(text)) == 0);
    fprintf(to, "%.*s", (int)out.len, out.len > 0 ? (const char *)out.ptr : "");
    buf_fini(&out);
}

/* Lines that are indented are examples and stay as they are; the others are filled. */
static void put_details(FILE *to, const char *text)
{
    bool example = false;
    while (*text != '\0') {
        char line[512];
        size_t len = strcspn(text, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line) - 1), text);
        text += len + (text[len] == '\n');
        bool indented = line[0] == ' ';
        if (line[0] == '\0') {
            fputs(example ? "\n" : ".PP\n", to);
            continue;
        }
        if (indented != example) {
            fputs(indented ? ".RS 4\n.nf\n" : ".fi\n.RE\n", to);
            example = indented;
        }
        put_text(to, line + (indented ? strspn(line, " ") : 0));
        fputc('\n', to);
    }
    fputs(example ? ".fi\n.RE\n" : "", to);
}

static void put_options(FILE *to, const char *title, const struct cli_option *options, size_t count)
{
    if (count == 0) {
        return;
    }
    fprintf(to, ".SH %s\n", title);
    for (size_t i = 0; i < count; i++) {
        fputs(".TP\n\\fB\\-\\-", to);
        put_text(to, options[i].name);
        fputs("\\fR", to);
        if (options[i].value != NULL) {
            fputs(" \\fI", to);
            put_text(to, options[i].value);
            fputs("\\fR", to);
        }
        fputc('\n', to);
        put_text(to, options[i].help);
        fputc('\n', to);
    }
}

static void put_columns(FILE *to, const struct cli_command *c)
{
    fputs(c->column_count > 0 ? ".SH COLUMNS\n" : "", to);
    for (size_t i = 0; i < c->column_count; i++) {
        fputs(".TP\n\\fB", to);
        put_text(to, c->columns[i].name);
        fputs("\\fR\n", to);
        put_text(to, c->columns[i].help);
        fputc('\n', to);
    }
}

static void put_title(FILE *to, const char *page)
{
    fputs(".TH ", to);
    for (const char *c = page; *c != '\0'; c++) {
        fputc(toupper((unsigned char)*c), to);
    }
    fprintf(to, " 1 \"\" \"muster %s\" \"muster\"\n", MUSTER_VERSION);
}

static void put_exit_codes(FILE *to)
{
    fputs(".SH \"EXIT STATUS\"\n.nf\n", to);
    put_text(to, cli_exit_codes);
    fputs(".fi\n", to);
}

/* The pages of the other verbs of the noun. */
static void put_related(FILE *to, const struct cli_command *c, const struct cli_command *const *commands, size_t count)
{
    fputs(".SH \"SEE ALSO\"\n.BR muster (1)", to);
    for (size_t i = 0; i < count; i++) {
        if (commands[i] != c && strcmp(commands[i]->noun, c->noun) == 0) {
            fprintf(to, ",\n.BR muster\\-%s\\-", c->noun);
            put_text(to, commands[i]->verb);
            fputs(" (1)", to);
        }
    }
    fputc('\n', to);
}

void manual_command(FILE *to, const struct cli_command *c, const struct cli_command *const *commands, size_t count)
{
    char page[96];
    snprintf(page, sizeof(page), "muster-%s-%s", c->noun, c->verb);
    put_title(to, page);
    fprintf(to, ".SH NAME\nmuster\\-%s\\-", c->noun);
    put_text(to, c->verb);
    fputs(" \\- ", to);
    put_text(to, c->summary);
    fprintf(to, "\n.SH SYNOPSIS\n\\fBmuster %s ", c->noun);
    put_text(to, c->verb);
    fputs("\\fR \\fI", to);
    put_text(to, c->operands);
    fputs("\\fR [options]\n", to);
    if (c->details != NULL) {
        fputs(".SH DESCRIPTION\n", to);
        put_details(to, c->details);
    }
    put_columns(to, c);
    const struct help_globals globals = help_globals(c);
    put_options(to, "OPTIONS", c->options, c->option_count);
    put_options(to, "\"ONLY WITH A LIVE NODE\"", cli_global_options, globals.live);
    put_options(to, "\"OPTIONS OF EVERY COMMAND\"", cli_global_options + globals.first, globals.count);
    put_exit_codes(to);
    put_related(to, c, commands, count);
}

void manual_overview(FILE *to, const struct cli_command *const *commands, size_t count)
{
    put_title(to, "muster");
    fputs(".SH NAME\nmuster \\- administers a muster cluster and reads its log\n"
          ".SH SYNOPSIS\n\\fBmuster\\fR \\fINOUN VERB\\fR [operands] [options]\n"
          ".SH DESCRIPTION\nGroup, topic and offset commands work with any Kafka cluster. Each command has a page of its own, "
          "muster\\-NOUN\\-VERB, "
          "and \\fB\\-\\-help\\fR; \\fBmuster help\\fR \\fINOUN\\fR lists those of a noun. Options of every command stand before "
          "the noun, too. "
          "Groups and topics are operands; Kafka's options for them are understood.\n",
          to);
    for (size_t n = 0; n < cli_noun_count; n++) {
        fprintf(to, ".SS \"muster %s: %s\"\n", cli_nouns[n].noun, cli_nouns[n].summary);
        for (size_t i = 0; i < count; i++) {
            if (strcmp(commands[i]->noun, cli_nouns[n].noun) == 0) {
                fputs(".TP\n\\fB", to);
                put_text(to, commands[i]->verb);
                fputs("\\fR \\fI", to);
                put_text(to, commands[i]->operands);
                fputs("\\fR\n", to);
                put_text(to, commands[i]->summary);
                fputc('\n', to);
            }
        }
    }
    put_options(to, "\"OPTIONS OF EVERY COMMAND\"", cli_global_options, cli_global_option_count);
    fputs(".SH FILES\n.TP\n~/.config/muster/config\nClusters by name; \\fBmuster config list \\-\\-help\\fR says what is in it.\n", to);
    put_exit_codes(to);
}

/* ---- muster manual write ---- */

static int write_page(struct cli *cli, const char *name, const struct cli_command *command)
{
    const char *path = arena_printf(&cli->arena, "%s/%s.1", cli->operands[0], name).ptr;
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return cli_fail(cli, CLI_FAILED, "%s: %s", path, strerror(errno));
    }
    if (command != NULL) {
        manual_command(file, command, cli->commands, cli->command_count);
    } else {
        manual_overview(file, cli->commands, cli->command_count);
    }
    bool good = ferror(file) == 0;
    good = fclose(file) == 0 && good;
    return good ? CLI_OK : cli_fail(cli, CLI_FAILED, "%s: %s", path, strerror(errno));
}

static int run_write(struct cli *cli)
{
    const char *dir = cli->operands[0];
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        return cli_fail(cli, CLI_FAILED, "%s: %s", dir, strerror(errno));
    }
    int code = write_page(cli, "muster", NULL);
    for (size_t i = 0; i < cli->command_count && code == CLI_OK; i++) {
        const struct cli_command *c = cli->commands[i];
        code = write_page(cli, arena_printf(&cli->arena, "muster-%s-%s", c->noun, c->verb).ptr, c);
    }
    return code;
}

const struct cli_command command_manual_write = {
    .noun = "manual",
    .verb = "write",
    .reach = REACHES_NOBODY,
    .operands = "DIR",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Writes the manual pages into a folder, made where it is not there: muster.1 and one for each command.",
    .details = "For a folder man1 of $MANPATH, such as /usr/local/share/man/man1, or to read one:\n\n"
               "    muster manual write . && man ./muster-offsets-reset.1",
    .run = run_write};
