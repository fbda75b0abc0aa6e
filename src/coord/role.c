/* Taking office and losing it. */
#include "internal.h"

static void refuse_all(struct shard *s, struct request_list *l)
{
    struct coord_request *r;
    while ((r = request_list_take(l)) != NULL)
        request_refuse(s, r, NOT_COORDINATOR);
}

static void drop_flight(struct shard *s, struct flight *f, struct request_list *requests)
{
#ifdef MUSTER_FAULT_ANSWER_ON_LOSS
    for (struct coord_request *r; (r = request_list_take(&f->requests)) != NULL;)
        request_finish(s, r);
#endif
    request_list_move(&f->requests, requests);
    for (size_t i = 0; i < f->gate_count; i++) {
        struct gate *g = f->gates[i];
        gate_end_turn(g);
        g->flights = 0;
        g->member_flights = 0;
        g->exclusive = false;
        gate_made(s, g);
    }
    s->reserved_bytes -= f->bytes;
    s->reserved_members -= f->joins;
    s->coord->stats.entries_failed++;
    flight_free(f);
}

static void drop_gates(struct shard *s, struct request_list *requests)
{
    for (struct gate *g = gate_first(s), *next; g != NULL; g = next) {
        next = gate_after(g);
        request_list_move(&g->queue, requests);
        request_list_move(&g->waiting, requests);
        beats_drop(s, g, requests);
        gate_free_if_idle(s, g);
    }
    if (s->catalog_gate != NULL) {
        request_list_move(&s->catalog_gate->queue, requests);
        gate_free_if_idle(s, s->catalog_gate);
    }
}

/* Every parked request is answered at once: nothing is undone, because nothing was done. */
static void lose_office(struct shard *s)
{
    struct request_list requests;
    request_list_init(&requests);
    if (s->turn.flight != NULL) {
        drop_flight(s, s->turn.flight, &requests);
        turn_clear(&s->turn);
    }
    while (s->flights != NULL) {
        struct flight *f = s->flights;
        s->flights = f->next;
        drop_flight(s, f, &requests);
    }
    s->flights_end = &s->flights;
    drop_gates(s, &requests);
    errands_drop(s, &requests);
    request_list_move(&s->reads, &requests);
    request_list_move(&s->held, &requests);
    request_list_move(&s->moved, &requests);
    timer_set_clear(&s->timers);
    sweep_reset(s);
    office_lost(s);
    s->coord->stats.leader_losses++;
    refuse_all(s, &requests);
    struct coord_read *read = s->shard_reads, *next;
    s->shard_reads = NULL;
    s->shard_reads_end = &s->shard_reads;
    for (; read != NULL; read = next) {
        next = read->in.next;
        read_finish(s, read, NOT_COORDINATOR);
    }
}

static void arm_in_full(void *ctx, const struct group_timer_wish *wish)
{
    struct shard *s = ctx;
    int64_t delay_ms = wish->delay_ms;
#ifdef MUSTER_FAULT_SHORT_SESSION_AFTER_FAILOVER
    delay_ms /= 16;
#endif
    timer_arm(&s->timers, &wish->timer, s->live_us + delay_ms * 1000, 0);
}

static void take_office(struct shard *s)
{
    s->clock_base_ms = group_set_clock(s->set);
    s->clock_base_us = s->office_us = s->coord->now_us;
    timer_set_clear(&s->timers);
    group_set_timers(s->set, s->coord->shards[0].set, &s->coord->settings, shard_clock_ms(s), arm_in_full, s);
    office_taken(s);
    handover_take(s);
    barrier_reset(s);
    s->topics_due = (uint64_t)group_set_cursor(s->set) < s->coord->catalog_index;
    for (struct str id = group_set_next(s->set, STR_NULL); !str_is_null(id); id = group_set_next(s->set, id)) {
        if (group_needs_takeover(s->set, id))
            internal_submit(s, GROUP_TAKEOVER, id, NULL);
        if (!s->topics_due && group_reads_regexes(s->set, id)) /* the cursor passed what a job of the last office had not found yet */
            internal_submit(s, GROUP_TOPICS_CHANGED, id, NULL);
    }
}

void coord_role(struct shard *s, enum replica_role role, uint64_t term, uint32_t leader)
{
    enum replica_role before = s->role;
    uint64_t term_before = s->term;
    bool same_office = term == s->term && (before == REPLICA_SERVING || before == REPLICA_HANDING_OVER);
    bool had_office = before == REPLICA_SERVING || before == REPLICA_HANDING_OVER;
    s->role = role;
    s->leader = leader;
    s->term = term;
    if (had_office)
        office_known(s, (uint32_t)s->office.node_id, term_before);
    if (role == REPLICA_FOLLOWER && leader != 0)
        office_known(s, leader, term);
    if (had_office && (role == REPLICA_FOLLOWER || role == REPLICA_LEADER || !same_office))
        lose_office(s);
    if (role == REPLICA_HANDING_OVER) {
        turn_withdraw(s);
        beats_hand_over(s);
        handover_send(s);
    }
    if (before == REPLICA_HANDING_OVER && role == REPLICA_SERVING && same_office)
        handover_call_off(s);
    if (role == REPLICA_SERVING && !same_office)
        take_office(s);
    held_release(s);
    if (s->id == 0)
        s->coord->barrier_retry_us = 0;
    s->coord->dirty = true;
    if (s->coord->events.role != NULL)
        s->coord->events.role(s->coord->events.ctx, s->id, role, term, leader);
}

/* A majority that answers and does not store (two full disks of three) leaves no member a way to be heard: what a heartbeat waits behind is not applied, and
 * clients that are told to ask again may be between two tries when it is. */
static bool stores(const struct shard *s)
{
#ifdef MUSTER_FAULT_EXPIRE_WHEN_NOT_STORED
    return true;
#endif
    return s->flights == NULL || s->coord->now_us - s->flights->since_us <= s->coord->options.election_timeout_us;
}

/* Deadlines stand still while the node may have lost its office without knowing, and while nothing can be changed. */
void coord_advance(struct shard *s, int64_t elapsed_us)
{
    if (s->role != REPLICA_SERVING && s->role != REPLICA_HANDING_OVER)
        return;
    struct replica_shard_status status;
    replica_status(s->coord->replica, s->id, &status);
#ifdef MUSTER_FAULT_EXPIRE_WHEN_CUT_OFF
    status.contact_us = s->coord->now_us;
#endif
    if (s->coord->now_us - status.contact_us <= s->coord->options.election_timeout_us && stores(s))
        s->live_us += elapsed_us;
}
