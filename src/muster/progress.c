#include "progress.h"

#include "client.h"
#include "out.h"

#include <inttypes.h>
#include <unistd.h>

enum { EVERY_MS = 100, BAR = 30 };

void progress(struct cli *cli, const char *what, int64_t done, int64_t all)
{
    int64_t now = client_now_ms();
    if (!out_is_terminal(cli->err) || all <= 0 || (cli->progress_ms != 0 && now - cli->progress_ms < EVERY_MS)) {
        return;
    }
    cli->progress_ms = now;
    int filled = (int)(done * BAR / all);
    fprintf(cli->err, "\r%s [%.*s%*s] %" PRId64 "/%" PRId64, what, filled, "##############################", BAR - filled, "", done, all);
    fflush(cli->err);
}

void progress_end(struct cli *cli)
{
    if (cli->progress_ms != 0) {
        fputs("\r\033[K", cli->err);
        cli->progress_ms = 0;
    }
}
