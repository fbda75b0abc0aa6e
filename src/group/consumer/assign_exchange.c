/* assign_exchange.c: things change hands until as many as possible are near to who holds them.
 *
 * Members of a rack are as good as each other, so things are first placed in racks: a rack has as many seats as its members hold things. A thing that is near
 * where it is, is settled; seats of all others are open. In rounds, what is not settled takes an open seat in a rack near to it, or the seat of a settled thing
 * that can move on in the same way, along the shortest chains there are (the algorithm of Hopcroft and Karp): few rounds do, and in the end no more things could
 * be settled by any means. Then things go to members. */
#include "assign_draft.h"

struct step {
    int32_t thing, choice; /* which of its racks is being tried */
};

struct settling {
    struct exchange *x;
    int32_t *at;                 /* of each thing: the rack it is settled in */
    int32_t *head, *next, *back; /* lists of what is settled in each rack */
    int32_t *open;               /* of each rack: seats */
    int32_t *depth;              /* of each rack: on how many racks a chain to it touches; NOBODY: it is no use */
    int32_t *untried;            /* of each rack: the rest of its list, in this round */
    int32_t *queue;
    struct step *chain;
};

static void settle(struct settling *s, int32_t thing, int32_t rack)
{
    s->at[thing] = rack;
    s->back[thing] = NOBODY;
    s->next[thing] = s->head[rack];
    if (s->head[rack] != NOBODY) {
        s->back[s->head[rack]] = thing;
    }
    s->head[rack] = thing;
}

static void unsettle(struct settling *s, int32_t thing)
{
    int32_t next = s->next[thing], back = s->back[thing];
    if (back != NOBODY) {
        s->next[back] = next;
    } else {
        s->head[s->at[thing]] = next;
    }
    if (next != NOBODY) {
        s->back[next] = back;
    }
    s->at[thing] = NOBODY;
}

static bool is_near(const struct exchange *x, int32_t thing, int32_t rack)
{
    int32_t i = 0;
    while (i < x->near_count[thing] && x->near[thing][i] != rack) {
        i++;
    }
    return i < x->near_count[thing];
}

static void settling_init(struct settling *s, struct exchange *x)
{
    size_t racks = (size_t)x->rack_count;
    *s = (struct settling){.x = x};
    s->at = ARENA_NEW(x->arena, int32_t, x->count);
    s->next = ARENA_NEW(x->arena, int32_t, x->count);
    s->back = ARENA_NEW(x->arena, int32_t, x->count);
    s->head = ARENA_NEW(x->arena, int32_t, racks);
    s->open = ARENA_NEW(x->arena, int32_t, racks);
    s->depth = ARENA_NEW(x->arena, int32_t, racks);
    s->untried = ARENA_NEW(x->arena, int32_t, racks);
    s->queue = ARENA_NEW(x->arena, int32_t, racks);
    s->chain = ARENA_NEW(x->arena, struct step, racks + 1);
    for (int32_t r = 0; r < x->rack_count; r++) {
        s->head[r] = NOBODY;
    }
    for (int32_t i = x->count; i-- > 0;) { /* so that the first ones come first in the lists */
        int32_t home = x->home[x->holder[i]];
        s->at[i] = NOBODY;
        if (home != NOBODY && is_near(x, i, home)) {
            settle(s, i, home);
        } else if (home != NOBODY) {
            s->open[home]++;
        }
    }
}

/* ---- a round ---------------------------------------------------------------------------------------------------------------------------------- */

static int32_t reach(struct settling *s, int32_t thing, int32_t depth, int32_t len)
{
    for (int32_t i = 0; i < s->x->near_count[thing]; i++) {
        int32_t rack = s->x->near[thing][i];
        if (s->depth[rack] == NOBODY) {
            s->depth[rack] = depth;
            s->queue[len++] = rack;
        }
    }
    return len;
}

