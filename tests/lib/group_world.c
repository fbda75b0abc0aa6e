#include "group_world.h"

#include "group_defaults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world_timer {
    struct world_timer *next;
    struct group_timer timer;
    char group_id[WORLD_NAME * 4], member_id[WORLD_NAME * 4];
    int64_t due_ms;
};

static void fail(const char *what)
{
    fprintf(stderr, "group_world: %s\n", what);
    abort();
}

/* ---- topics ----------------------------------------------------------------------------------------------------------- */

static void topic_view(const struct world_topic *t, struct topic_view *ret)
{
    *ret = (struct topic_view){.name = str_of(t->name), .id = t->id, .partitions = t->partitions};
}

static bool by_name(const void *ctx, struct str name, struct topic_view *ret)
{
    const struct world *w = ctx;
    for (int i = 0; i < w->topic_count; i++) {
        if (!w->topic[i].deleted && str_eq(str_of(w->topic[i].name), name)) {
            topic_view(&w->topic[i], ret);
            return true;
        }
    }
    return false;
}

static const struct world_topic *find_id(const struct world *w, struct uuid id)
{
    for (int i = 0; i < w->topic_count; i++) {
        if (uuid_eq(w->topic[i].id, id)) {
            return &w->topic[i];
        }
    }
    return NULL;
}

static bool by_id(const void *ctx, struct uuid id, struct topic_view *ret)
{
    const struct world_topic *t = find_id(ctx, id);
    if (t == NULL || t->deleted) {
        return false;
    }
    topic_view(t, ret);
    return true;
}

static bool was_deleted(const void *ctx, struct uuid id)
{
    const struct world_topic *t = find_id(ctx, id);
    return t != NULL && t->deleted;
}

static bool next_topic(const void *ctx, struct str after, struct topic_view *ret)
{
    const struct world *w = ctx;
    const struct world_topic *best = NULL;
    for (int i = 0; i < w->topic_count; i++) {
        const struct world_topic *t = &w->topic[i];
        if (!t->deleted && str_cmp(str_of(t->name), after) > 0 && (best == NULL || str_cmp(str_of(t->name), str_of(best->name)) < 0)) {
            best = t;
        }
    }
    if (best != NULL) {
        topic_view(best, ret);
    }
    return best != NULL;
}

/* Shard 0 remembers a topic that is gone. */
static void deletion_record(struct world *w, const struct world_topic *t)
{
    struct topic_deleted_key key = {.topic_id = t->id};
    struct topic_deleted_value value = {.name = str_of(t->name), .deleted_index = (int64_t)++w->index};
    if (!group_apply(w->shard0, w->index, wire_record_encode(RECORD_TOPIC_DELETED, &key, 0, &value, &w->scratch), &w->scratch)) {
        fail("a deletion cannot be applied");
    }
}

/* Shard 0 has it, too: what was read off an older catalogue is known by its index. */
static void catalog_record(struct world *w, const struct world_topic *t)
{
    struct topic_key key = {.name = str_of(t->name)};
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id = t->id;
    value.partitions = t->partitions;
    struct record record = wire_record_encode(RECORD_TOPIC, &key, 0, t->deleted ? NULL : &value, &w->scratch);
    if (!group_apply(w->shard0, ++w->index, record, &w->scratch)) {
        fail("a topic cannot be applied");
    }
    if (t->deleted) {
        deletion_record(w, t);
    }
    arena_clear(&w->scratch);
}

void world_topic_set(struct world *w, const char *name, int32_t partitions)
{
    struct world_topic *t = NULL;
    for (int i = 0; i < w->topic_count; i++) {
        if (strcmp(w->topic[i].name, name) == 0 && !w->topic[i].deleted) {
            t = &w->topic[i];
        }
    }
    if (t == NULL) {
        if (w->topic_count == WORLD_TOPICS) {
            fail("too many topics");
        }
        t = &w->topic[w->topic_count++];
        snprintf(t->name, sizeof t->name, "%s", name);
        memset(t->id.b, 0xee, sizeof t->id.b);
        t->id.b[15] = (uint8_t)w->topic_count;
    }
    t->deleted = partitions == 0;
    t->partitions = partitions;
    catalog_record(w, t);
}

