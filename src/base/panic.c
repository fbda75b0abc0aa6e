/* panic.c: the one way to stop when an invariant is broken. */
#include <muster/base.h>

#include <stdio.h>
#include <stdlib.h>

static void panic_to_stderr(const char *file, int line, const char *text)
{
    fprintf(stderr, "evt=panic file=%s line=%d check=\"%s\"\n", file, line, text);
    fflush(stderr);
}

static muster_panic_fn *panic_handler = panic_to_stderr;

void muster_set_panic(muster_panic_fn *handler)
{
    panic_handler = handler != NULL ? handler : panic_to_stderr;
}

_Noreturn void muster_panic(const char *file, int line, const char *text)
{
    panic_handler(file, line, text);
    abort();
}
