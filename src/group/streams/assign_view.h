/* assign_view.h: a group as the assignor's numbers, and its numbers as a group's tasks; private to assign_view.c and job.c. */
#ifndef MUSTER_STREAMS_ASSIGN_VIEW_H
#define MUSTER_STREAMS_ASSIGN_VIEW_H

#include "assign.h"
#include "job.h"

struct numbered { /* a view in numbers */
    struct assign_in in;
    const struct str *member_ids;    /* by number */
    const struct str *subtopologies; /* ids, by number */
};
/* own: strings are copied; else they are borrowed from the view. */
void view_number(const struct assign_view *v, bool own, struct arena *arena, struct numbered *ret);
void view_solve(const struct numbered *n, struct arena *arena, struct assign_result *ret);

#endif
