/* The life of a member. It joins, heartbeats, starts what it is given, closes what it is told to give up and says so a while later; it dies, leaves, stands
 * still, and goes when by its own clock nobody can still count on it. */
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NONE = 0,
    UNKNOWN_MEMBER_ID = 25,
    GROUP_ID_NOT_FOUND = 69,
    FENCED_INSTANCE_ID = 82,
    FENCED_MEMBER_EPOCH = 110,
    UNRELEASED_INSTANCE_ID = 111
};
/* A request may lie in a node that stands still, or in the log of one that is cut off. */
enum { LATE_US = 10000000 };

static void think(struct sim *sim, void *arg, uint64_t tag);
static void act(struct member *m);

static void think_at(struct member *m, int64_t at_us)
{
    sim_at(m->sim, at_us, think, m, ++m->thinks);
}

void crowd_begin(struct crowd *c, struct sim *sim, enum crowd_kind kind, const char *noun, uint32_t number)
{
    c->sim = sim;
    c->kind = kind;
    c->number = number;
    snprintf(c->id, sizeof(c->id), "%s-%u", noun, number);
}

const char *crowd_noun(const struct crowd *c)
{
    return c->kind == CROWD_STREAMS ? "streams group" : "consumer group";
}

void member_begin(struct member *m, struct crowd *crowd, const struct protocol *protocol, const char *noun, uint32_t number)
{
    MUSTER_CHECK(crowd->count < CROWD_MEMBERS);
    m->sim = crowd->sim;
    m->crowd = crowd;
    m->protocol = protocol;
    m->number = number;
    m->node = 1 + number % m->sim->options.nodes;
    m->interval_ms = MEMBER_HEARTBEAT_US / 1000;
    snprintf(m->name, sizeof(m->name), "%s-%u", noun, number);
    crowd->members[crowd->count++] = m;
    think_at(m, m->sim->now_us + sim_between(m->sim, 800000, 3000000));
}

void member_fini(struct member *m)
{
    share_free(&m->has);
    share_free(&m->told);
    connection_release(m->connection);
}

bool member_believes(const struct member *m)
{
    int64_t now = m->sim->now_us;
    if (now >= m->good_sent_us + SIM_LEAST_US(SIM_SESSION_MS))
        return false; /* its session may be over */
    return (m->confirm_by_us == 0 || now < m->confirm_by_us) && (m->doubt_until_us == 0 || now < m->doubt_until_us);
}

bool member_is_sure(const struct member *m)
{
    return m->doubt_until_us == 0 && m->sim->now_us >= m->sure_from_us;
}

/* ---- what it says ---- */

/* No answer, or one that says nothing of what became of the request. */
static void doubt(struct member *m)
{
    if (m->aside || !m->protocol->heals)
        return;
    m->next_says = SAYS_ALL;
    m->stray = STRAY_NONE;
    m->confirms = false;
    if (m->doubt_until_us == 0) {
        m->owed_from_us = m->sent_us;
        m->doubt_until_us =
            m->sim->now_us + (sim_chance(m->sim, 300000) ? 0 : m->sent_us + SIM_LEAST_US(MEMBER_REBALANCE_MS) - m->sim->now_us);
    }
}

static void disconnect(struct member *m)
{
    connection_close(m->connection);
    m->connection = NULL;
}

static void give_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct member *m = arg;
    if (m->serial != serial)
        return;
    m->serial = 0;
    m->sure_from_us = m->sent_us + LATE_US;
    disconnect(m);
    doubt(m);
    m->node = members_any(sim);
    act(m);
}

static void answer_arrives(struct sim_request *r);

struct sim_request *member_request(struct member *m, enum group_op_kind kind, int16_t api_key, int16_t version)
{
    struct sim_request *r = request_new(m->sim, m, answer_arrives, kind, api_key, version);
    r->request.op.group_id = member_text(r, m->crowd->id);
    r->request.op.caller = (struct group_caller){member_text(r, m->name), STR("/sim")};
    r->request.yields = kind == GROUP_CONSUMER_HEARTBEAT || kind == GROUP_STREAMS_HEARTBEAT;
    return r;
}

struct str member_text(struct sim_request *r, const char *text)
{
    return arena_str(&r->arena, str_of(text));
}

struct str member_instance(const struct member *m, struct sim_request *r)
{
    return m->instance_id[0] != '\0' ? member_text(r, m->instance_id) : STR_NULL;
}

