/* form.c: muster cluster form. Forming is done by `musterd form`, which has the configuration with the peers; it stands beside this program. */
#include "commands.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MUSTERD_USAGE = 2, MUSTERD_CONFIG = 3 };

/* The musterd in this program's own folder, else the one on the path. */
static const char *find_musterd(struct arena *arena)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len > 0) {
        self[len] = '\0';
        char *slash = strrchr(self, '/');
        if (slash != NULL) {
            *slash = '\0';
            const char *beside = arena_printf(arena, "%s/musterd", self).ptr;
            if (access(beside, X_OK) == 0) {
                return beside;
            }
        }
    }
    return "musterd";
}

static int run_form(struct cli *cli)
{
    const char *config = cli_text(cli, "config");
    pid_t pid;
    int status = 0;
    if (config == NULL) {
        return cli_fail(cli, CLI_USAGE, "--config FILE is missing: the configuration of one of the nodes, which names them all");
    }
    const char *program = find_musterd(&cli->arena);
    char *const arguments[] = {(char *)"musterd", (char *)"form", (char *)"--config", (char *)config, NULL};
    fflush(cli->out);
    int rc = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
    if (rc != 0) {
        return cli_fail(cli, CLI_FAILED, "%s cannot be run: %s", program, strerror(rc));
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return cli_fail(cli, CLI_FAILED, "%s cannot be waited for: %s", program, strerror(errno));
        }
    }
    if (!WIFEXITED(status)) {
        return cli_fail(cli, CLI_FAILED, "%s was killed", program);
    }
    int code = WEXITSTATUS(status);
    return code == 0 ? CLI_OK : code == MUSTERD_USAGE || code == MUSTERD_CONFIG ? CLI_USAGE : CLI_FAILED;
}

static const struct cli_option form_options[] = {
    {"config", "FILE", "the configuration of one of the nodes"},
};

const struct cli_command command_cluster_form = {
    .noun = "cluster",
    .verb = "form",
    .operands = "",
    .summary = "Forms a cluster of empty nodes, once.",
    .details =
        "Every node that the configuration's muster.peers names has to run and be empty; otherwise nothing is done. What it prints is\n"
        "from musterd, whose `form` does the work.",
    .options = form_options,
    .option_count = COUNT_OF(form_options),
    .run = run_form};
