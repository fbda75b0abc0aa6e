/* draft.c: the moves of a classic group. See the picture in ../README.md. */
#include "draft.h"

#include <string.h>

static const struct classic empty_classic = {.protocol_type = {"", 0}, .protocol_name = {NULL, -1}, .leader = {NULL, -1}};

void classic_draft_open(struct draft *t, struct decision *d, const struct group *g)
{
    memset(t, 0, sizeof *t);
    t->d = d;
    t->c = g == NULL ? &empty_classic : &g->classic;
    t->state = t->c->state;
    t->generation = t->c->generation;
    t->assignments_since = t->c->assignments_since;
    t->protocol_type = t->c->protocol_type;
    t->protocol_name = t->c->protocol_name;
    t->leader = t->c->leader;
    t->topics_hash = t->c->topics_hash;
    t->member_count = t->c->member_count;
    t->joined_count = t->c->joined_count;
    t->pending_count = t->c->pending_count;
    t->put_place = -1;
}

void classic_draft_close(struct draft *t)
{
    classic_note_phase(t);
    if (!t->changed && !t->moved) {
        return;
    }
    struct classic_group_key key = {.group_id = t->d->op->group_id};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = t->protocol_type;
    value.generation = t->generation;
    value.state = (int8_t)t->state;
    value.protocol_name = t->protocol_name;
    value.leader = t->leader;
    bool now = t->moved || !t->c->exists;
    value.state_timestamp_ms = now ? t->d->op->clock_ms : t->c->state_clock_ms;
    value.state_wall_ms = now ? t->d->op->wall_ms : t->c->state_wall_ms;
    value.assignments_since = t->assignments_since;
    value.topics_hash = t->topics_hash;
    out_record(t->d, RECORD_CLASSIC_GROUP, &key, 0, &value);
}

/* ---- members ------------------------------------------------------------------------------------------------------------ */

bool classic_draft_has(const struct draft *t, int32_t place)
{
    return (t->gone == NULL || !t->gone[place]) && place != t->put_place;
}

const struct classic_member **classic_draft_members(const struct draft *t, int32_t *ret_count)
{
    const struct classic_member **all = ARENA_NEW(t->d->arena, const struct classic_member *, t->member_count + 1);
    int32_t count = 0;
    const struct classic_member *put = t->put;
    for (int32_t i = 0; i < t->c->member_count; i++) {
        if (!classic_draft_has(t, i)) {
            continue;
        }
        const struct classic_member *m = t->c->members[i];
        if (put != NULL && str_cmp(put->member_id, m->member_id) < 0) {
            all[count++] = put;
            put = NULL;
        }
        all[count++] = m;
    }
    if (put != NULL) {
        all[count++] = put;
    }
    MUSTER_CHECK(count == t->member_count);
    *ret_count = count;
    return all;
}

static bool joined(const struct draft *t, const struct classic_member *m)
{
    return m->join_generation == next_generation(t->generation);
}

bool classic_draft_all_joined(const struct draft *t)
{
    return t->joined_count == t->member_count && t->pending_count == 0;
}

bool classic_draft_initial(const struct draft *t)
{
    return t->state == CLASSIC_PREPARING && str_is_null(t->protocol_name);
}

static bool syncing(const struct draft *t)
{
    return t->state == CLASSIC_COMPLETING || t->state == CLASSIC_STABLE;
}

void classic_draft_remove(struct draft *t, int32_t place, enum group_cause cause)
{
    MUSTER_CHECK(place >= 0 && place < t->c->member_count && classic_draft_has(t, place));
    const struct classic_member *m = t->c->members[place];
    if (t->gone == NULL) {
        t->gone = ARENA_NEW(t->d->arena, bool, t->c->member_count);
    }
    t->gone[place] = true;
    classic_note_removal(t, cause, m);
    t->member_count--;
    t->joined_count -= joined(t, m) ? 1 : 0;
    struct classic_member_key key = {.group_id = t->d->op->group_id, .member_id = m->member_id};
    out_record(t->d, RECORD_CLASSIC_MEMBER, &key, 0, NULL);
    out_timer(t->d, GROUP_TIMER_SESSION, m->member_id, t->generation, -1);
    if (syncing(t)) {
        out_timer(t->d, GROUP_TIMER_SYNC, m->member_id, t->generation, -1);
    }
}

