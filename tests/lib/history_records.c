#include "history_records.h"

static struct record draw_rebalance(struct record_draw *d)
{
    struct group_rebalance_key key = {.group_id = drawn_group(d), .rebalance = drawn_number(d)};
    struct group_rebalance_value_count counts[3];
    struct group_rebalance_value v;
    wire_init(&wire_group_rebalance_value, &v);
    v.group_type = (int8_t)drawn_number(d);
    v.began_clock_ms = drawn_number(d);
    v.epoch_before = drawn_number(d);
    v.epoch_after = drawn_number(d);
    v.prepared_clock_ms = drawn_number(d);
    v.settled_clock_ms = (int64_t)drawn_number(d) - 1;
    v.last_member_id = drawn_maybe(d, drawn_member(d));
    v.moved = drawn_number(d);
    v.causes.v = counts;
    v.causes.len = (int32_t)drawn_below(d, 4);
    for (int32_t i = 0; i < v.causes.len; i++) {
        counts[i] = (struct group_rebalance_value_count){(int8_t)drawn_number(d), drawn_number(d)};
    }
    return wire_record_encode(RECORD_GROUP_REBALANCE, &key, 0, &v, d->arena);
}

static struct record draw_cause(struct record_draw *d)
{
    struct group_rebalance_cause_key key = {.group_id = drawn_group(d), .rebalance = drawn_number(d), .number = drawn_number(d)};
    struct group_rebalance_cause_value v;
    wire_init(&wire_group_rebalance_cause_value, &v);
    v.cause = (int8_t)drawn_number(d);
    v.clock_ms = drawn_number(d);
    v.epoch = drawn_number(d);
    v.member_id = drawn_maybe(d, drawn_member(d));
    v.reason = drawn_maybe(d, drawn_name(d, "because ", 3));
    v.timeout_ms = drawn_number(d);
    return wire_record_encode(RECORD_GROUP_REBALANCE_CAUSE, &key, 0, &v, d->arena);
}

static struct record draw_moves(struct record_draw *d)
{
    struct group_rebalance_moves_key key = {.group_id = drawn_group(d), .rebalance = drawn_number(d)};
    struct group_rebalance_moves_value_move moves[3];
    struct group_rebalance_moves_value v = {.moves = {moves, (int32_t)drawn_below(d, 4)}, .more = drawn_number(d)};
    for (int32_t i = 0; i < v.moves.len; i++) {
        moves[i].from_member_id = drawn_maybe(d, drawn_member(d));
        moves[i].to_member_id = drawn_maybe(d, drawn_member(d));
        moves[i].name = drawn_name(d, "t", 3);
        moves[i].partitions = drawn_partitions(d);
        moves[i].count = drawn_number(d);
    }
    return wire_record_encode(RECORD_GROUP_REBALANCE_MOVES, &key, 0, &v, d->arena);
}

/* Of the shard, and not of a group. */
static struct record draw_office(struct record_draw *d)
{
    struct coordinator_move_key key = {.shard = (int32_t)drawn_below(d, 2), .number = drawn_number(d)};
    struct coordinator_move_value v;
    wire_init(&wire_coordinator_move_value, &v);
    v.node_id = drawn_number(d);
    v.term = drawn_number(d);
    v.clock_ms = drawn_number(d);
    v.from_node_id = drawn_number(d);
    v.silent_ms = drawn_number(d);
    v.handed_over = drawn_below(d, 2) == 0;
    return wire_record_encode(RECORD_COORDINATOR_MOVE, &key, 0, &v, d->arena);
}

struct record draw_history_record(struct record_draw *d)
{
    static struct record (*const draws[])(struct record_draw * d) = {draw_rebalance, draw_cause, draw_moves, draw_office};
    uint64_t which = drawn_below(d, COUNT_OF(draws));
    struct record r = draws[which](d);
    if (drawn_below(d, 4) == 0) {
        r.value = BYTES_NULL;
    } else if (draws[which] != draw_cause && drawn_below(d, 8) == 0) { /* a cause has tagged fields of ours there */
        r.value = drawn_with_unknown_tag(d, r.value);
    }
    return r;
}