/* ---- life ---------------------------------------------------------------------------------------------------------------- */

void world_init(struct world *w, const struct world_events *events)
{
    memset(w, 0, sizeof *w);
    w->events = *events;
    w->set = group_set_new(&w->pool, 1);
    w->shard0 = group_set_new(&w->pool, 0);
    w->settings = group_defaults();
    w->settings.adaptive.enabled = false; /* members come when the test says */
    w->topics = (struct topics){.ctx = w, .by_name = by_name, .by_id = by_id, .was_deleted = was_deleted, .next = next_topic};
    w->check = true;
    arena_init(&w->scratch, 0);
}

void world_request_free(struct world_request *r)
{
    arena_fini(&r->arena);
    free(r);
}

static void timers_clear(struct world *w)
{
    for (struct world_timer *t = w->timers, *next; t != NULL; t = next) {
        next = t->next;
        free(t);
    }
    w->timers = NULL;
}

static void free_all(struct world_request *requests)
{
    for (struct world_request *r = requests, *next; r != NULL; r = next) {
        next = r->next;
        world_request_free(r);
    }
}

void world_fini(struct world *w)
{
    free_all(w->requests);
    free_all(w->making);
    timers_clear(w);
    group_set_free(w->set);
    group_set_free(w->shard0);
    arena_fini(&w->scratch);
    if (w->pool.bytes != 0 || w->pool.objects != 0) {
        fail("the set leaks memory of its pool");
    }
}

struct world_request *world_request_new(const char *name)
{
    struct world_request *r = calloc(1, sizeof *r);
    snprintf(r->name, sizeof r->name, "%s", name);
    arena_init(&r->arena, 0);
    r->op.api_key = -1;
    return r;
}

/* ---- timers ---------------------------------------------------------------------------------------------------------------- */

static bool text_is(const char *text, struct str s)
{
    return strlen(text) == (size_t)(s.len > 0 ? s.len : 0) && memcmp(text, s.len > 0 ? s.ptr : "", strlen(text)) == 0;
}

static struct world_timer **timer_link(struct world *w, const struct group_timer *timer)
{
    struct world_timer **link = &w->timers;
    while (*link != NULL && ((*link)->timer.kind != timer->kind || !text_is((*link)->group_id, timer->group_id) ||
                             !text_is((*link)->member_id, timer->member_id))) {
        link = &(*link)->next;
    }
    return link;
}

static void timer_cancel(struct world *w, const struct group_timer *timer)
{
    struct world_timer **link = timer_link(w, timer);
    struct world_timer *t = *link;
    if (t != NULL) {
        *link = t->next;
        free(t);
    }
}

static void timer_arm(void *ctx, const struct group_timer_wish *wish)
{
    struct world *w = ctx;
    if (wish->keep && *timer_link(w, &wish->timer) != NULL) {
        return;
    }
    timer_cancel(w, &wish->timer);
    if (wish->delay_ms < 0) {
        return;
    }
    struct world_timer *t = calloc(1, sizeof *t);
    t->timer = wish->timer;
    snprintf(t->group_id, sizeof t->group_id, "%.*s", STR_ARG(wish->timer.group_id));
    snprintf(t->member_id, sizeof t->member_id, "%.*s", STR_ARG(wish->timer.member_id));
    t->timer.group_id = str_of(t->group_id);
    t->timer.member_id = str_of(t->member_id);
    t->due_ms = w->now_ms + wish->delay_ms;
    struct world_timer **link = &w->timers;
    while (*link != NULL && (*link)->due_ms <= t->due_ms) {
        link = &(*link)->next;
    }
    t->next = *link;
    *link = t;
}

bool world_timer_at(const struct world *w, int n, struct group_timer *ret, int64_t *ret_due_ms)
{
    const struct world_timer *t = w->timers;
    while (t != NULL && n-- > 0) {
        t = t->next;
    }
    if (t != NULL) {
        *ret = t->timer;
        *ret_due_ms = t->due_ms;
    }
    return t != NULL;
}

