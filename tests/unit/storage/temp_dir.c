/* temp_dir.c: a real folder for a test. */
#include "temp_dir.h"

#include <muster/base.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void temp_dir_make(char dst[TEMP_DIR_BYTES])
{
    const char *base = getenv("TMPDIR");
    int len = snprintf(dst, TEMP_DIR_BYTES, "%s/muster-storage-XXXXXX", base != NULL ? base : "/tmp");
    MUSTER_CHECK(len > 0 && len < TEMP_DIR_BYTES);
    MUSTER_CHECK(mkdtemp(dst) != NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void temp_dir_remove(const char *dir)
{
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
