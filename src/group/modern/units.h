/* units.h: sets of what members of the new protocols share among them: partitions of topics, or tasks of subtopologies.
 *
 * A unit is named by a text (a subtopology id; of a consumer group the 16 bytes of a topic id) and a partition. A set is a sorted array without repetitions. */
#ifndef MUSTER_MODERN_UNITS_H
#define MUSTER_MODERN_UNITS_H

#include <muster/base.h>

struct unit {
    struct str name;
    int32_t partition;
    int32_t epoch; /* the assignment epoch it was given with; no part of its identity; 0 where it does not matter */
};
struct units { /* borrowed */
    const struct unit *v;
    int32_t len;
};

/* What one member has, or is to have. Consumer groups use the first kind only. */
enum unit_kind { UNITS_ACTIVE, UNITS_STANDBY, UNITS_WARMUP, UNIT_KINDS };
struct holding {
    struct units kind[UNIT_KINDS];
};

int unit_cmp(const struct unit *a, const struct unit *b);                            /* name, then partition */
const struct unit *units_find(struct units set, struct str name, int32_t partition); /* NULL: not in it */
bool units_equal(struct units a, struct units b);                                    /* epochs apart */
bool units_same(struct units a, struct units b);                                     /* epochs, too */
bool units_within(struct units inner, struct units outer);                           /* inner is a subset */
bool units_meet(struct units a, struct units b);                                     /* something is in both */
bool holding_equal(const struct holding *a, const struct holding *b);                /* epochs apart */
bool holding_same(const struct holding *a, const struct holding *b);
bool holding_within(const struct holding *inner, const struct holding *outer);
bool holding_meet(const struct holding *a, const struct holding *b); /* kind by kind */
int32_t holding_count(const struct holding *h);

/* In the arena; the names are those of the operands. */
struct units units_minus(struct units a, struct units b, struct arena *arena);
struct units units_both(struct units a, struct units b, struct arena *arena); /* a's elements that are in b: a's epochs */
struct units units_join(struct units a, struct units b, struct arena *arena); /* all; of those in both a's */

/* Building one: add in any order, then finish, which sorts and drops repetitions (the first one stays). */
struct unit_list {
    struct unit *v;
    int32_t len, cap;
    struct arena *arena;
};
void unit_list_init(struct unit_list *l, struct arena *arena);
void unit_list_add(struct unit_list *l, struct str name, int32_t partition, int32_t epoch); /* the name is borrowed */
struct units unit_list_finish(struct unit_list *l);

/* What a member says it has, held against what it may have (known): of any other units one stands for all, so that a report of millions takes no more memory
 * than `known` does, and no sorting. Add in any order, then finish. */
struct unit_report {
    struct units known;
    bool *said; /* by place in known */
    struct unit stranger;
    bool strange; /* there is one */
    struct arena *arena;
};
void unit_report_init(struct unit_report *r, struct units known, struct arena *arena);
void unit_report_add(struct unit_report *r, struct str name, const int32_t *partitions, int32_t count); /* the name need not stay */
struct units unit_report_finish(struct unit_report *r);

/* A copy with its names in one block of the pool, immutable and counted. */
struct held {
    int32_t references;
    size_t bytes;
    struct holding holding;
};
struct held *held_new(struct pool *pool, const struct holding *h); /* one reference */
void held_put(struct pool *pool, struct held *h);                  /* gives one reference back; NULL is fine */

#endif