/* ---- decisions ---------------------------------------------------------------------------------------------------------------- */

static void op_fill(struct world *w, struct group_op *op)
{
    op->clock_ms = w->now_ms;
    op->wall_ms = 1700000000000 + w->now_ms;
    op->next_index = w->index + 1;
    op->topics = &w->topics;
    op->settings = &w->settings;
    op->catalog = w->shard0;
}

/* Only what makes a member id is numbered, so that transcripts can name members before they exist. */
static struct uuid draw_id(struct world *w, const struct group_op *op)
{
    struct uuid id = {{0}};
    bool member = false;
    if (op->kind == GROUP_JOIN) {
        member = str_is_empty(((const struct join_group_request *)op->request)->member_id);
    } else if (op->kind == GROUP_CONSUMER_HEARTBEAT) {
        member = str_is_empty(((const struct consumer_group_heartbeat_request *)op->request)->member_id);
    }
    put_be32(id.b + (member ? 12 : 0), member ? ++w->ids : ++w->other_ids);
    return id;
}

static void check_same(const struct group_out *a, const struct group_out *b)
{
    if (a->records.len != b->records.len || a->verdict != b->verdict || a->error != b->error || strcmp(a->rule, b->rule) != 0 ||
        a->timer_count != b->timer_count || a->assign != b->assign || a->resolve != b->resolve ||
        (a->create == NULL) != (b->create == NULL)) {
        fail("a decision on an overlay differs");
    }
    for (size_t i = 0; i < a->records.len; i++) {
        if (!bytes_eq(a->records.v[i].key, b->records.v[i].key) || !bytes_eq(a->records.v[i].value, b->records.v[i].value)) {
            fail("a record decided on an overlay differs");
        }
    }
}

/* What an overlay can tell: it has no offsets. */
static bool membership(enum group_op_kind kind)
{
    enum group_op_class class = group_op_class(kind);
    return class == GROUP_CLASS_MEMBERSHIP || (class == GROUP_CLASS_READ && kind != GROUP_OFFSET_FETCH);
}

static void check_overlay(struct world *w, const struct group_op *op, const struct group_out *out)
{
    if (!w->check || !membership(op->kind)) {
        return;
    }
    struct arena arena;
    arena_init(&arena, 0);
    struct group_set *overlay = group_overlay_new(w->set, op->group_id);
    struct group_out again;
    group_decide(overlay, op, &arena, &again);
    check_same(out, &again);
    group_overlay_free(overlay);
    arena_fini(&arena);
}

struct group_set *world_restored(struct world *w, struct pool *pool, size_t budget)
{
    struct group_set *copy = group_set_new(pool, 1);
    struct arena arena;
    struct buf run;
    arena_init(&arena, 0);
    buf_init(&run, 0);
    bool more = true, good = true;
    group_snapshot_begin(w->set);
    while (more && good) {
        more = group_snapshot_next(w->set, budget, &run);
        good = group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len}, &arena) == 0;
        buf_clear(&run);
    }
    group_snapshot_end(w->set);
    buf_fini(&run);
    arena_fini(&arena);
    if (!good) {
        group_set_free(copy);
    }
    return good ? copy : NULL;
}

static void check_snapshot(struct world *w)
{
    if (!w->check) {
        return;
    }
    struct pool pool = {0};
    struct group_set *copy = world_restored(w, &pool, 200);
    if (copy == NULL || group_set_hash(copy) != group_set_hash(w->set) || group_set_clock(copy) != group_set_clock(w->set)) {
        fail("a restored snapshot differs");
    }
    for (struct str id = group_set_next(w->set, STR_NULL); !str_is_null(id); id = group_set_next(w->set, id)) {
        if (group_revision(copy, id) != group_revision(w->set, id)) {
            fail("a restored group has another revision");
        }
    }
    group_set_free(copy);
}

/* ---- the history is what happened ------------------------------------------------------------------------------------------------------- */