int32_t member_epoch_to_say(const struct member *m)
{
    switch (m->stray) {
    case STRAY_NONE:
        break;
    case STRAY_AHEAD:
        return m->epoch + 1;
    case STRAY_LARGER:
    case STRAY_SILENT:
        return m->previous_epoch;
    }
    return m->epoch;
}

/* Its heartbeat is still under way. */
static void beside(struct sim *sim, void *arg, uint64_t serial)
{
    struct member *m = arg;
    if (m->serial == serial && !sim->failed && m->protocol->beside != NULL && connection_stands(m->connection, m->node))
        m->protocol->beside(m);
}

void member_send(struct member *m, struct sim_request *r, int64_t patience_us)
{
    m->aside = false;
    r->serial = m->serial = ++m->thinks + ((uint64_t)(m->number + 1) << 40);
    m->sent_us = m->sim->now_us;
    m->as_of_us = m->sent_us;
    m->assigned = 0;
    m->sure = member_is_sure(m);
    if (!connection_stands(m->connection, m->node)) {
        disconnect(m);
        m->connection = connection_open(m->sim, m->node);
    }
    connection_send(m->connection, r);
    if (r->request.yields && m->protocol->beside != NULL && sim_chance(m->sim, 300000))
        sim_at(m->sim, m->sim->now_us + sim_between(m->sim, 1000, MEMBER_HEARTBEAT_US / 2), beside, m, m->serial);
    sim_at(m->sim, m->sim->now_us + patience_us, give_up, m, m->serial);
}

void member_send_beside(struct member *m, struct sim_request *r, void (*arrived)(struct sim_request *r))
{
    r->arrived = arrived;
    r->serial = ++m->thinks + ((uint64_t)(m->number + 1) << 40);
    connection_send(m->connection, r);
}

void member_send_aside(struct member *m, struct sim_request *r)
{
    member_send(m, r, MEMBER_PATIENCE_US);
    m->aside = true;
}

static void prepare_join(struct member *m)
{
    MEMBER_COUNT(m, joins);
    m->life = LIFE_JOINING;
    if (m->protocol->keeps)
        return;
    m->epoch = m->previous_epoch = 0;
    share_clear(&m->has);
    share_clear(&m->told);
    m->closed_at_us = m->confirm_by_us = m->doubt_until_us = m->owed_from_us = 0;
}

static void prepare_beat(struct member *m)
{
    struct sim *sim = m->sim;
    MEMBER_COUNT(m, beats);
    if (member_is_sure(m) && sim_chance(sim, 30000))
        m->stray = m->previous_epoch > 0 && sim_chance(sim, 600000) ? (sim_chance(sim, 700000) ? STRAY_LARGER : STRAY_SILENT) : STRAY_AHEAD;
    m->confirms = m->stray == STRAY_NONE && m->confirm_by_us != 0 && m->closed_at_us == 0;
    m->says = m->next_says;
    if (m->says == SAYS_NOTHING && (m->confirms || m->stray == STRAY_LARGER))
        m->says = SAYS_HAS;
    if (m->closed_at_us != 0 && m->says == SAYS_NOTHING && sim_chance(sim, 200000)) /* it still has what it is to give up */
        m->says = SAYS_HAS;
    if (m->stray == STRAY_SILENT)
        m->says = SAYS_NOTHING;
}

void member_say(struct member *m, enum speech what)
{
    m->stray = STRAY_NONE;
    m->confirms = false;
    m->says = SAYS_NOTHING;
    switch (what) {
    case SPEECH_JOIN:
        prepare_join(m);
        break;
    case SPEECH_SYNC:
        break;
    case SPEECH_BEAT:
        prepare_beat(m);
        break;
    case SPEECH_LEAVE:
        member_drop_all(m);
        m->life = LIFE_LEAVING;
        m->sim->totals.leaves++;
        break;
    }
    if (m->stray == STRAY_NONE)
        m->next_says = SAYS_NOTHING;
    m->next_beat_us = m->sim->now_us + m->interval_ms * 1000;
    m->beats_since_healed += m->sim->healed_at_us != 0;
    m->protocol->say(m, what);
}

/* ---- what becomes of it ---- */

void member_drop_all(struct member *m)
{
    share_clear(&m->has);
    share_clear(&m->told);
    m->closed_at_us = m->confirm_by_us = m->doubt_until_us = m->owed_from_us = 0;
    m->good_sent_us = 0;
    m->serial = 0;
}

