/* completion.c: completion for bash and zsh: nouns, verbs, options; groups, topics and clusters by asking muster, files by the shell. */
#include "commands.h"
#include "help.h"

#include <string.h>

enum operand { OPERAND_OTHER, OPERAND_GROUP, OPERAND_TOPIC, OPERAND_CLUSTER, OPERAND_FILE };

/* What a value or an operand is, by the word that stands for it in the help. */
static enum operand kind_of(const char *word)
{
    if (strncmp(word, "GROUP", 5) == 0 || strncmp(word, "[GROUP", 6) == 0 || strncmp(word, "FROM", 4) == 0) {
        return OPERAND_GROUP;
    }
    if (strncmp(word, "TOPIC", 5) == 0 || strncmp(word, "[TOPIC", 6) == 0) {
        return OPERAND_TOPIC;
    }
    if (strncmp(word, "FILE", 4) == 0 || strncmp(word, "[FILE", 5) == 0 || strncmp(word, "DIR", 3) == 0) {
        return OPERAND_FILE;
    }
    return OPERAND_OTHER;
}

static const char *const operand_names[] = {[OPERAND_OTHER] = "other",
                                            [OPERAND_GROUP] = "groups",
                                            [OPERAND_TOPIC] = "topics",
                                            [OPERAND_CLUSTER] = "clusters",
                                            [OPERAND_FILE] = "files"};

static enum operand kind_of_option(const struct cli_option *o)
{
    return strcmp(o->name, "cluster") == 0 ? OPERAND_CLUSTER : o->value == NULL ? OPERAND_OTHER : kind_of(o->value);
}

/* ---- bash ---- */

static void bash_options(FILE *to, const struct cli_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(to, " --%s", options[i].name);
    }
}

/* "NOUN VERB --option) kind=groups ;;" for options with values that can be told. */
static void bash_values(FILE *to, const char *where, const struct cli_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (options[i].value != NULL) {
            fprintf(to, "    \"%s--%s\") kind=%s ;;\n", where, options[i].name, operand_names[kind_of_option(&options[i])]);
        }
    }
}

static void bash_verbs(FILE *to, const struct cli_command *const *commands, size_t count)
{
    for (size_t n = 0; n < cli_noun_count; n++) {
        fprintf(to, "    %s) words=\"", cli_nouns[n].noun);
        for (size_t i = 0; i < count; i++) {
            if (strcmp(commands[i]->noun, cli_nouns[n].noun) == 0) {
                fprintf(to, "%s ", commands[i]->verb);
            }
        }
        fputs("\" ;;\n", to);
    }
}

static const char bash_end[] = "    case $kind in\n"
                               "    groups) words=$(muster groups list --timeout 1000 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n"
                               "    topics) words=$(muster topics list --timeout 1000 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n"
                               "    clusters) words=$(muster config list 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n"
                               "    files) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); compopt -o filenames 2>/dev/null; return ;;\n"
                               "    esac\n"
                               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                               "}\n"
                               "complete -F _muster muster\n";

/* The options of every command that take a value, as a pattern of the shell's case. */
static void global_values(FILE *to)
{
    const char *between = "";
    for (size_t i = 0; i < cli_global_option_count; i++) {
        if (cli_global_options[i].value != NULL) {
            fprintf(to, "%s--%s", between, cli_global_options[i].name);
            between = "|";
        }
    }
}

/* Noun and verb are the first words that are no options: those of every command may stand before them. */
static void bash_begin(FILE *to)
{
    fputs("# bash completion for muster, made by `muster completion bash`\n"
          "_muster() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} noun='' verb='' words='' kind='' i\n"
          "    for ((i = 1; i < COMP_CWORD; i++)); do\n    case ${COMP_WORDS[i]} in\n    ",
          to);
    global_values(to);
    fputs(") [[ ${COMP_WORDS[i + 1]:-} != '=' ]] || ((i += 1)); ((i += 1)) ;;\n"
          "    -*) ;;\n"
          "    *) if [[ -z $noun ]]; then noun=${COMP_WORDS[i]}; elif [[ -z $verb ]]; then verb=${COMP_WORDS[i]}; fi ;;\n"
          "    esac\n    done\n    case $prev in\n",
          to);
    bash_values(to, "", cli_global_options, cli_global_option_count);
    fputs("    esac\n    if [[ -n $kind ]]; then :\n", to);
}

void completion_bash(FILE *to, const struct cli_command *const *commands, size_t count)
{
    bash_begin(to);
    fputs("    elif [[ $cur == -* ]]; then\n    case \"$noun $verb\" in\n", to);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "    \"%s %s\") words=\"", commands[i]->noun, commands[i]->verb);
        bash_options(to, commands[i]->options, commands[i]->option_count);
        fputs("\" ;;\n", to);
    }
    fputs("    esac\n    words+=\"", to);
    bash_options(to, cli_global_options, cli_global_option_count);
    fputs("\"\n    elif [[ -z $noun ]]; then\n        words=\"", to);
    for (size_t n = 0; n < cli_noun_count; n++) {
        fprintf(to, "%s ", cli_nouns[n].noun);
    }
    fputs("\"\n    elif [[ -z $verb ]]; then\n    case $noun in\n", to);
    bash_verbs(to, commands, count);
    fputs("    esac\n    else\n    case \"$noun $verb\" in\n", to);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "    \"%s %s\") kind=%s ;;\n", commands[i]->noun, commands[i]->verb, operand_names[kind_of(commands[i]->operands)]);
    }
    fputs("    esac\n    case \"$noun $verb $prev\" in\n", to);
    for (size_t i = 0; i < count; i++) {
        char where[96];
        snprintf(where, sizeof(where), "%s %s ", commands[i]->noun, commands[i]->verb);
        bash_values(to, where, commands[i]->options, commands[i]->option_count);
    }
    fputs("    esac\n    fi\n", to);
    fputs(bash_end, to);
}

