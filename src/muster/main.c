/* main.c: the commands of `muster`. */
#include "commands.h"

#include <signal.h>

static const struct cli_command *const commands[] = {
    &command_cluster_status,  &command_cluster_form,       &command_cluster_transfer, &command_topics_create, &command_topics_list,
    &command_topics_describe, &command_topics_delete,      &command_topics_set_end,   &command_groups_list,   &command_groups_describe,
    &command_groups_delete,   &command_groups_coordinator, &command_offsets_list,
};

int main(int argc, char **argv)
{
    /* `muster log dump | head` ends as other tools do. */
    signal(SIGPIPE, SIG_DFL);
    return cli_main(commands, COUNT_OF(commands), argc, argv, stdout, stderr);
}
