#include "group_errands.h"

#include <stdio.h>
#include <stdlib.h>

enum errand_kind { ERRAND_ASSIGN, ERRAND_RESOLVE, ERRAND_CREATE };

struct errand {
    struct errand *next;
    enum errand_kind kind;
    bool for_request; /* a request waits for the topics */
    bool again;       /* wished for while the job was out */
    struct group_job *job;
    struct arena arena; /* the group's id, the topics */
    struct str group_id;
    const struct create_topics_request *create;
};

static struct errand *find(struct errands *e, struct str group_id, enum errand_kind kind)
{
    struct errand *one = e->first;
    while (one != NULL && (one->kind != kind || !str_eq(one->group_id, group_id))) {
        one = one->next;
    }
    return one;
}

static struct errand *wish(struct errands *e, struct str group_id, enum errand_kind kind)
{
    struct errand *one = find(e, group_id, kind);
    if (one != NULL) {
        one->again = one->job != NULL;
        return NULL;
    }
    one = calloc(1, sizeof *one);
    one->kind = kind;
    arena_init(&one->arena, 0);
    one->group_id = arena_str(&one->arena, group_id);
    struct errand **link = &e->first;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = one;
    return one;
}

static void take_wishes(struct errands *e, const struct group_op *op, const struct group_out *out)
{
    if (out->assign) {
        (void)wish(e, op->group_id, ERRAND_ASSIGN);
    }
    if (out->resolve) {
        (void)wish(e, op->group_id, ERRAND_RESOLVE);
    }
    struct errand *creation = out->create != NULL ? wish(e, op->group_id, ERRAND_CREATE) : NULL;
    if (creation != NULL) {
        const struct wire_type *type = wire_create_topics_request.type;
        creation->create = wire_copy(type, out->create, arena_get(&creation->arena, wire_copy_size(type, out->create)));
        creation->for_request = out->verdict == GROUP_WAIT;
    }
}

/* ---- the world's events ------------------------------------------------------------------------------------------------------ */

static void on_record(void *ctx, struct record record)
{
    struct errands *e = ctx;
    if (e->told.record != NULL) {
        e->told.record(e->told.ctx, record);
    }
}

static void on_waits(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct errands *e = ctx;
    take_wishes(e, &request->op, out);
    if (e->told.waits != NULL) {
        e->told.waits(e->told.ctx, request, out);
    }
}

static void on_asked(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct errands *e = ctx;
    if (e->told.asked != NULL) {
        e->told.asked(e->told.ctx, request, out);
    }
}

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct errands *e = ctx;
    take_wishes(e, &request->op, out);
    if (e->told.answer != NULL) {
        e->told.answer(e->told.ctx, request, out);
    }
}

static void on_silent(void *ctx, const struct group_op *op, const struct group_out *out)
{
    struct errands *e = ctx;
    take_wishes(e, op, out);
    if (e->told.silent != NULL) {
        e->told.silent(e->told.ctx, op, out);
    }
}

void errands_init(struct errands *e, struct world *w)
{
    *e = (struct errands){.world = w, .told = w->events};
    w->events = (struct world_events){
        .ctx = e, .record = on_record, .waits = on_waits, .asked = on_asked, .answer = on_answer, .silent = on_silent};
}

/* ---- doing it -------------------------------------------------------------------------------------------------------------------- */

static void forget(struct errands *e, struct errand *one)
{
    struct errand **link = &e->first;
    while (*link != one) {
        link = &(*link)->next;
    }
    *link = one->next;
    group_job_free(one->job);
    arena_fini(&one->arena);
    free(one);
}

void errands_drop(struct errands *e)
{
    while (e->first != NULL) {
        forget(e, e->first);
    }
}

void errands_fini(struct errands *e)
{
    errands_drop(e);
    e->world->events = e->told;
}

bool errands_idle(const struct errands *e)
{
    return e->first == NULL;
}

/* The result is decided while the errand is still there, so that what that decision wishes for is done once more. */
static void bring_back(struct errands *e, struct errand *one)
{
    struct group_op op = {.kind = GROUP_JOB_DONE, .api_key = -1, .group_id = one->group_id, .job = one->job};
    world_run(e->world, &op);
    bool again = one->again;
    enum errand_kind kind = one->kind;
    struct arena arena;
    arena_init(&arena, 0);
    struct str group_id = arena_str(&arena, one->group_id);
    forget(e, one);
    if (again) {
        (void)wish(e, group_id, kind);
    }
    arena_fini(&arena);
}

static bool work_job(struct errands *e, struct errand *one)
{
    if (one->job == NULL) {
        one->job = world_job(e->world, one->group_id, one->kind == ERRAND_ASSIGN ? GROUP_JOB_ASSIGN : GROUP_JOB_RESOLVE);
        e->jobs += one->job != NULL ? 1 : 0;
        if (one->job == NULL) {
            forget(e, one);
            return true;
        }
    }
    if (e->hold_jobs) {
        return false;
    }
    bring_back(e, one);
    return true;
}

static void make_topics(struct errands *e, const struct create_topics_request *create)
{
    for (int32_t i = 0; i < create->topics.len; i++) {
        char name[WORLD_NAME];
        int32_t partitions = create->topics.v[i].num_partitions;
        snprintf(name, sizeof name, "%.*s", STR_ARG(create->topics.v[i].name));
        world_topic_set(e->world, name, partitions > 0 ? partitions : e->world->settings.default_partitions);
    }
}

/* Every group hears of it, as when the catalogue of a cluster moves. */
static void tell_topics_changed(struct errands *e)
{
    struct arena ids;
    arena_init(&ids, 0);
    for (struct str id = group_set_next(e->world->set, STR_NULL); !str_is_null(id); id = group_set_next(e->world->set, id)) {
        struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = arena_str(&ids, id)};
        world_run(e->world, &op);
        id = op.group_id;
    }
    arena_fini(&ids);
}

static bool work_creation(struct errands *e, struct errand *one)
{
    if (e->hold_topics) {
        return false;
    }
    struct topics_created created = {.failure = str_of(e->failure)};
    struct arena arena;
    arena_init(&arena, 0);
    struct str group_id = arena_str(&arena, one->group_id);
    bool for_request = one->for_request;
    e->creations++;
    if (e->failure == NULL) {
        make_topics(e, one->create);
    }
    forget(e, one);
    if (e->failure == NULL) {
        tell_topics_changed(e);
    } else if (!for_request) {
        struct group_op op = {.kind = GROUP_TOPICS_CREATED, .api_key = -1, .group_id = group_id, .created = &created};
        world_run(e->world, &op);
    }
    world_made(e->world, group_id, created.failure);
    arena_fini(&arena);
    return true;
}

static bool work_one(struct errands *e)
{
    for (struct errand *one = e->first; one != NULL; one = one->next) {
        if (one->kind == ERRAND_CREATE ? work_creation(e, one) : work_job(e, one)) {
            return true; /* the list is another one now */
        }
    }
    return false;
}

void errands_work(struct errands *e)
{
    if (e->working) {
        return;
    }
    e->working = true;
    int rounds = 0;
    while (work_one(e)) {
        if (++rounds > 10000) {
            fprintf(stderr, "group_errands: there is no end to it\n");
            abort();
        }
    }
    e->working = false;
}
