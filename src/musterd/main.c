/* main.c: the verbs of musterd. */
#include "manual.h"
#include "server.h"

#include <stdio.h>
#include <string.h>

#ifndef MUSTER_VERSION
#error "MUSTER_VERSION comes from the build"
#endif

static int wrong_usage(const char *what)
{
    fprintf(stderr, "musterd: %s\n", what);
    manual_usage(stderr);
    return SERVER_EXIT_USAGE;
}

static int with_config(const char *path, int (*run)(const struct config *config))
{
    struct config config;
    struct buf errors;
    buf_init(&errors, 0);
    config_init(&config);
    int rc = config_load(&config, path, &errors);
    if (rc < 0) {
        fprintf(stderr, "%.*smusterd: the configuration %s cannot be used (musterd --help-config prints every key)\n", (int)errors.len,
                errors.ptr != NULL ? (const char *)errors.ptr : "", path);
    } else {
        log_set(NULL, NULL, (enum log_level)config.log_level);
    }
    int code = rc < 0 ? SERVER_EXIT_CONFIG : run(&config);
    buf_fini(&errors);
    config_fini(&config);
    return code;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        manual_usage(stdout);
        return SERVER_EXIT_OK;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("musterd " MUSTER_VERSION);
        return SERVER_EXIT_OK;
    }
    if (argc == 2 && strcmp(argv[1], "--help-config") == 0) {
        config_help(stdout);
        return SERVER_EXIT_OK;
    }
    if (argc == 2 && strcmp(argv[1], "--manual") == 0) {
        manual_page(stdout);
        return SERVER_EXIT_OK;
    }
    if (argc == 3 && strcmp(argv[1], "--check-config") == 0) {
        return config_check(argv[2], stdout, stderr);
    }
    if (argc == 3 && strcmp(argv[1], "--config") == 0) {
        return with_config(argv[2], server_run);
    }
    if (argc == 4 && strcmp(argv[1], "form") == 0 && strcmp(argv[2], "--config") == 0) {
        return with_config(argv[3], form_run);
    }
    return wrong_usage(argc < 2 ? "nothing to do" : "these arguments are not understood");
}
