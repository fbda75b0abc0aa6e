/* A turn's entry: all records that were decided for one shard since the last one, with who asked and why. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

void turn_init(struct turn *t)
{
    memset(t, 0, sizeof(*t));
    arena_init(&t->arena, 0);
}

void turn_fini(struct turn *t)
{
    arena_fini(&t->arena);
    free(t->causes);
    free(t->records);
    if (t->flight != NULL)
        flight_free(t->flight);
    t->flight = NULL;
}

static void *grown(void *v, size_t *cap, size_t len, size_t size)
{
    if (len < *cap)
        return v;
    *cap = *cap == 0 ? 32 : 2 * *cap;
    v = realloc(v, *cap * size);
    MUSTER_CHECK(v != NULL);
    return v;
}

bool turn_has_room(const struct shard *s, size_t bytes)
{
    return s->turn.record_count == 0 || s->turn.bytes + bytes <= s->coord->options.entry_max_bytes / 2;
}

static struct flight *turn_flight(struct turn *t)
{
    if (t->flight == NULL) {
        t->flight = calloc(1, sizeof(struct flight));
        MUSTER_CHECK(t->flight != NULL);
        request_list_init(&t->flight->requests);
    }
    return t->flight;
}

/* Its place in the entry. */
static int32_t add_cause(struct turn *t, struct log_entry_cause cause)
{
    t->causes = grown(t->causes, &t->cause_cap, t->cause_count, sizeof(*t->causes));
    t->causes[t->cause_count] = cause;
    return (int32_t)t->cause_count++;
}

static void add_record(struct shard *s, int32_t cause, struct record record)
{
    struct turn *t = &s->turn;
    t->records = grown(t->records, &t->record_cap, t->record_count, sizeof(*t->records));
    t->records[t->record_count++] = (struct log_entry_entry_record){.cause = cause, .key = record.key, .value = record.value};
    s->coord->stats.records++;
}

static int32_t turn_cause(struct turn *t, const struct group_op *op, const struct group_out *out)
{
    bool client = op->api_key >= 0;
    struct log_entry_cause cause = {
        .client_id = client ? op->caller.client_id : STR_NULL,
        .host = client ? op->caller.host : STR_NULL,
        .api_key = op->api_key,
        .api_version = op->api_version,
        .group_id = op_is_catalog(op->kind) ? STR_NULL : op->group_id,
        .reason = out->reason,
        .rule = str_of(out->rule != NULL ? out->rule : ""),
    };
    t->bytes += 40 + (size_t)cause.rule.len;
    return add_cause(t, cause);
}

void turn_remark(struct shard *s, const char *rule, struct record record)
{
    struct log_entry_cause nobody = {.client_id = STR_NULL,
                                     .host = STR_NULL,
                                     .api_key = -1,
                                     .api_version = -1,
                                     .group_id = STR_NULL,
                                     .reason = STR_NULL,
                                     .rule = str_of(rule)};
    add_record(s, add_cause(&s->turn, nobody), record);
}

static void keep_for_overlay(struct gate *g, const struct group_out *out, struct arena *scratch)
{
    for (size_t i = 0; i < out->records.len; i++) {
        g->turn_records = grown(g->turn_records, &g->turn_record_cap, g->turn_record_count, sizeof(*g->turn_records));
        g->turn_records[g->turn_record_count++] = out->records.v[i];
        if (g->overlay != NULL)
            MUSTER_CHECK(group_apply(g->overlay, 0, out->records.v[i], scratch));
    }
}

/* A group that nobody knows and nothing in flight makes: this turn makes it. */
static void reserve_group(struct shard *s, struct gate *g)
{
    if (g->catalog || g->flights > 0 || group_revision(s->set, g->id) != 0)
        return;
    g->creates = true;
    s->reserved_groups++;
}

static void turn_gate(struct shard *s, struct gate *g, bool member_change)
{
    struct flight *f = turn_flight(&s->turn);
    if (!g->in_turn) {
        f->gates = grown(f->gates, &f->gate_cap, f->gate_count, sizeof(*f->gates));
        f->gates[f->gate_count++] = g;
        g->in_turn = true;
        reserve_group(s, g);
    }
    if (member_change)
        g->member_in_turn = true;
}

