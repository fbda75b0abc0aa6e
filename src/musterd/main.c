/* main.c: the verbs of musterd. */
#include "server.h"

#include <stdio.h>
#include <string.h>

#ifndef MUSTER_VERSION
#error "MUSTER_VERSION comes from the build"
#endif

static const char usage[] = "musterd: a node of a Kafka group coordinator on Raft\n"
                            "\n"
                            "  musterd --config FILE          runs the node until SIGTERM or SIGINT\n"
                            "  musterd form --config FILE     forms the cluster: every node of muster.peers has to run and be empty\n"
                            "  musterd --check-config FILE    says what is wrong with a configuration, or that nothing is\n"
                            "  musterd --help-config          prints every configuration key\n"
                            "  musterd --version\n"
                            "  musterd --help\n"
                            "\n"
                            "A node of an empty folder waits until the cluster is formed and serves nobody before.\n"
                            "Log lines go to standard error.\n"
                            "\n"
                            "Exit status\n"
                            "   0  ended as it was told to\n"
                            "   1  --check-config: the configuration is wrong\n"
                            "   2  wrong usage\n"
                            "   3  the configuration is wrong, or does not fit the data folder\n"
                            "   4  the data folder is in use, cannot be written or is damaged\n"
                            "   5  an address cannot be listened on\n"
                            "   6  the cluster could not be formed\n"
                            "   7  the data is of a feature level that this program does not know: a newer one is needed\n"
                            "   8  the node was removed from its cluster\n"
                            "  70  stopped while running, to keep the data safe\n";

static int wrong_usage(const char *what)
{
    fprintf(stderr, "musterd: %s\n%s", what, usage);
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
        fputs(usage, stdout);
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
