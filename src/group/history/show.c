/* show.c: GroupHistory: the history of one group, for people. */
#include "../errors.h"
#include "../modern/modern.h"
#include "history.h"

typedef struct group_history_response response;
typedef struct group_history_response_rebalance rebalance;

static const char *type_name(int8_t type)
{
    return type == GROUP_CONSUMER ? "consumer" : type == GROUP_STREAMS ? "streams" : "classic";
}

static bool read(const struct history_record *r, const struct wire_msg *msg, struct arena *arena, void *ret)
{
    struct bytes value = history_value(r);
    struct bytes body = {value.ptr + 2, value.len - 2};
    return value.len >= 2 && wire_decode(msg, (int16_t)get_be16(value.ptr), body, arena, ret, NULL) == 0;
}

/* ---- the parts of a rebalance ------------------------------------------------------------------------------------------------------- */

static void show_rebalance(const struct group_rebalance_value *v, int32_t number, struct arena *arena, rebalance *ret)
{
    ret->rebalance = number;
    ret->group_type = str_of(type_name(v->group_type));
    ret->began_clock_ms = v->began_clock_ms;
    ret->began_wall_ms = v->began_wall_ms;
    ret->epoch_before = v->epoch_before;
    ret->epoch_after = v->epoch_after;
    ret->members = v->members;
    ret->prepared_clock_ms = v->prepared_clock_ms;
    ret->settled_clock_ms = v->settled_clock_ms;
    ret->last_member_id = v->last_member_id;
    ret->last_client_id = v->last_client_id;
    ret->last_host = v->last_host;
    ret->moved = v->moved;
    ret->counts.v = ARENA_NEW(arena, struct group_history_response_count, v->causes.len);
    ret->counts.len = v->causes.len;
    for (int32_t i = 0; i < v->causes.len; i++) {
        ret->counts.v[i] = (struct group_history_response_count){str_of(group_cause_name(v->causes.v[i].cause)), v->causes.v[i].count};
    }
}

static void show_cause(const struct group_rebalance_cause_value *v, int32_t number, struct group_history_response_cause *ret)
{
    ret->number = number;
    ret->cause = str_of(group_cause_name(v->cause));
    ret->clock_ms = v->clock_ms;
    ret->wall_ms = v->wall_ms;
    ret->epoch = v->epoch;
    ret->member_id = v->member_id;
    ret->client_id = v->client_id;
    ret->host = v->host;
    ret->instance_id = v->instance_id;
    ret->reason = v->reason;
    ret->timeout_ms = v->timeout_ms;
    ret->by_client_id = v->by_client_id;
    ret->by_host = v->by_host;
    ret->topics = v->topics;
    ret->topics_more = v->topics_more;
}

static void show_moves(const struct group_rebalance_moves_value *v, struct arena *arena, rebalance *ret)
{
    ret->moves.v = ARENA_NEW(arena, struct group_history_response_move, v->moves.len);
    ret->moves.len = v->moves.len;
    ret->moves_more = v->more;
    for (int32_t i = 0; i < v->moves.len; i++) {
        const struct group_rebalance_moves_value_move *from = &v->moves.v[i];
        struct group_history_response_move *to = &ret->moves.v[i];
        to->from_member_id = from->from_member_id;
        to->to_member_id = from->to_member_id;
        to->name = from->name;
        to->partitions = from->partitions;
        to->count = from->count;
    }
}

/* A record that cannot be read, from a log that says anything, is passed over. */
static void show_record(const struct history_record *r, struct arena *arena, rebalance *ret)
{
    struct group_rebalance_value v;
    struct group_rebalance_cause_value cause;
    struct group_rebalance_moves_value moves;
    switch (r->type) {
    case RECORD_GROUP_REBALANCE:
        if (read(r, &wire_group_rebalance_value, arena, &v)) {
            show_rebalance(&v, r->rebalance, arena, ret);
        }
        return;
    case RECORD_GROUP_REBALANCE_CAUSE:
        if (read(r, &wire_group_rebalance_cause_value, arena, &cause)) {
            show_cause(&cause, r->number, &ret->causes.v[ret->causes.len++]);
        }
        return;
    default:
        if (read(r, &wire_group_rebalance_moves_value, arena, &moves)) {
            show_moves(&moves, arena, ret);
        }
        return;
    }
}

/* ---- the group ---------------------------------------------------------------------------------------------------------------------- */

static void show_all(const struct history *h, struct arena *arena, response *ret)
{
    ret->rebalances.v = ARENA_NEW(arena, rebalance, h->count);
    rebalance *at = NULL;
    for (int32_t i = 0; i < h->count; i++) {
        const struct history_record *r = h->v[i];
        if (i == 0 || r->rebalance != h->v[i - 1]->rebalance) {
            at = &ret->rebalances.v[ret->rebalances.len++];
            *at = (rebalance){.rebalance = r->rebalance, .prepared_clock_ms = -1, .settled_clock_ms = -1};
            at->group_type = STR("");
            at->last_member_id = at->last_client_id = at->last_host = STR_NULL;
            at->causes.v = ARENA_NEW(arena, struct group_history_response_cause, h->count - i);
        }
        show_record(r, arena, at);
    }
}

/* Those that came when the group was there already, the oldest first. */
static void show_offices(const struct decision *d, const struct group *g, response *ret)
{
    struct group_office o;
    ret->coordinator_moves.v = ARENA_NEW(d->arena, struct group_history_response_coordinator_move, d->set->office_count);
    for (int32_t nth = d->set->office_count - 1; nth >= 0 && group_set_office(d->set, nth, &o); nth--) {
        if (o.clock_ms >= g->since_clock_ms) {
            ret->coordinator_moves.v[ret->coordinator_moves.len++] =
                (struct group_history_response_coordinator_move){.node_id = o.node_id,
                                                                 .term = o.term,
                                                                 .clock_ms = o.clock_ms,
                                                                 .wall_ms = o.wall_ms,
                                                                 .from_node_id = o.from_node_id,
                                                                 .silent_ms = o.silent_ms,
                                                                 .handed_over = o.handed_over};
        }
    }
}

static void show_group(const struct decision *d, const struct group *g, response *ret)
{
    struct group_listing listing;
    const struct modern *s = group_modern(g);
    if (group_listing(d->set, g->id, &listing)) {
        ret->group_type = listing.type;
        ret->group_state = listing.state;
    }
    ret->epoch = s != NULL ? s->epoch : g->classic.generation;
    if (g->history != NULL) {
        show_all(g->history, d->arena, ret);
    }
    show_offices(d, g, ret);
}

void history_show(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    response *answer = ARENA_NEW(d->arena, response, 1);
    wire_init(&wire_group_history_response, answer);
    answer->clock_ms = d->op->clock_ms;
    answer->wall_ms = d->op->wall_ms;
    answer->recorded = history_is_kept(d);
    if (g == NULL) {
        answer->error_code = KAFKA_GROUP_ID_NOT_FOUND;
        answer->error_message = arena_printf(d->arena, "Group %.*s not found.", STR_ARG(d->op->group_id));
    } else {
        show_group(d, g, answer);
    }
    out_answer(d, g == NULL ? "history: unknown group" : "history: told", answer->error_code, answer);
}