/* Whoever is heard of is heard of now, not when what he said is stored: until then his session must not end. It is armed again behind it. */
static void prolong_sessions(struct shard *s, const struct coord_request *r)
{
#ifdef MUSTER_FAULT_HEARD_WHEN_STORED
    return;
#endif
    for (size_t i = 0; i < r->in.timer_count; i++) {
        const struct group_timer_wish *wish = &r->in.timers[i];
        if (wish->timer.kind == GROUP_TIMER_SESSION && wish->delay_ms >= 0 && !wish->keep && timer_find(&s->timers, &wish->timer) != NULL)
            timer_arm(&s->timers, &wish->timer, s->live_us + wish->delay_ms * 1000, r->connection);
    }
}

void turn_join(struct shard *s, struct gate *g, struct coord_request *r)
{
    MUSTER_CHECK(g->in_turn);
    prolong_sessions(s, r);
    r->in.state = REQUEST_IN_TURN;
    request_list_add(&turn_flight(&s->turn)->requests, r);
}

static void count_causes(struct coord_stats *stats, uint32_t causes)
{
    for (int cause = 0; causes != 0 && cause < GROUP_CAUSE_COUNT; cause++)
        stats->causes[cause] += causes >> cause & 1;
}

static void turn_records(struct shard *s, const struct group_op *op, const struct group_out *out)
{
    struct turn *t = &s->turn;
    int32_t cause = turn_cause(t, op, out);
    for (size_t i = 0; i < out->records.len; i++)
        add_record(s, cause, out->records.v[i]);
    t->bytes += out->records.bytes + 8 * out->records.len;
}

void turn_note(struct shard *s, const struct group_op *op, const struct group_out *out)
{
    turn_records(s, op, out);
    turn_flight(&s->turn)->office = true;
}

void turn_add(struct shard *s, struct gate *g, struct coord_request *r, const struct group_out *out)
{
    struct turn *t = &s->turn;
    enum group_op_class class = group_op_class(r->op.kind);
    bool member_change = class == GROUP_CLASS_MEMBERSHIP || class == GROUP_CLASS_EXCLUSIVE;
    turn_records(s, &r->op, out);
    turn_gate(s, g, member_change);
    if (class == GROUP_CLASS_MEMBERSHIP)
        keep_for_overlay(g, out, r->arena);
    if (class == GROUP_CLASS_EXCLUSIVE)
        g->exclusive = true;
    t->flight->bytes += (int64_t)out->records.bytes;
    t->flight->joins += op_adds_member(&r->op);
    s->reserved_bytes += (int64_t)out->records.bytes;
    s->reserved_members += op_adds_member(&r->op);
    count_causes(&s->coord->stats, out->causes);
    turn_join(s, g, r);
}

static struct bytes turn_encode(struct shard *s)
{
    struct turn *t = &s->turn;
    struct log_entry entry;
    wire_init(&wire_log_entry, &entry);
    entry.shard_clock_ms = shard_clock_ms(s);
    entry.wall_ms = s->coord->events.wall_ms(s->coord->events.ctx);
    entry.causes.v = t->causes;
    entry.causes.len = (int32_t)t->cause_count;
    entry.records.v = t->records;
    entry.records.len = (int32_t)t->record_count;
    entry.groups.v = ARENA_NEW(&t->arena, struct log_entry_group_revision, t->flight->gate_count);
    entry.groups.len = 0;
    for (size_t i = 0; i < t->flight->gate_count; i++) {
        const struct gate *g = t->flight->gates[i];
        if (g->catalog)
            continue;
        int64_t revision = group_revision(s->set, g->id) + (int64_t)g->flights;
        entry.groups.v[entry.groups.len++] = (struct log_entry_group_revision){.group_id = g->id, .revision = revision};
    }
    return wire_encode(&wire_log_entry, 0, &entry, &t->arena);
}

void turn_clear(struct turn *t)
{
    t->flight = NULL;
    t->cause_count = 0;
    t->record_count = 0;
    t->bytes = 0;
    arena_clear(&t->arena);
}

