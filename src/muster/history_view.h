/* history_view.h: the history of a group's rebalances, as people and programs see it. */
#ifndef MUSTER_CLI_HISTORY_VIEW_H
#define MUSTER_CLI_HISTORY_VIEW_H

#include "cli.h"
#include "client.h"
#include "group_view.h"

#include <jansson.h>

typedef struct group_history_response history_answer;
typedef struct group_history_response_rebalance history_rebalance;
typedef struct group_history_response_coordinator_move coordinator_move;

/* GroupHistory. VERSION: the cluster has no such request. The answer's own error is the caller's. */
int history_fetch(struct client *c, struct str group, struct arena *arena, const history_answer **ret);
/* "member_joined x3, session_expired". In the arena, as the following. */
struct str history_causes(const history_rebalance *r, struct arena *arena);
/* "orders,returns and 3 more": the topics that a cause names; null: none. */
struct str history_topics_text(const struct group_history_response_cause *c, struct arena *arena);
/* "1.2 s", "350 ms", "2 min 5 s". */
struct str history_duration(int64_t ms, struct arena *arena);
/* "coordinator moved from node 2 to node 1 (term 7, nobody led for at most 41 ms), without effect". */
struct str history_move_text(const history_answer *h, const coordinator_move *m, struct arena *arena);
bool history_move_is_within(const history_answer *h, const coordinator_move *m); /* a rebalance went on */
/* " At TIME its coordinator moved ...": what came since the newest rebalance began. Empty: nothing. */
struct str history_moved_since(const history_answer *h, struct arena *arena);
/* One sentence: when the group rebalanced last, why, and what came of it; another one if its coordinator has moved since. */
struct str history_why(struct str group, const history_answer *h, struct arena *arena);
/* " It waits for member m (client c at h).": who has not come to the group's epoch, which is to say has not given up what it should; else who lacks something. Empty: nobody. */
struct str history_waits(const struct group_view *g, struct arena *arena);
void history_print(struct cli *cli, struct str group, const history_answer *h, int width); /* the tables, as table_print_within */
json_t *history_json(struct str group, const history_answer *h, struct arena *arena);

#endif