void classic_draft_remove_pending(struct draft *t, struct str member_id)
{
    struct classic_pending_id_key key = {.group_id = t->d->op->group_id, .member_id = member_id};
    out_record(t->d, RECORD_CLASSIC_PENDING_ID, &key, 0, NULL);
    out_timer(t->d, GROUP_TIMER_PENDING_ID, member_id, 0, -1);
    t->pending_count--;
    MUSTER_CHECK(t->pending_count >= 0);
}

void classic_draft_put(struct draft *t, const struct classic_member *m, int32_t place)
{
    MUSTER_CHECK(t->put == NULL && place < t->c->member_count);
    t->put = m;
    t->put_place = place;
    if (place >= 0) {
        t->joined_count -= joined(t, t->c->members[place]) ? 1 : 0;
    } else {
        t->member_count++;
    }
    t->joined_count += joined(t, m) ? 1 : 0;
    struct classic_member_key key = {.group_id = t->d->op->group_id, .member_id = m->member_id};
    struct classic_member_value value;
    classic_member_value_of(m, t->d->arena, &value);
    out_record(t->d, RECORD_CLASSIC_MEMBER, &key, 0, &value);
}

void classic_draft_session(struct draft *t, const struct classic_member *m)
{
    out_timer(t->d, GROUP_TIMER_SESSION, m->member_id, t->generation, m->session_timeout_ms);
}

/* ---- moves ---------------------------------------------------------------------------------------------------------------- */

static void move(struct draft *t, enum classic_state to)
{
    static const uint8_t from[CLASSIC_STATE_COUNT] = {
        [CLASSIC_EMPTY] = 1u << CLASSIC_PREPARING,
        [CLASSIC_PREPARING] = 1u << CLASSIC_EMPTY | 1u << CLASSIC_COMPLETING | 1u << CLASSIC_STABLE,
        [CLASSIC_COMPLETING] = 1u << CLASSIC_PREPARING,
        [CLASSIC_STABLE] = 1u << CLASSIC_COMPLETING,
    };
    MUSTER_CHECK(from[to] & (1u << t->state));
    t->state = to;
    t->moved = true;
}

/* The longest of the members': what the join phase and the wait for syncs may take. */
static int64_t rebalance_timeout_ms(const struct draft *t)
{
    int32_t count, longest = 0;
    const struct classic_member **all = classic_draft_members(t, &count);
    for (int32_t i = 0; i < count; i++) {
        longest = all[i]->rebalance_timeout_ms > longest ? all[i]->rebalance_timeout_ms : longest;
    }
    return longest;
}

static void arm_initial_delay(struct draft *t)
{
    int32_t delay = t->d->op->settings->initial_rebalance_delay_ms;
    int64_t remaining = rebalance_timeout_ms(t) - delay;
    struct group_timer_wish wish = {.delay_ms = delay};
    wish.timer.kind = GROUP_TIMER_INITIAL_DELAY;
    wish.timer.epoch = t->generation;
    wish.timer.remaining_ms = remaining > 0 ? (int32_t)remaining : 0;
    wish.timer.seen_members = t->member_count;
    out_timer_full(t->d, &wish);
}

/* Syncs of the old generation are over: they wait no longer, and their members' sessions, which stood still, run again. A newcomer has none of either. */
static void end_syncs(struct draft *t)
{
    int32_t count;
    const struct classic_member **all = classic_draft_members(t, &count);
    for (int32_t i = 0; i < count; i++) {
        if (all[i] == t->put && t->put_place < 0) {
            continue;
        }
        out_timer(t->d, GROUP_TIMER_SYNC, all[i]->member_id, t->generation, -1);
        if (t->state == CLASSIC_COMPLETING) {
            classic_draft_session(t, all[i]);
        }
    }
    if (t->state == CLASSIC_COMPLETING) {
        t->assignments_since = next_generation(t->generation);
    }
}

void classic_draft_prepare(struct draft *t)
{
    if (t->state == CLASSIC_EMPTY) {
        move(t, CLASSIC_PREPARING);
        if (t->d->op->settings->initial_rebalance_delay_ms <= 0) {
            classic_draft_complete(t);
        } else {
            arm_initial_delay(t);
        }
        return;
    }
    end_syncs(t);
    move(t, CLASSIC_PREPARING);
    MUSTER_CHECK(t->joined_count <= t->member_count);
    if (classic_draft_all_joined(t)) {
        classic_draft_complete(t);
    } else {
        out_timer(t->d, GROUP_TIMER_REBALANCE, STR(""), t->generation, rebalance_timeout_ms(t));
    }
}

