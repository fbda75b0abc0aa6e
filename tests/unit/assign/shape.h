/* shape.h: a group to assign tasks in, that changes: members come and go and take what they were given. */
#ifndef MUSTER_TESTS_UNIT_ASSIGN_SHAPE_H
#define MUSTER_TESTS_UNIT_ASSIGN_SHAPE_H

#include "tests.h"

#include "streams/assign.h"

enum { SHAPE_TASKS = 64, SHAPE_MEMBERS = 24, SHAPE_SUBTOPOLOGIES = 4, SHAPE_TAGS = 2 };

struct shape_list {
    int32_t v[SHAPE_TASKS];
    int32_t len;
};
struct shape_member {
    int id; /* for following one while others come and go */
    int32_t process;
    bool idle;
    struct shape_list active, standby, warmup, letting_go;
};
struct shape {
    struct assign_subtopology subtopologies[SHAPE_SUBTOPOLOGIES];
    int32_t subtopology_count, tasks;
    struct shape_member members[SHAPE_MEMBERS];
    int32_t member_count;
    int next_id;
    int32_t tags[SHAPE_MEMBERS][SHAPE_TAGS]; /* of processes */
    int32_t process_count, tag_count;
    int32_t standby_replicas, warmup_replicas;
    bool warm_up;
    int64_t acceptable_lag;
    int64_t lag[SHAPE_TASKS][SHAPE_MEMBERS]; /* -1: unknown */
    /* What assign_tasks() is given, and what came of it. */
    struct assign_in in;
    struct assign_member in_members[SHAPE_MEMBERS];
    struct assign_process in_processes[SHAPE_MEMBERS];
    struct assign_lag in_lags[SHAPE_TASKS * SHAPE_MEMBERS];
    struct arena arena;
    const struct assign_share *shares;
};

void shape_init(struct shape *s, const struct assign_subtopology *subtopologies, int32_t count, int32_t processes);
void shape_fini(struct shape *s);
struct shape_member *shape_join(struct shape *s, int32_t process); /* last in order */
void shape_leave(struct shape *s, int32_t member);
void shape_list_add(struct shape_list *list, int32_t task);
bool shape_list_has(const struct shape_list *list, int32_t task);

/* Fills s->shares, and checks what holds for every assignment: each task active once, standbys and warm-ups where they may be. */
void shape_assign(struct shape *s);
/* Each member takes its share. */
void shape_take(struct shape *s);
bool shape_settled(const struct shape *s); /* its shares are what members have */

/* Of the assignment. */
int32_t shape_owner(const struct shape *s, int32_t task);             /* its member */
bool shape_gets(const struct shape *s, int32_t member, int32_t task); /* as standby */
int32_t shape_warms(const struct shape *s, int32_t task);             /* a process; -1: none */
bool shape_stateful(const struct shape *s, int32_t task);
/* Of what is there before it. */
int32_t shape_was_active(const struct shape *s, int32_t task); /* a member that may keep it; -1: nobody */
bool shape_process_has(const struct shape *s, int32_t task, int32_t process);
int32_t shape_crew(const struct shape *s, int32_t process); /* members that are not idle */
int32_t shape_able(const struct shape *s);                  /* processes with such members */
int32_t shape_workers(const struct shape *s);

/* A random one: subtopologies, processes, members; standbys and tags as asked for. */
struct shape_bounds {
    int32_t tasks, members, processes, replicas, tags;
};
void shape_draw(struct shape *s, struct prng *p, struct shape_bounds b);

#endif