static bool one_of(struct str state, const char *a, const char *b, const char *c, const char *d)
{
    return str_eq(state, str_of(a)) || str_eq(state, str_of(b)) || str_eq(state, str_of(c)) || str_eq(state, str_of(d));
}

static void check_rebalance(const struct group_history_response_rebalance *r, const struct group_history_response_rebalance *before)
{
    int32_t all = 0;
    for (int32_t i = 0; i < r->counts.len; i++) {
        all += r->counts.v[i].count;
    }
    bool shown = r->causes.len == (all < 8 ? all : 8);
    for (int32_t i = 0; i < r->causes.len; i++) {
        shown = shown && r->causes.v[i].number == i && r->causes.v[i].clock_ms >= r->began_clock_ms;
    }
    if (all == 0 || !shown) {
        fail("a rebalance without its causes");
    }
    bool ended = r->settled_clock_ms < 0 || (r->settled_clock_ms >= r->began_clock_ms && r->settled_clock_ms >= r->prepared_clock_ms);
    if (!ended || (before != NULL && (before->rebalance + 1 != r->rebalance || before->settled_clock_ms < 0))) {
        fail("rebalances that do not follow one another");
    }
}

/* A rebalance goes on exactly while the group is not settled (but for a static member that was away for a moment: it moves nothing), each has a cause, and only so
 * many are kept. */
static void check_history(struct world *w)
{
    struct arena arena;
    arena_init(&arena, 0);
    for (struct str id = group_set_next(w->set, STR_NULL); w->check && !str_is_null(id); id = group_set_next(w->set, id)) {
        struct group_op op = {.kind = GROUP_HISTORY, .api_key = -1, .group_id = id};
        struct group_out out;
        op_fill(w, &op);
        group_decide(w->set, &op, &arena, &out);
        const struct group_history_response *h = out.answer;
        for (int32_t i = 0; i < h->rebalances.len; i++) {
            check_rebalance(&h->rebalances.v[i], i > 0 ? &h->rebalances.v[i - 1] : NULL);
        }
        bool open = h->rebalances.len > 0 && h->rebalances.v[h->rebalances.len - 1].settled_clock_ms < 0;
        bool moves = one_of(h->group_state, "PreparingRebalance", "CompletingRebalance", "Assigning", "Assigning");
        bool rests = one_of(h->group_state, "Stable", "Empty", "Dead", "Dead");
        if ((open && rests) || (!open && moves && w->history_whole)) {
            fail("the history says something else than the group's state");
        }
        if (w->history_whole && h->rebalances.len > w->settings.history_max_entries) {
            fail("the history is too long");
        }
        arena_clear(&arena);
    }
    arena_fini(&arena);
}

void world_level(struct world *w, int16_t level)
{
    struct feature_level_key key = {STR("feature.level")};
    struct feature_level_value value;
    struct group_set_counts counts;
    wire_init(&wire_feature_level_value, &value);
    value.level = level;
    struct record record = wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, &value, &w->scratch);
    if (!group_apply(w->shard0, ++w->index, record, &w->scratch)) {
        fail("the feature level cannot be applied");
    }
    group_set_counts(w->set, &counts);
    w->history_whole = level >= 2 && counts.groups == 0;
    arena_clear(&w->scratch);
}

static struct str group_of(const struct group_op *op)
{
    return op->group_id;
}

static void apply_entry(struct world *w, struct str group_id, const struct record *records, size_t count)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct log_entry entry;
    wire_init(&wire_log_entry, &entry);
    struct log_entry_group_revision touched = {.group_id = group_id, .revision = group_revision(w->set, group_id)};
    entry.shard_clock_ms = w->now_ms;
    entry.wall_ms = 1700000000000 + w->now_ms;
    entry.groups.v = &touched;
    entry.groups.len = str_is_null(group_id) ? 0 : 1;
    entry.records.len = (int32_t)count;
    entry.records.v = ARENA_NEW(&arena, struct log_entry_entry_record, count);
    for (size_t i = 0; i < count; i++) {
        entry.records.v[i] = (struct log_entry_entry_record){.key = records[i].key, .value = records[i].value};
    }
    const char *why = "";
    if (!group_apply_entry(w->set, ++w->index, wire_encode(&wire_log_entry, 0, &entry, &arena), &w->scratch, NULL, NULL, &why)) {
        fail(why);
    }
    w->entries++;
    arena_clear(&w->scratch);
    arena_fini(&arena);
    check_snapshot(w);
    check_history(w);
}