/* Drops the dynamic members that have not joined, keeps the static ones: only their session decides (KIP-345). */
static void drop_absent(struct draft *t)
{
    for (int32_t i = 0; i < t->c->member_count; i++) {
        const struct classic_member *m = t->c->members[i];
        if (classic_draft_has(t, i) && !joined(t, m) && str_is_null(m->instance_id)) {
            classic_draft_remove(t, i, GROUP_CAUSE_REBALANCE_TIMEOUT);
        }
    }
}

/* The leader stays if it has joined; else the first that has. Null: nobody has. */
static struct str elect(const struct draft *t, const struct classic_member **all, int32_t count)
{
    struct str first = STR_NULL;
    for (int32_t i = 0; i < count; i++) {
        if (!joined(t, all[i])) {
            continue;
        }
        if (str_eq(all[i]->member_id, t->leader)) {
            return t->leader;
        }
        first = str_is_null(first) ? all[i]->member_id : first;
    }
    return first;
}

static void begin_generation(struct draft *t, const struct classic_member **all, int32_t count)
{
    MUSTER_CHECK(count > 0 && !str_is_null(t->leader));
    t->protocol_name = classic_vote(all, count, t->d->arena);
    t->topics_hash =
        t->d->op->settings->rebalance_on_partition_change ? classic_topics_hash(t->d, t->protocol_type, t->protocol_name, all, count) : 0;
    t->generation = next_generation(t->generation);
    move(t, CLASSIC_COMPLETING);
    int64_t sync_ms = rebalance_timeout_ms(t);
    for (int32_t i = 0; i < count; i++) {
        classic_draft_session(t, all[i]);
        out_timer(t->d, GROUP_TIMER_SYNC, all[i]->member_id, t->generation, sync_ms);
    }
}

static void end_empty(struct draft *t)
{
    t->protocol_name = STR_NULL;
    t->topics_hash = 0;
    t->generation = next_generation(t->generation);
    move(t, CLASSIC_EMPTY);
}

bool classic_draft_complete(struct draft *t)
{
    MUSTER_CHECK(t->state == CLASSIC_PREPARING);
    bool initial = classic_draft_initial(t);
    drop_absent(t);
    int32_t count;
    const struct classic_member **all = classic_draft_members(t, &count);
    struct str leader = elect(t, all, count);
    if (count > 0 && str_is_null(leader)) {
        out_timer(t->d, GROUP_TIMER_REBALANCE, STR(""), t->generation, rebalance_timeout_ms(t));
        return false;
    }
    out_timer(t->d, initial ? GROUP_TIMER_INITIAL_DELAY : GROUP_TIMER_REBALANCE, STR(""), t->generation, -1);
    t->leader = leader;
    if (count == 0) {
        end_empty(t);
    } else {
        begin_generation(t, all, count);
    }
    return true;
}

void classic_draft_stable(struct draft *t)
{
    MUSTER_CHECK(t->put == NULL && t->gone == NULL);
    move(t, CLASSIC_STABLE);
    for (int32_t i = 0; i < t->c->member_count; i++) {
        classic_draft_session(t, t->c->members[i]);
    }
}

void classic_draft_complete_if_joined(struct draft *t)
{
    if (t->state == CLASSIC_PREPARING && classic_draft_all_joined(t)) {
        classic_draft_complete(t);
    }
}

void classic_draft_rebalance(struct draft *t)
{
    if (t->state != CLASSIC_PREPARING) {
        classic_draft_prepare(t);
    } else if (!classic_draft_initial(t)) {
        classic_draft_complete_if_joined(t);
    }
}

/* ---- checks ------------------------------------------------------------------------------------------------------------------ */

int16_t classic_check_member(const struct classic *c, struct str member_id, struct str instance_id, const struct classic_member **ret)
{
    bool found = false;
    int32_t place = c == NULL ? 0 : members_place(c, member_id, &found);
    const struct classic_member *m = found ? c->members[place] : NULL;
    *ret = m;
    if (c == NULL) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (!str_is_null(instance_id) && (m == NULL || !str_eq(m->instance_id, instance_id))) {
        return members_by_instance(c, instance_id) < 0 ? KAFKA_UNKNOWN_MEMBER_ID : KAFKA_FENCED_INSTANCE_ID;
    }
    return m == NULL ? KAFKA_UNKNOWN_MEMBER_ID : KAFKA_NONE;
}