static void flight_launch(struct shard *s, struct flight *f)
{
    f->member_change = calloc(f->gate_count + 1, sizeof(bool));
    MUSTER_CHECK(f->member_change != NULL);
    for (size_t i = 0; i < f->gate_count; i++) {
        struct gate *g = f->gates[i];
        g->flights++;
        if (g->member_in_turn)
            g->member_flights++;
        f->member_change[i] = g->member_in_turn;
        gate_end_turn(g);
    }
    for (struct coord_request *r = f->requests.first; r != NULL; r = r->in.next)
        r->in.state = REQUEST_IN_FLIGHT;
    f->since_us = s->coord->now_us;
    *s->flights_end = f;
    s->flights_end = &f->next;
    s->coord->stats.entries++;
#ifdef MUSTER_FAULT_ANSWER_BEFORE_COMMIT
    for (struct coord_request *r; (r = request_list_take(&f->requests)) != NULL;)
        request_finish(s, r);
#endif
}

/* Nothing happened: the overlays go, the gates open again, and the requests are given back. */
static void flight_undo(struct shard *s, struct flight *f, struct request_list *ret)
{
    for (size_t i = 0; i < f->gate_count; i++) {
        f->gates[i]->exclusive = false;
        if (f->gates[i]->flights == 0)
            gate_made(s, f->gates[i]);
        gate_end_turn(f->gates[i]);
        gate_list_add(&s->opened, f->gates[i]);
    }
    request_list_move(&f->requests, ret);
    s->reserved_bytes -= f->bytes;
    s->reserved_members -= f->joins;
    if (f->office)
        office_again(s);
    if (f->hash)
        state_hash_again(s);
    flight_free(f);
}

void turn_withdraw(struct shard *s)
{
    struct flight *f = s->turn.flight;
    struct request_list requests;
    struct coord_request *r;
    if (f == NULL)
        return;
    request_list_init(&requests);
    turn_clear(&s->turn);
    flight_undo(s, f, &requests);
    while ((r = request_list_take(&requests)) != NULL) {
        r->in.state = REQUEST_HELD;
        r->in.answer = NULL; /* it is decided anew, and nothing of this decision may stay */
        r->in.timers = NULL;
        r->in.timer_count = 0;
        request_list_add(&s->held, r);
    }
    s->coord->dirty = true;
}

void turn_seal(struct shard *s)
{
    struct flight *f = s->turn.flight;
    if (f == NULL)
        return;
    struct request_list requests;
    struct coord_request *r;
    struct bytes entry = turn_encode(s);
    int rc = replica_propose(s->coord->replica, s->id, entry, &f->term, &f->index);
    turn_clear(&s->turn);
    if (rc == 0) {
        flight_launch(s, f);
        return;
    }
    /* A retriable error that makes clients look for the coordinator again: it is elsewhere, or the disks here refuse writes. */
    s->coord->stats.entries_failed++;
    request_list_init(&requests);
    flight_undo(s, f, &requests);
    while ((r = request_list_take(&requests)) != NULL)
        request_refuse(s, r, rc == MUSTER_E_NOT_LEADER ? NOT_COORDINATOR : COORDINATOR_NOT_AVAILABLE);
    s->coord->dirty = true;
}

struct flight *flight_take(struct shard *s)
{
    struct flight *f = s->flights;
    if (f == NULL)
        return NULL;
    s->flights = f->next;
    if (s->flights == NULL)
        s->flights_end = &s->flights;
    for (size_t i = 0; i < f->gate_count; i++) {
        struct gate *g = f->gates[i];
        MUSTER_CHECK(g->flights > 0);
        g->flights--;
        g->member_flights -= f->member_change[i] ? 1 : 0;
        if (g->flights == 0 && !g->in_turn)
            g->exclusive = false;
        gate_made(s, g);
        gate_list_add(&s->opened, g);
    }
    s->reserved_bytes -= f->bytes;
    s->reserved_members -= f->joins;
    return f;
}

void flight_free(struct flight *f)
{
    free(f->gates);
    free(f->member_change);
    free(f);
}
