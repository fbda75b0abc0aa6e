/* office.c: who led the shard, and so coordinated its groups, since when: the newest offices. They are of the shard and not of a group: a coordinator that moves does
 * nothing to its groups, and a record for each of them would make that dear. */
#include "history.h"

#include "../sorted.h"

#include <string.h>

struct office { /* a CoordinatorMove as logged */
    int32_t shard, number;
    int32_t value_len;
    uint64_t record_hash;
    uint8_t value[];
};

/* ---- the state -------------------------------------------------------------------------------------------------------------------------- */

static size_t office_bytes(int32_t value_len)
{
    return sizeof(struct office) + (size_t)value_len;
}

/* By the whole key, whatever a log says. */
static int office_order(const void *in, int32_t place, const void *key)
{
    const struct office *o = ((struct office *const *)in)[place];
    const struct coordinator_move_key *k = key;
    if (o->number != k->number) {
        return o->number < k->number ? -1 : 1;
    }
    return (o->shard > k->shard) - (o->shard < k->shard);
}

static void reserve(struct group_set *set)
{
    enum { STEP = 8 };
    if (set->office_count < set->office_capacity) {
        return;
    }
    struct office **grown = pool_get(set->pool, (size_t)(set->office_capacity + STEP) * sizeof(struct office *));
    if (set->office_count > 0) {
        memcpy(grown, set->offices, (size_t)set->office_count * sizeof(struct office *));
    }
    pool_put(set->pool, set->offices, (size_t)set->office_capacity * sizeof(struct office *));
    set->offices = grown;
    set->office_capacity += STEP;
}

static void drop(struct group_set *set, int32_t at)
{
    struct office *o = set->offices[at];
    group_hash_replace(set, o->record_hash, 0);
    pool_put(set->pool, o, office_bytes(o->value_len));
    set->office_count--;
    memmove(&set->offices[at], &set->offices[at + 1], (size_t)(set->office_count - at) * sizeof(struct office *));
}

void office_apply(const struct apply_context *c, const struct coordinator_move_key *key, bool live)
{
    struct group_set *set = c->set;
    bool found;
    int32_t at = sorted_place(set->offices, set->office_count, office_order, key, &found);
    if (found) {
        drop(set, at);
    }
    if (!live) {
        return;
    }
    reserve(set);
    struct office *o = pool_get(set->pool, office_bytes(c->raw.value.len));
    *o = (struct office){.shard = key->shard, .number = key->number, .value_len = c->raw.value.len, .record_hash = c->record_hash};
    memcpy(o->value, c->raw.value.ptr, (size_t)c->raw.value.len);
    memmove(&set->offices[at + 1], &set->offices[at], (size_t)(set->office_count - at) * sizeof(struct office *));
    set->offices[at] = o;
    set->office_count++;
    group_hash_replace(set, 0, o->record_hash);
}

void offices_free(struct group_set *set)
{
    for (int32_t i = 0; i < set->office_count; i++) {
        pool_put(set->pool, set->offices[i], office_bytes(set->offices[i]->value_len));
    }
    pool_put(set->pool, set->offices, (size_t)set->office_capacity * sizeof(struct office *));
    set->offices = NULL;
    set->office_count = set->office_capacity = 0;
}

struct record office_record(const struct office *o, struct arena *arena)
{
    struct coordinator_move_key key = {.shard = o->shard, .number = o->number};
    struct record record = wire_record_encode(RECORD_COORDINATOR_MOVE, &key, 0, NULL, arena);
    record.value = (struct bytes){o->value, o->value_len};
    return record;
}

bool group_set_office(const struct group_set *set, int32_t nth, struct group_office *ret)
{
    struct coordinator_move_value v = {.node_id = -1, .from_node_id = -1, .silent_ms = -1};
    struct arena none;
    if (nth >= set->office_count) {
        return false;
    }
    const struct office *o = set->offices[set->office_count - 1 - nth];
    if (o->value_len >= 2) {
        struct bytes body = {o->value + 2, o->value_len - 2};
        arena_init(&none, 1); /* nothing is taken from it: the value has no arrays */
        (void)wire_decode(&wire_coordinator_move_value, (int16_t)get_be16(o->value), body, &none, &v, NULL);
        arena_fini(&none);
    }
    *ret = (struct group_office){.node_id = v.node_id,
                                 .from_node_id = v.from_node_id,
                                 .term = v.term,
                                 .clock_ms = v.clock_ms,
                                 .wall_ms = v.wall_ms,
                                 .silent_ms = v.silent_ms,
                                 .handed_over = v.handed_over};
    return true;
}

/* ---- the decision ----------------------------------------------------------------------------------------------------------------------- */

/* Behind the newest one, and the oldest go. Who led before is the newest of those that this node and the log know of. */
static void write_move(struct decision *d, const struct group_office *last)
{
    const struct group_office *o = d->op->office;
    bool logged = last->term > o->from_term;
    struct coordinator_move_key key = {.shard = (int32_t)d->set->shard, .number = 1};
    struct coordinator_move_value value = {
        .node_id = o->node_id,
        .term = o->term,
        .clock_ms = o->clock_ms,
        .wall_ms = o->wall_ms,
        .from_node_id = logged ? last->node_id : o->from_node_id,
        .silent_ms = logged ? -1 : o->silent_ms,
        .handed_over = !logged && o->handed_over,
    };
    if (d->set->office_count > 0) {
        int32_t newest = d->set->offices[d->set->office_count - 1]->number;
        key.number = newest < INT32_MAX ? newest + 1 : INT32_MAX;
    }
    for (int32_t i = 0; i + OFFICES_KEPT <= d->set->office_count; i++) {
        struct coordinator_move_key old = {.shard = d->set->offices[i]->shard, .number = d->set->offices[i]->number};
        out_record(d, RECORD_COORDINATOR_MOVE, &old, 0, NULL);
    }
    out_record(d, RECORD_COORDINATOR_MOVE, &key, 0, &value);
}

static bool is_recorded(const struct decision *d, const struct group_office *last)
{
#ifdef MUSTER_FAULT_OFFICE_OF_THE_SAME_NODE
    if (last->node_id == d->op->office->node_id) {
        return true;
    }
#endif
    return last->term >= d->op->office->term;
}

void office_decide(struct decision *d)
{
    struct group_office last = {.node_id = -1};
    bool any = group_set_office(d->set, 0, &last);
    d->out->verdict = GROUP_SILENT;
    if (!history_is_kept_from(d, OFFICE_FEATURE_LEVEL)) {
        out_rule(d, "office: no history is kept");
    } else if (any && is_recorded(d, &last)) {
        out_rule(d, "office: recorded already");
    } else {
        write_move(d, &last);
        out_rule(d, "office: recorded");
    }
}