/* How far racks are from what is not settled, up to the nearest with an open seat; false: none of those can be reached. */
static bool measure(struct settling *s)
{
    int32_t len = 0, nearest = INT32_MAX;
    for (int32_t r = 0; r < s->x->rack_count; r++) {
        s->depth[r] = NOBODY;
        s->untried[r] = s->head[r];
    }
    for (int32_t i = 0; i < s->x->count; i++) {
        if (s->at[i] == NOBODY) {
            len = reach(s, i, 1, len);
        }
    }
    for (int32_t q = 0; q < len && s->depth[s->queue[q]] < nearest; q++) {
        int32_t rack = s->queue[q];
        if (s->open[rack] > 0) {
            nearest = s->depth[rack];
            continue;
        }
        for (int32_t i = s->head[rack]; i != NOBODY; i = s->next[i]) {
            len = reach(s, i, s->depth[rack] + 1, len);
        }
    }
    return nearest < INT32_MAX;
}

static void move_on(struct settling *s, int32_t len)
{
    for (int32_t i = len; i-- > 0;) {
        const struct step *step = &s->chain[i];
        if (s->at[step->thing] != NOBODY) {
            unsettle(s, step->thing);
        }
        settle(s, step->thing, s->x->near[step->thing][step->choice]);
    }
}

/* Looks for a chain that begins with the thing, and moves along it. */
static bool settle_by_chain(struct settling *s, int32_t thing)
{
    int32_t len = 1;
    s->chain[0] = (struct step){thing, 0};
    while (len > 0) {
        struct step *last = &s->chain[len - 1];
        if (last->choice == s->x->near_count[last->thing]) {
            len--; /* the rack it is settled in goes on with its next one */
            continue;
        }
        int32_t rack = s->x->near[last->thing][last->choice];
        if (s->depth[rack] != len) {
            last->choice++;
        } else if (s->open[rack] > 0) {
            s->open[rack]--;
            move_on(s, len);
            return true;
        } else if (s->untried[rack] == NOBODY) {
            s->depth[rack] = NOBODY;
        } else {
            s->chain[len++] = (struct step){s->untried[rack], 0};
            s->untried[rack] = s->next[s->untried[rack]];
        }
    }
    return false;
}

/* ---- seats -------------------------------------------------------------------------------------------------------------------------------------- */

/* What moves leaves its seat; what is settled elsewhere takes one there, and what had to make room takes one of the rest. Members without a rack come last. */
static void take_seats(struct settling *s)
{
    struct exchange *x = s->x;
    int32_t elsewhere = x->rack_count, left = 0;
    int32_t *seats = ARENA_NEW(x->arena, int32_t, (size_t)x->rack_count + 1); /* of each rack a list of those that left, by their seats */
    int32_t *next = ARENA_NEW(x->arena, int32_t, x->count), *mover = ARENA_NEW(x->arena, int32_t, x->count);
    int32_t *holder = ARENA_NEW(x->arena, int32_t, x->count);
    for (int32_t r = 0; r <= x->rack_count; r++) {
        seats[r] = NOBODY;
    }
    for (int32_t i = x->count; i-- > 0;) {
        int32_t home = x->home[holder[i] = x->holder[i]];
        bool stays = s->at[i] != NOBODY ? s->at[i] == home : home == NOBODY || s->open[home]-- > 0;
        if (!stays) {
            home = home == NOBODY ? elsewhere : home;
            next[i] = seats[home];
            seats[home] = i;
            mover[left++] = i;
        }
    }
    for (int pass = 0, rack = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < left; i++) {
            if ((s->at[mover[i]] != NOBODY) != (pass == 0)) {
                continue;
            }
            while (pass == 1 && seats[rack] == NOBODY) {
                rack++;
            }
            int32_t *seat = &seats[pass == 0 ? s->at[mover[i]] : rack];
            MUSTER_CHECK(*seat != NOBODY);
            x->holder[mover[i]] = holder[*seat];
            *seat = next[*seat];
        }
    }
}

void exchange(struct exchange *x)
{
    struct settling s;
    settling_init(&s, x);
    bool moved = false;
    while (measure(&s)) {
        for (int32_t i = 0; i < x->count; i++) {
            moved = (s.at[i] == NOBODY && settle_by_chain(&s, i)) || moved;
        }
    }
    if (moved) {
        take_seats(&s);
    }
}
