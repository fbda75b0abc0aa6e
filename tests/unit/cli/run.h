/* run.h: a command line run in this process, its output kept. */
#ifndef TESTS_CLI_RUN_H
#define TESTS_CLI_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands.h"
#include "log.h"

struct run {
    int code;
    char *out, *err;
};
/* The words up to NULL, without the program's name. The result is freed by run_fini. */
struct run run_cli(const char *word, ...) __attribute__((sentinel));
void run_fini(struct run *r);
/* It ended so and said that, NULL: anything; it is freed. */
void assert_run(struct run r, int code, const char *out, const char *err);
/* A command's context without a command line, for functions that take one. cli_begin, then the call, then cli_end gives the output. */
void cli_begin(struct cli *cli, struct run *r, bool json);
void cli_end(struct cli *cli, struct run *r, int code);
/* Every column of the tables it printed is named on the command's page; it ended well, and is freed. */
void assert_columns_told(struct run r, const char *noun, const char *verb);
int lines_of(const char *text);
int count_of(const char *text, const char *word);

#endif
