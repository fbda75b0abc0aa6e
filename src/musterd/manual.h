/* manual.h: what musterd says of itself, for a terminal and as a manual page. */
#ifndef MUSTER_SERVER_MANUAL_H
#define MUSTER_SERVER_MANUAL_H

#include <stdio.h>

void manual_usage(FILE *out);
/* musterd(8), in roff with the man macros. */
void manual_page(FILE *out);

#endif