void member_begin_anew(struct member *m, bool other_life)
{
    member_drop_all(m);
    m->life = LIFE_JOINING;
    m->next_says = SAYS_NOTHING;
    if (other_life) {
        m->lives++;
        m->protocol->born(m);
    }
}

static void die(struct member *m)
{
    sim_say(m->sim, "%s dies member=%s", m->name, m->member_id);
    m->sim->totals.deaths++;
    member_drop_all(m);
    disconnect(m);
    m->life = LIFE_DOWN;
    think_at(m, m->sim->now_us + sim_between(m->sim, 50000, 3000000));
}

/* It closes what is not named any more, which takes a while, and starts what is new at once. */
void member_take(struct member *m, const struct share *told)
{
    char text[SET_TEXT_MAX];
    struct unit_set gained = {0};
    set_copy(&gained, &told->role[ACTIVE]);
    set_drop(&gained, &m->has.role[ACTIVE]);
    bool closes = !share_within(&m->has, told);
    share_join(&m->has, told);
    share_copy(&m->told, told);
    sim_say(m->sim, "%s group=%s epoch=%d has=%s%s", m->name, m->crowd->id, m->epoch, set_text(&told->role[ACTIVE], text),
            closes ? " closes some" : "");
    m->closed_at_us = 0;
    if (closes)
        m->closed_at_us =
            m->sim->now_us + (sim_chance(m->sim, 300000) ? sim_between(m->sim, 200000, 900000) : sim_between(m->sim, 500, 50000));
    /* Also when it has nothing to close: what it shall give up may have been given to it by an answer that was lost. */
    if (m->closed_at_us == 0)
        m->next_says = SAYS_HAS;
    /* Who is told again is not given more time than with the answer that was lost. */
    if (m->confirm_by_us == 0)
        m->confirm_by_us = (m->owed_from_us != 0 ? m->owed_from_us : m->sent_us) + SIM_LEAST_US(MEMBER_REBALANCE_MS);
    m->owed_from_us = 0;
    check_owner_of(m, &gained);
    set_free(&gained);
}

void member_good(struct member *m, int32_t epoch, bool told)
{
    bool lapsed = !member_believes(m);
    crowd_gap(m->crowd);
    m->good_sent_us = m->sent_us;
    if (m->confirms)
        m->confirm_by_us = 0;
    m->confirms = false;
    if (told)
        m->doubt_until_us = 0;
    if (lapsed && member_believes(m)) /* its time was over, but nobody minded: then nobody else has what it has */
        check_owner_of(m, &m->has.role[ACTIVE]);
    check_epoch_of(m, epoch, m->as_of_us);
    check_held(m, epoch, told);
    if (m->epoch != epoch)
        m->previous_epoch = m->epoch;
    m->epoch = epoch;
}

/* It said what it has, and was told nothing: that is what it is to have, whatever answers were lost before. */
static void as_said(struct member *m)
{
    char has[SET_TEXT_MAX], told[SET_TEXT_MAX];
    if (m->sure && !share_equal(&m->has, &m->told))
        sim_fail(m->sim, "%s (%s) said in epoch %d that it has %s, and was not told again that it is to have %s", m->name, m->member_id,
                 m->epoch, set_text(&m->has.role[ACTIVE], has), set_text(&m->told.role[ACTIVE], told));
    m->doubt_until_us = 0;
    share_copy(&m->told, &m->has);
}

static void good(struct member *m, const struct reply *reply)
{
    if (m->life == LIFE_JOINING)
        sim_say(m->sim, "%s group=%s joined member=%s epoch=%d", m->name, m->crowd->id, m->member_id, reply->epoch);
    m->life = LIFE_MEMBER;
    member_good(m, reply->epoch, reply->tells);
    m->interval_ms = reply->interval_ms;
    connection_told(m->connection, reply->interval_ms);
    m->next_beat_us = m->sent_us + reply->interval_ms * 1000;
    if (reply->tells)
        member_take(m, reply->share);
    else if (m->says != SAYS_NOTHING)
        as_said(m);
}