/* Keys of a group's records begin with its id. */
static struct str group_of_record(struct record record, struct arena *arena)
{
    struct wire_decoded_record decoded;
    if (wire_record_decode(record, arena, &decoded) < 0) {
        return STR_NULL;
    }
    const struct wire_field *first = &decoded.schema->key->type->fields[0];
    bool group = strcmp(first->name, "GroupId") == 0 || strcmp(first->name, "group") == 0;
    return group ? *(const struct str *)decoded.key : STR_NULL;
}

void world_apply(struct world *w, const struct record *records, size_t count)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct str group_id = count > 0 ? group_of_record(records[0], &arena) : STR_NULL;
    apply_entry(w, group_id, records, count);
    arena_fini(&arena);
}

/* Decides, applies, arms: what a coordinator does with one request. */
static void decide(struct world *w, struct group_op *op, struct arena *arena, struct group_out *ret)
{
    op_fill(w, op);
    group_decide(w->set, op, arena, ret);
    w->decisions++;
    check_overlay(w, op, ret);
    for (size_t i = 0; i < ret->records.len && w->events.record != NULL; i++) {
        w->events.record(w->events.ctx, ret->records.v[i]);
    }
    if (ret->records.len > 0) {
        apply_entry(w, group_of(op), ret->records.v, ret->records.len);
    }
    for (size_t i = 0; i < ret->timer_count; i++) {
        timer_arm(w, &ret->timers[i]);
    }
}

static void tell_answer(struct world *w, struct world_request *r, const struct group_out *out)
{
    if (w->events.answer != NULL) {
        w->events.answer(w->events.ctx, r, out);
    }
    world_request_free(r);
}

static void queue(struct world_request **link, struct world_request *r)
{
    r->next = NULL;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = r;
}

static void park(struct world *w, struct world_request *r)
{
    r->phase = 0; /* asked again at once */
    r->op.waiting = true;
    queue(&w->requests, r);
}

/* The oldest request whose group has moved since it was asked. */
static struct world_request *next_to_ask(struct world *w)
{
    for (struct world_request *r = w->requests; r != NULL; r = r->next) {
        if (r->phase != group_phase(w->set, r->op.group_id) || group_phase(w->set, r->op.group_id) == 0) {
            return r;
        }
    }
    return NULL;
}

static void unlink_request(struct world *w, struct world_request *r)
{
    struct world_request **link = &w->requests;
    while (*link != r) {
        link = &(*link)->next;
    }
    *link = r->next;
}

void world_ask_again(struct world *w)
{
    struct world_request *r;
    while (!w->hold && (r = next_to_ask(w)) != NULL) {
        struct group_out out;
        r->phase = group_phase(w->set, r->op.group_id);
        decide(w, &r->op, &r->arena, &out);
        if (out.records.len > 0) {
            fail("a request that waits decided something");
        }
        if (out.verdict == GROUP_ANSWER) {
            unlink_request(w, r);
            tell_answer(w, r, &out);
        } else if (w->events.asked != NULL) {
            w->events.asked(w->events.ctx, r, &out);
        }
    }
}

static void submit(struct world *w, struct world_request *r)
{
    struct group_out out;
    decide(w, &r->op, &r->arena, &out);
    if (out.verdict == GROUP_WAIT && w->events.waits != NULL) {
        w->events.waits(w->events.ctx, r, &out);
    }
    if (out.verdict == GROUP_WAIT && out.create != NULL) {
        queue(&w->making, r);
    } else if (out.verdict == GROUP_WAIT) {
        park(w, r);
    } else {
        tell_answer(w, r, &out);
    }
    world_ask_again(w);
}

void world_submit(struct world *w, struct world_request *r)
{
    r->op.fresh_id = draw_id(w, &r->op);
    submit(w, r);
}

