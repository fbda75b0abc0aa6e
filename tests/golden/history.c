/* history.c: the commands of a group's history: `level 2`, the feature level of the cluster, `cursor`, and `history group=g`, GroupHistory. */
#include "words.h"

void command_level(struct golden *g, const struct words *w)
{
    world_level(&g->world, (int16_t)(w->count > 1 ? ms_of(w->word[1]) : 1));
}

/* The shard has acted on all that the catalogue holds. */
void command_cursor(struct golden *g, const struct words *w)
{
    struct group_op op = {.kind = CATALOG_CURSOR, .api_key = -1, .group_id = STR_NULL, .catalog_index = (int64_t)g->world.index};
    (void)w;
    world_run(&g->world, &op);
}

void command_history(struct golden *g, const struct words *w)
{
    world_submit(&g->world, request_new(w, GROUP_HISTORY, &wire_group_history_response, 0));
}
