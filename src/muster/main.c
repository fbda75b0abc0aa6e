/* main.c: the program `muster`. */
#include "commands.h"

#include <signal.h>

int main(int argc, char **argv)
{
    /* `muster log dump | head` ends as other tools do. */
    signal(SIGPIPE, SIG_DFL);
    return cli_main(cli_commands, cli_command_count, argc, argv, stdout, stderr);
}