void member_refused(struct member *m, int16_t error, struct str text)
{
    if (error == GROUP_ID_NOT_FOUND && m->crowd->restarts) /* of another type meanwhile, without it */
        error = UNKNOWN_MEMBER_ID;
    switch (error) {
    case UNKNOWN_MEMBER_ID:
    case FENCED_MEMBER_EPOCH:
    case FENCED_INSTANCE_ID:
        MEMBER_COUNT(m, fenced);
        sim_say(m->sim, "%s member=%s epoch=%d fenced error=%d", m->name, m->member_id, m->epoch, error);
        if (m->sure && m->life == LIFE_MEMBER && (error == FENCED_MEMBER_EPOCH || member_believes(m)))
            sim_fail(m->sim, "%s of %s %s (%s): error %d in epoch %d, %lld ms after a heartbeat that was fine", m->name,
                     crowd_noun(m->crowd), m->crowd->id, m->member_id, error, m->epoch,
                     (long long)(m->sim->now_us - m->good_sent_us) / 1000);
        member_begin_anew(m, m->instance_id[0] != '\0' || sim_chance(m->sim, 300000));
        break;
    case UNRELEASED_INSTANCE_ID: /* it was somebody else a moment ago, whose session is not over */
        member_begin_anew(m, false);
        m->wait_until_us = m->sim->now_us + MEMBER_HEARTBEAT_US;
        break;
    default:
        sim_fail(m->sim, "%s of %s %s (%s): error %d: %.*s", m->name, crowd_noun(m->crowd), m->crowd->id, m->member_id, error,
                 STR_ARG(text));
        break;
    }
}

void member_elsewhere(struct member *m)
{
    doubt(m);
    m->node = members_any(m->sim);
    m->wait_until_us = m->sim->now_us + sim_between(m->sim, 1000, 20000);
}

static void heard_of_stray(struct member *m, int16_t error)
{
    static const char *const names[] = {"", "that never was", "with more than it was given", "that does not say what it has"};
    enum stray stray = m->stray;
    m->stray = STRAY_NONE;
    MEMBER_COUNT(m, strays);
    bool gone = error == UNKNOWN_MEMBER_ID || (error == GROUP_ID_NOT_FOUND && m->crowd->restarts);
    if (error != FENCED_MEMBER_EPOCH && !gone)
        sim_fail(m->sim, "%s (%s): a heartbeat of an epoch %s is answered with error %d in epoch %d (before: %d)", m->name, m->member_id,
                 names[stray], error, m->epoch, m->previous_epoch);
}

void member_heard(struct member *m, const struct reply *reply)
{
    if (request_elsewhere(reply->error))
        member_elsewhere(m);
    else if (m->stray != STRAY_NONE)
        heard_of_stray(m, reply->error);
    else if (reply->error == NONE)
        good(m, reply);
    else
        member_refused(m, reply->error, reply->text);
}

static void answer_arrives(struct sim_request *r)
{
    struct member *m = r->owner;
    struct sim *sim = r->sim;
    if (m->serial != r->serial)
        return;
    m->serial = 0;
    m->idle_from_us = sim->now_us;
    m->assigned = r->was_held ? r->assigned : 0;
    m->as_of_us = r->was_held ? r->let_go_us : m->sent_us;
    if (m->life == LIFE_LEAVING) {
        die(m);
        return;
    }
    if (!sim->healing && sim_chance(sim, 8000)) { /* its connection breaks before it has read that */
        doubt(m);
        disconnect(m);
        m->wait_until_us = sim->now_us + sim_between(sim, 1000, 300000);
    } else {
        m->protocol->hear(m, r);
    }
    int64_t soon_us = sim->now_us + sim_between(sim, 100, 3000);
    if (!sim->failed && m->serial == 0)
        think_at(m, soon_us > m->wait_until_us ? soon_us : m->wait_until_us);
}

/* ---- what to do next ---- */

/* Some of it, or the rest. What is left is closed a while later. */
static void close_units(struct member *m)
{
    struct sim *sim = m->sim;
    struct unit_set closed = {0};
    set_copy(&closed, &m->has.role[ACTIVE]);
    set_drop(&closed, &m->told.role[ACTIVE]);
    m->next_says = m->next_says > SAYS_HAS ? m->next_says : SAYS_HAS;
    if (closed.len >= 2 && sim_chance(sim, 250000)) {
        closed.len /= 2;
        set_drop(&m->has.role[ACTIVE], &closed);
        m->closed_at_us = sim->now_us + sim_between(sim, 500, 100000);
    } else {
        share_copy(&m->has, &m->told);
        m->closed_at_us = 0;
        MEMBER_COUNT(m, moves);
    }
    set_free(&closed);
}

static int64_t next_us(const struct member *m)
{
    int64_t at = m->next_beat_us;
    at = m->closed_at_us != 0 && m->closed_at_us < at ? m->closed_at_us : at;
    return at > m->sim->now_us ? at : m->sim->now_us + 1;
}

