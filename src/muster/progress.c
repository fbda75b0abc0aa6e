#include "progress.h"

#include "client.h"
#include "out.h"

#include <inttypes.h>
#include <unistd.h>

enum { EVERY_MS = 100, BAR = 30 };

void progress(struct cli *cli, const char *what, int64_t done, int64_t all)
{
    if (cli->progress.where == PROGRESS_UNKNOWN) {
        cli->progress.where = out_is_terminal(cli->err) ? PROGRESS_ON_TERMINAL : PROGRESS_NOWHERE;
    }
    if (cli->progress.where == PROGRESS_NOWHERE || all <= 0) {
        return;
    }
    int64_t now = client_now_ms();
    if (cli->progress.shown_ms != 0 && now - cli->progress.shown_ms < EVERY_MS) {
        return;
    }
    fflush(cli->out);
    cli->progress.shown_ms = now;
    cli->progress.on = true;
    done = done > all ? all : done; /* what is read may grow meanwhile */
    int filled = (int)(done * BAR / all);
    fprintf(cli->err, "\r\033[K%s [%.*s%*s] %" PRId64 "/%" PRId64, what, filled, "##############################", BAR - filled, "", done,
            all);
    fflush(cli->err);
}

void progress_end(struct cli *cli)
{
    if (cli->progress.on) {
        fputs("\r\033[K", cli->err);
        cli->progress.on = false;
    }
}
