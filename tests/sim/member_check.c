/* What is checked of members and their groups, whatever they speak: nothing is active at two of them at once, by their own words; what may only rise never
 * falls; what a member is sure of is what others are told of it. */
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { YOUNG_US = 5000000 };

/* ---- who works on what ---- */

static bool same_process(const struct member *a, const struct member *b)
{
    return a->process_id[0] != '\0' && strcmp(a->process_id, b->process_id) == 0;
}

void check_owner_of(struct member *m, const struct unit_set *gained)
{
    char text[SET_TEXT_MAX];
    if (!member_believes(m)) /* what it was told came late; it is looked at again when it hears that it still is a member */
        return;
    for (uint32_t i = 0; i < m->crowd->count; i++) {
        const struct member *other = m->crowd->members[i];
        struct unit_set both = {0};
        if (other == m || !set_meets(gained, &other->has.role[ACTIVE]) || same_process(other, m) || !member_believes(other))
            continue;
        set_copy(&both, gained);
        set_keep(&both, &other->has.role[ACTIVE]);
        sim_fail(m->sim, "%s %s: %s is active at %s (%s) and at %s (%s)", crowd_noun(m->crowd), m->crowd->id, set_text(&both, text),
                 other->name, other->member_id, m->name, m->member_id);
        set_free(&both);
    }
}

/* ---- what may only rise ---- */

void crowd_gap(struct crowd *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (member_believes(c->members[i]))
            return;
    }
    if (c->restarts)
        c->void_before_us = c->sim->now_us;
}

void crowd_rise(struct crowd *c, struct rising *r, int32_t value, int64_t sent_us, const char *what)
{
    crowd_gap(c);
    if (sent_us < c->void_before_us)
        return;
    for (size_t i = r->len; i > 0 && r->v[i - 1].at_us >= c->void_before_us; i--) {
        if (r->v[i - 1].at_us < sent_us && r->v[i - 1].value > value) {
            sim_fail(c->sim, "%s %s: %s %d after %d was seen", crowd_noun(c), c->id, what, value, r->v[i - 1].value);
            return;
        }
    }
    if (r->len > 0 && r->v[r->len - 1].value >= value && r->v[r->len - 1].at_us >= c->void_before_us)
        return;
    if (r->len == r->cap) {
        r->cap = r->cap == 0 ? 64 : 2 * r->cap;
        r->v = realloc(r->v, r->cap * sizeof(*r->v));
        MUSTER_CHECK(r->v != NULL);
    }
    r->v[r->len++] = (struct stamp){value, c->sim->now_us};
}

static struct member_seen *seen_of(struct crowd *c, struct str member_id)
{
    for (size_t i = 0; i < c->seen_count; i++) {
        if (str_eq(str_of(c->seen[i].member_id), member_id))
            return &c->seen[i];
    }
    if (c->seen_count == c->seen_cap) {
        c->seen_cap = c->seen_cap == 0 ? 16 : 2 * c->seen_cap;
        c->seen = realloc(c->seen, c->seen_cap * sizeof(*c->seen));
        MUSTER_CHECK(c->seen != NULL);
    }
    struct member_seen *m = &c->seen[c->seen_count++];
    memset(m, 0, sizeof(*m));
    snprintf(m->member_id, SIM_ID_MAX, "%.*s", STR_ARG(member_id));
    return m;
}

void crowd_rise_member(struct crowd *c, struct str member_id, int32_t epoch, int64_t sent_us)
{
    crowd_rise(c, &seen_of(c, member_id)->epochs, epoch, sent_us, "member epoch");
}

void check_epoch_of(struct member *m, int32_t epoch, int64_t sent_us)
{
    struct crowd *c = m->crowd;
    crowd_rise_member(c, str_of(m->member_id), epoch, sent_us);
    if (c->epochs.len == 0 || c->epochs.v[c->epochs.len - 1].value < epoch) /* a member is never ahead of its group */
        crowd_rise(c, &c->epochs, epoch, sent_us, "group epoch");
}