static void act_member(struct member *m)
{
    struct sim *sim = m->sim;
    bool calm = sim->healing;
    uint32_t restless = m->crowd->restarts ? 12000 : 4000;
    if (!m->protocol->keeps && !member_believes(m) && sim_chance(sim, 500000)) { /* as often as not it has not looked at its clock */
        member_begin_anew(m, false);
        member_say(m, SPEECH_JOIN);
        return;
    }
    if (m->closed_at_us != 0 && sim->now_us >= m->closed_at_us)
        close_units(m);
    if (m->doubt_until_us != 0 && sim->now_us >= m->doubt_until_us) { /* whoever joins is told everything */
        member_say(m, SPEECH_JOIN);
    } else if (!calm && sim_chance(sim, 4000)) {
        die(m);
    } else if (!calm && sim_chance(sim, restless)) {
        member_say(m, SPEECH_LEAVE);
    } else if (!calm && sim_chance(sim, 3000)) {
        think_at(m, sim->now_us + sim_between(sim, 200000, 3500000)); /* it stands still */
    } else if (m->next_says != SAYS_NOTHING || sim->now_us >= m->next_beat_us) {
        member_say(m, SPEECH_BEAT);
    } else if (m->protocol->act == NULL || !m->protocol->act(m)) {
        think_at(m, next_us(m));
    }
}

static void act(struct member *m)
{
    if (m->sim->failed)
        return;
    switch (m->life) {
    case LIFE_DOWN:
        member_begin_anew(m, true);
        member_say(m, SPEECH_JOIN);
        break;
    case LIFE_JOINING:
        member_say(m, SPEECH_JOIN);
        break;
    case LIFE_SYNCING:
        member_say(m, SPEECH_SYNC);
        break;
    case LIFE_MEMBER:
        act_member(m);
        break;
    case LIFE_LEAVING: /* whether it has left is not known: it comes back as somebody new */
        die(m);
        break;
    }
}

static void think(struct sim *sim, void *arg, uint64_t tag)
{
    struct member *m = arg;
    (void)sim;
    if (m->serial == 0 && m->thinks == tag)
        act(m);
}

/* ---- after the faults ---- */

static bool has_settled(const struct member *m, int32_t epoch)
{
    return m->life == LIFE_MEMBER && m->doubt_until_us == 0 && m->closed_at_us == 0 && m->confirm_by_us == 0 &&
           (epoch < 0 || m->epoch == epoch);
}

static bool all_settled(struct crowd *c, const struct settling *s, char *why, size_t why_len)
{
    char has[SET_TEXT_MAX], needs[SET_TEXT_MAX];
    struct unit_set all = {0};
    int32_t epoch = -1;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct member *m = c->members[i];
        if (!has_settled(m, epoch)) {
            snprintf(why, why_len, "%s of %s is in state %d, epoch %d (others %d)", m->name, c->id, (int)m->life, m->epoch, epoch);
            set_free(&all);
            return false;
        }
        epoch = m->epoch;
        set_join(&all, &m->has.role[ACTIVE]);
    }
    bool settled = set_equal(&all, s->expected) && strcmp(c->state, "Stable") == 0 && c->state_at_us >= s->healed_at_us &&
                   (c->epoch_described == epoch || c->epoch_described == EPOCH_NOT_TOLD);
    if (!settled)
        snprintf(why, why_len, "%s %s in epoch %d is %s, has %s of %s", crowd_noun(c), c->id, epoch, c->state, set_text(&all, has),
                 set_text(s->expected, needs));
    set_free(&all);
    return settled;
}

bool crowd_settled(struct crowd *c, const struct settling *s, char *why, size_t why_len)
{
    bool settled = all_settled(c, s, why, why_len);
    uint32_t most = 0;
    for (uint32_t i = 0; i < c->count; i++)
        most = c->members[i]->beats_since_healed > most ? c->members[i]->beats_since_healed : most;
    if (settled && most > 10)
        sim_say(c->sim, "%s has settled: at most %u heartbeats", c->id, most);
    for (uint32_t i = 0; i < c->count; i++) {
        if (settled) /* a shard that moves may stir it up again */
            c->members[i]->beats_since_healed = 0;
        else if (c->members[i]->beats_since_healed > s->beats)
            sim_fail(c->sim, "after %u heartbeats of %s without faults: %s", c->members[i]->beats_since_healed, c->members[i]->name, why);
    }
    return settled;
}
