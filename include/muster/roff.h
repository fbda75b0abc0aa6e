/* roff.h: text as roff takes it, for manual pages: no line begins with what it takes for a request, and backslashes and dashes are what they are. */
#ifndef MUSTER_ROFF_H
#define MUSTER_ROFF_H

#include <muster/base.h>

/* What is put begins a line. 0 or LIMIT, as buf_put(). */
int roff_put(struct buf *out, struct str text);

#endif
