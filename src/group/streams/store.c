/* store.c: what the records of streams groups say, kept. */
#include "streams.h"

void streams_free(struct group_set *set, struct group *g)
{
    (void)set;
    MUSTER_CHECK(g->streams == NULL);
}

void streams_clone(struct group_set *to, struct group *copy, const struct group *g)
{
    (void)to;
    (void)copy;
    MUSTER_CHECK(g->streams == NULL);
}