/* ---- zsh ---- */

/* In single quotes; a colon would end the word that is described. */
static void zsh_item(FILE *to, const char *dashes, const char *name, const char *help)
{
    fprintf(to, " '%s%s:", dashes, name);
    for (const char *c = help; *c != '\0'; c++) {
        if (*c == '\'') {
            fputs("'\\''", to);
        } else {
            fputc(*c, to);
        }
    }
    fputc('\'', to);
}

static void zsh_options(FILE *to, const struct cli_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        zsh_item(to, "--", options[i].name, options[i].help);
    }
}

static const char zsh_end[] =
    "    if [[ $words[CURRENT] == -* ]]; then _describe -o option items; return; fi\n"
    "    case $kind in\n"
    "    groups) compadd -- ${(f)\"$(muster groups list --timeout 1000 2>/dev/null | awk 'NR > 1 { print $1 }')\"} ;;\n"
    "    topics) compadd -- ${(f)\"$(muster topics list --timeout 1000 2>/dev/null | awk 'NR > 1 { print $1 }')\"} ;;\n"
    "    clusters) compadd -- ${(f)\"$(muster config list 2>/dev/null | awk 'NR > 1 { print $1 }')\"} ;;\n"
    "    files) _files ;;\n"
    "    esac\n"
    "}\n"
    "_muster \"$@\"\n";

static void zsh_values(FILE *to, const char *where, const struct cli_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (options[i].value != NULL) {
            fprintf(to, "    '%s--%s') kind=%s ;;\n", where, options[i].name, operand_names[kind_of_option(&options[i])]);
        }
    }
}

/* Noun and verb as in bash. */
static void zsh_begin(FILE *to)
{
    fputs("#compdef muster\n# zsh completion for muster, made by `muster completion zsh`\n_muster() {\n    local -a items\n"
          "    local kind='' noun='' verb='' i\n    for ((i = 2; i < CURRENT; i++)); do\n        case $words[i] in\n        ",
          to);
    global_values(to);
    fputs(") ((i += 1)) ;;\n        -*) ;;\n"
          "        *) if [[ -z $noun ]]; then noun=$words[i]; elif [[ -z $verb ]]; then verb=$words[i]; fi ;;\n"
          "        esac\n    done\n    case $words[CURRENT-1] in\n",
          to);
    zsh_values(to, "", cli_global_options, cli_global_option_count);
    fputs("    esac\n    [[ -z $kind ]] || { noun=''; verb='' }\n    if [[ -z $noun && -z $kind && $words[CURRENT] != -* ]]; then\n        "
          "items=(",
          to);
}

void completion_zsh(FILE *to, const struct cli_command *const *commands, size_t count)
{
    zsh_begin(to);
    for (size_t n = 0; n < cli_noun_count; n++) {
        zsh_item(to, "", cli_nouns[n].noun, cli_nouns[n].summary);
    }
    fputs(")\n        _describe command items\n        return\n    fi\n    if [[ -z $verb && -z $kind && $words[CURRENT] != -* ]]; then\n  "
          "      case $noun in\n",
          to);
    for (size_t n = 0; n < cli_noun_count; n++) {
        fprintf(to, "        %s) items=(", cli_nouns[n].noun);
        for (size_t i = 0; i < count; i++) {
            if (strcmp(commands[i]->noun, cli_nouns[n].noun) == 0) {
                zsh_item(to, "", commands[i]->verb, commands[i]->summary);
            }
        }
        fputs(") ;;\n", to);
    }
    fputs("        esac\n        _describe command items\n        return\n    fi\n    case \"$noun $verb\" in\n", to);
    for (size_t i = 0; i < count; i++) {
        fprintf(to, "    '%s %s') kind=%s; items=(", commands[i]->noun, commands[i]->verb, operand_names[kind_of(commands[i]->operands)]);
        zsh_options(to, commands[i]->options, commands[i]->option_count);
        fputs(") ;;\n", to);
    }
    fputs("    esac\n    items+=(", to);
    zsh_options(to, cli_global_options, cli_global_option_count);
    fputs(")\n    case \"$noun $verb $words[CURRENT-1]\" in\n", to);
    for (size_t i = 0; i < count; i++) {
        char where[96];
        snprintf(where, sizeof(where), "%s %s ", commands[i]->noun, commands[i]->verb);
        zsh_values(to, where, commands[i]->options, commands[i]->option_count);
    }
    fputs("    esac\n", to);
    fputs(zsh_end, to);
}

/* ---- muster completion ---- */

static int run_bash(struct cli *cli)
{
    completion_bash(cli->out, cli->commands, cli->command_count);
    return CLI_OK;
}

const struct cli_command command_completion_bash = {.noun = "completion",
                                                    .verb = "bash",
                                                    .reach = REACHES_NOBODY,
                                                    .operands = "",
                                                    .summary = "Prints completion for bash.",
                                                    .details = "In ~/.bashrc:\n\n    source <(muster completion bash)",
                                                    .run = run_bash};

static int run_zsh(struct cli *cli)
{
    completion_zsh(cli->out, cli->commands, cli->command_count);
    return CLI_OK;
}

const struct cli_command command_completion_zsh = {
    .noun = "completion",
    .verb = "zsh",
    .reach = REACHES_NOBODY,
    .operands = "",
    .summary = "Prints completion for zsh.",
    .details = "Into a folder of $fpath, under the name _muster:\n\n    muster completion zsh > ~/.zsh/completions/_muster",
    .run = run_zsh};