/* Who is held has nothing to give up and is where its group's assignment is. When that moves it is moved, too, or told what to give up. */
void check_held(const struct member *m, int32_t epoch, bool told)
{
    if (!told && epoch < m->assigned)
        sim_fail(m->sim, "%s (%s): a heartbeat that was held is answered in epoch %d with nothing new, when assignment %d was there",
                 m->name, m->member_id, epoch, m->assigned);
}

static void rising_forget(struct rising *r)
{
    free(r->v);
    *r = (struct rising){0};
}

void crowd_forget(struct crowd *c)
{
    for (size_t i = 0; i < c->seen_count; i++)
        rising_forget(&c->seen[i].epochs);
    c->seen_count = 0;
    rising_forget(&c->epochs);
    rising_forget(&c->assignments);
}

void crowd_fini(struct crowd *c)
{
    crowd_forget(c);
    free(c->seen);
    for (uint32_t i = 0; i < c->count; i++)
        member_fini(c->members[i]);
}

/* ---- what is described ---- */

/* Since before it was asked, nothing of that member was under way. */
static bool knows(const struct member *m, int64_t sent_us)
{
    return m->life == LIFE_MEMBER && m->serial == 0 && m->idle_from_us < sent_us && member_is_sure(m) && member_believes(m) &&
           m->member_id[0] != '\0';
}

/* A topic that is not there any more is left out; one that is new may not have come to the node that was asked. */
static bool may_be_missing(const struct crowd *c, uint32_t unit)
{
    uint32_t topic = unit_name(unit);
    return c->kind == CROWD_CONSUMER && (c->sim->now_us < topic_seen_us(c->sim, topic) + YOUNG_US || !topic_exists(c->sim, topic));
}

/* All of them but, perhaps, some that may be missing. */
static bool covers(const struct crowd *c, const struct share *outer, const struct share *inner, bool but_missing)
{
    for (int role = 0; role < ROLES; role++) {
        const struct unit_set *units = &inner->role[role];
        for (int32_t i = 0; i < units->len; i++) {
            if (!set_has(&outer->role[role], units->v[i]) && !(but_missing && may_be_missing(c, units->v[i])))
                return false;
        }
    }
    return true;
}

/* A classic member is told names: of topics that are gone by then it knows nothing. */
static bool as_told(const struct member *m, const struct sight *s)
{
    bool may_have_more = s->with_revoking && m->confirm_by_us != 0;
    return covers(m->crowd, &s->assigned, &m->told, true) && (may_have_more || covers(m->crowd, &m->told, &s->assigned, m->may_rise));
}

static void compare(const struct member *m, const struct sight *s, const char *how)
{
    char seen[SET_TEXT_MAX], told[SET_TEXT_MAX];
    struct crowd *c = m->crowd;
    c->sim->totals.members_compared++;
    if (s == NULL)
        sim_fail(c->sim, "%s: %s %s: %s (%s) is not there", how, crowd_noun(c), c->id, m->name, m->member_id);
    else if (s->epoch < m->epoch ? s->epoch != EPOCH_NOT_TOLD : s->epoch > m->epoch && !m->may_rise)
        sim_fail(c->sim, "%s: %s %s: %s (%s) is in epoch %d, but was told %d", how, crowd_noun(c), c->id, m->name, m->member_id, s->epoch,
                 m->epoch);
    else if (!s->epoch_alone && !as_told(m, s))
        sim_fail(c->sim, "%s: %s %s: %s (%s) has %s, but was told %s", how, crowd_noun(c), c->id, m->name, m->member_id,
                 set_text(&s->assigned.role[ACTIVE], seen), set_text(&m->told.role[ACTIVE], told));
}

void crowd_check_sights(struct crowd *c, const struct sight *v, int32_t count, int64_t sent_us, const struct protocol *of, const char *how)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct member *m = c->members[i];
        if (!knows(m, sent_us) || (of != NULL && m->protocol != of))
            continue;
        int32_t place = 0;
        while (place < count && !str_eq(v[place].member_id, str_of(m->member_id)))
            place++;
        compare(m, place < count ? &v[place] : NULL, how);
    }
}

void crowd_described(struct crowd *c, struct str state, int32_t epoch, int64_t sent_us)
{
    snprintf(c->state, sizeof(c->state), "%.*s", STR_ARG(state));
    c->state_at_us = sent_us;
    c->epoch_described = epoch;
}
