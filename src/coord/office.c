/* That this node took office, for the history of the shard's groups: their coordinator moved.
 *
 * Nobody waits for that. It goes with the first entry of the office that is written anyway; only where nothing is written for a while it has one of its own. */
#include "internal.h"

enum { LATEST_US = 100000, AGAIN_US = 100000 };

void office_known(struct shard *s, uint32_t leader, uint64_t term)
{
    s->led_by = leader;
    s->led_term = term;
}

/* The shard's coordinator is this node from now on; called before anything of what it knew of the one before is forgotten. */
void office_taken(struct shard *s)
{
    struct coord *c = s->coord;
    struct replica_shard_status status;
    replica_status(c->replica, s->id, &status);
    bool another = s->led_by != 0 && s->led_by != replica_self(c->replica);
    s->office = (struct group_office){
        .node_id = (int32_t)replica_self(c->replica),
        .from_node_id = s->led_by == 0 ? -1 : (int32_t)s->led_by,
        .term = (int64_t)s->term,
        .from_term = (int64_t)s->led_term,
        .clock_ms = shard_clock_ms(s),
        .wall_ms = c->events.wall_ms(c->events.ctx),
        .silent_ms = s->led_by != 0 && status.led_us > 0 ? (c->now_us - status.led_us + 999) / 1000 : -1,
        .handed_over = another && s->handover_announced && s->handover_from == s->led_by && s->handover_term + 1 == s->term,
    };
    s->office_due_us = c->now_us + LATEST_US;
}

void office_lost(struct shard *s)
{
    s->office_due_us = 0;
}

void office_again(struct shard *s)
{
    s->office_due_us = s->coord->now_us + AGAIN_US;
}

/* Whether it is recorded goes by the catalogue, which says what the cluster's level is. */
static bool may_be_recorded(const struct shard *s)
{
    return s->office_due_us != 0 && s->role == REPLICA_SERVING && catalog_ready(s);
}

int64_t office_due_us(const struct shard *s)
{
    return may_be_recorded(s) ? s->office_due_us : INT64_MAX;
}

void office_step(struct shard *s)
{
    struct coord *c = s->coord;
    struct group_out out;
    if (!may_be_recorded(s) || (s->turn.flight == NULL && c->now_us < s->office_due_us))
        return;
    struct group_op op = {.kind = SHARD_OFFICE,
                          .api_key = -1,
                          .api_version = -1,
                          .group_id = STR_NULL,
                          .caller = {STR_NULL, STR_NULL},
                          .release = STR_NULL,
                          .office = &s->office};
    op_fill(s, NULL, &op);
    group_decide(s->set, &op, &s->turn.arena, &out);
    s->office_due_us = 0;
    if (c->events.decided != NULL)
        c->events.decided(c->events.ctx, s->id, &op, &out);
    if (out.records.len > 0)
        turn_note(s, &op, &out);
}