void world_made(struct world *w, struct str group_id, struct str failure)
{
    struct world_request *waited = w->making, *next;
    w->making = NULL;
    for (struct world_request *r = waited; r != NULL; r = next) {
        next = r->next;
        if (!str_eq(r->op.group_id, group_id)) {
            queue(&w->making, r);
            continue;
        }
        struct topics_created *created = ARENA_NEW(&r->arena, struct topics_created, 1);
        created->failure = arena_str(&r->arena, failure);
        r->op.created = created;
        submit(w, r);
    }
}

void world_run(struct world *w, struct group_op *op)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct group_out out;
    do {
        op->fresh_id = draw_id(w, op);
        decide(w, op, &arena, &out);
        if (w->events.silent != NULL) {
            w->events.silent(w->events.ctx, op, &out);
        }
    } while (out.more);
    arena_fini(&arena);
    world_ask_again(w);
}

/* All that are due at one moment leave before the first is decided, as in a turn of a coordinator: what the first decides cancels none of the others. */
static void fire_due(struct world *w)
{
    struct world_timer *due = NULL, **end = &due;
    w->now_ms = w->timers->due_ms;
    while (w->timers != NULL && w->timers->due_ms <= w->now_ms) {
        *end = w->timers;
        end = &w->timers->next;
        w->timers = w->timers->next;
    }
    *end = NULL;
    for (struct world_timer *t = due, *next; t != NULL; t = next) {
        struct group_op op = {.kind = GROUP_TIMER, .api_key = -1, .group_id = t->timer.group_id, .timer = t->timer};
        world_run(w, &op);
        next = t->next;
        free(t);
    }
}

void world_tick(struct world *w, int64_t ms)
{
    int64_t until = w->now_ms + ms;
    while (w->timers != NULL && w->timers->due_ms <= until) {
        fire_due(w);
    }
    w->now_ms = until;
}

/* ---- jobs and configs ------------------------------------------------------------------------------------------------------------ */

struct group_job *world_job(struct world *w, struct str group_id, enum group_job_kind kind)
{
    struct group_op op = {.kind = GROUP_JOB_DONE, .api_key = -1, .group_id = group_id};
    op_fill(w, &op);
    struct group_job *job = group_job_new(w->set, &op, kind);
    if (job != NULL) {
        group_job_run(job);
    }
    return job;
}

void world_group_config(struct world *w, struct str group_id, struct str name, struct str value)
{
    struct config_key key = {.resource_type = 32, .resource_name = group_id, .name = name};
    struct config_value kept = {.value = value};
    struct record record = wire_record_encode(RECORD_CONFIG, &key, 0, str_is_null(value) ? NULL : &kept, &w->scratch);
    if (!group_apply(w->shard0, ++w->index, record, &w->scratch)) {
        fail("a config cannot be applied");
    }
    arena_clear(&w->scratch);
}

/* ---- failover ----------------------------------------------------------------------------------------------------------------- */

static void refuse_all(struct world *w, struct world_request **requests)
{
    while (*requests != NULL) {
        struct world_request *r = *requests;
        struct group_out out;
        *requests = r->next;
        group_refuse(&r->op, 16, &r->arena, &out);
        tell_answer(w, r, &out);
    }
}

static void refuse_waiting(struct world *w)
{
    refuse_all(w, &w->requests);
    refuse_all(w, &w->making);
}

void world_failover(struct world *w)
{
    refuse_waiting(w);
    timers_clear(w);
    group_set_timers(w->set, w->shard0, &w->settings, w->now_ms, timer_arm, w);
    struct arena ids;
    arena_init(&ids, 0);
    for (struct str id = group_set_next(w->set, STR_NULL); !str_is_null(id); id = group_set_next(w->set, id)) {
        if (group_needs_takeover(w->set, id)) {
            struct group_op op = {.kind = GROUP_TAKEOVER, .api_key = -1, .group_id = arena_str(&ids, id)};
            world_run(w, &op);
            id = op.group_id;
        }
    }
    arena_fini(&ids);
}
