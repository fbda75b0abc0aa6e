#include "machine.h"

#include "group_defaults.h"

#include <string.h>

/* ---- what the input says ------------------------------------------------------------------------------------------------------- */

uint8_t next_byte(struct machine *m)
{
    if (m->left == 0) {
        return 0;
    }
    m->left--;
    return *m->at++;
}

static uint64_t draw_below(void *ctx, uint64_t bound)
{
    return next_byte(ctx) % bound;
}

int32_t next_number(struct machine *m)
{
    uint8_t b = next_byte(m);
    return b < 240 ? b % 6 : b < 245 ? -1 : b < 250 ? -2 : b == 250 ? INT32_MAX : b == 251 ? INT32_MIN : b * 1000;
}

struct str pick(struct machine *m, const char *const *names, size_t count)
{
    return str_of(names[next_byte(m) % count]);
}

struct str maybe(struct machine *m, struct str s)
{
    return next_byte(m) % 2 == 0 ? STR_NULL : s;
}

struct str next_group(struct machine *m)
{
    static const char *const names[] = {"g-0", "g-0", "g-1", ""};
    return pick(m, names, COUNT_OF(names));
}

struct str next_member(struct machine *m)
{
    static const char *const names[] = {"m-0", "m-1", "m-2", "m-3", ""};
    return pick(m, names, COUNT_OF(names));
}

/* ---- the state ----------------------------------------------------------------------------------------------------------------- */

void machine_apply(struct machine *m, struct record record)
{
    MUSTER_CHECK(group_apply(m->set, ++m->index, record, &m->arena));
}

void machine_apply_catalog(struct machine *m, struct record record)
{
    MUSTER_CHECK(group_apply(m->shard0, ++m->index, record, &m->arena));
}

void machine_config(struct machine *m, struct str group, struct str name, struct str value)
{
    struct config_key key = {.resource_type = 32, .resource_name = group, .name = name};
    struct config_value stored = {.value = value};
    machine_apply_catalog(m, wire_record_encode(RECORD_CONFIG, &key, 0, str_is_null(value) ? NULL : &stored, &m->arena));
}

/* ---- decisions --------------------------------------------------------------------------------------------------------------------- */

static void fill(struct machine *m, struct group_op *op)
{
    op->settings = &m->settings;
    op->topics = &m->topics;
    op->catalog = m->shard0;
    op->api_key = -1;
    op->clock_ms = m->clock_ms;
    op->wall_ms = 1700000000000 + m->clock_ms;
    op->next_index = m->index + 1;
    op->caller = (struct group_caller){STR("c"), STR("/127.0.0.1")};
}

static void check_same(const struct group_out *a, const struct group_out *b)
{
    MUSTER_CHECK(a->records.len == b->records.len && a->verdict == b->verdict && a->error == b->error && strcmp(a->rule, b->rule) == 0);
    for (size_t i = 0; i < a->records.len; i++) {
        MUSTER_CHECK(bytes_eq(a->records.v[i].key, b->records.v[i].key) && bytes_eq(a->records.v[i].value, b->records.v[i].value));
    }
}

static void check_overlay(struct machine *m, const struct group_op *op, const struct group_out *out)
{
    if (group_op_class(op->kind) != GROUP_CLASS_MEMBERSHIP) {
        return;
    }
    struct group_set *overlay = group_overlay_new(m->set, op->group_id);
    struct group_out again;
    group_decide(overlay, op, &m->arena, &again);
    check_same(out, &again);
    for (size_t i = 0; i < out->records.len; i++) {
        MUSTER_CHECK(group_apply(overlay, 0, out->records.v[i], &m->arena));
    }
    group_decide(overlay, op, &m->arena, &again); /* on what the first would leave */
    group_overlay_free(overlay);
}

static void begin_job(struct machine *m, const struct group_op *op, enum group_job_kind kind)
{
    m->job = group_job_new(m->set, op, kind);
    if (m->job != NULL) {
        group_job_run(m->job);
    }
}

void decide(struct machine *m, struct group_op *op, const struct wire_msg *response)
{
    struct group_out out;
    fill(m, op);
    group_decide(m->set, op, &m->arena, &out);
    check_overlay(m, op, &out);
    for (size_t i = 0; i < out.records.len; i++) {
        machine_apply(m, out.records.v[i]);
    }
    if (out.answer != NULL && response != NULL) {
        int16_t version = op->api_version > response->max_version ? response->max_version : op->api_version;
        (void)wire_encode(response, version, out.answer, &m->arena);
    }
    if (m->job == NULL && (out.assign || out.resolve)) {
        begin_job(m, op, out.assign ? GROUP_JOB_ASSIGN : GROUP_JOB_RESOLVE);
    }
}

void step_timer(struct machine *m)
{
    struct group_op op = {.kind = GROUP_TIMER, .group_id = next_group(m)};
    op.timer.kind = (enum group_timer_kind)(next_byte(m) % (GROUP_TIMER_LAST + 1));
    op.timer.member_id = next_member(m);
    op.timer.epoch = next_number(m);
    decide(m, &op, NULL);
}

/* A job is made of the state as it is now; its result comes back when there are other things to do in between, or not. */
void step_job(struct machine *m)
{
    if (m->job == NULL) {
        struct group_op op = {.kind = GROUP_JOB_DONE, .group_id = next_group(m)};
        fill(m, &op);
        begin_job(m, &op, next_byte(m) % 2 == 0 ? GROUP_JOB_ASSIGN : GROUP_JOB_RESOLVE);
        return;
    }
    struct group_job *back = m->job;
    decide(m, &(struct group_op){.kind = GROUP_JOB_DONE, .group_id = group_job_group(back), .job = back}, NULL);
    group_job_free(back);
    m->job = NULL;
}

static void count_timer(void *ctx, const struct group_timer_wish *wish)
{
    MUSTER_CHECK(wish->delay_ms >= 0 && !str_is_null(wish->timer.member_id));
    ++*(int *)ctx;
}

void step_failover(struct machine *m)
{
    int timers = 0;
    struct group_listing listing;
    group_set_timers(m->set, m->shard0, &m->settings, m->clock_ms, count_timer, &timers);
    for (struct str id = group_set_next(m->set, STR_NULL); !str_is_null(id); id = group_set_next(m->set, id)) {
        MUSTER_CHECK(group_listing(m->set, id, &listing));
        (void)group_needs_takeover(m->set, id);
    }
    m->clock_ms += next_byte(m) * 50;
}

/* ---- snapshots ---------------------------------------------------------------------------------------------------------------------- */

static void cut_begin(struct machine *m)
{
    m->cutting = true;
    m->cut_hash = group_set_hash(m->set);
    buf_init(&m->cut, 0);
    group_snapshot_begin(m->set);
}

static void cut_end(struct machine *m)
{
    struct pool pool = {0};
    struct group_set *copy = group_set_new(&pool, 1);
    while (group_snapshot_next(m->set, 64, &m->cut)) {
    }
    group_snapshot_end(m->set);
    MUSTER_CHECK(group_restore(copy, (struct bytes){m->cut.ptr, (int32_t)m->cut.len}, &m->arena) == 0);
    MUSTER_CHECK(group_set_hash(copy) == m->cut_hash);
    group_set_free(copy);
    MUSTER_CHECK(pool.bytes == 0);
    buf_fini(&m->cut);
    m->cutting = false;
}

void step_cut(struct machine *m)
{
    if (!m->cutting) {
        cut_begin(m);
    } else if (!group_snapshot_next(m->set, 1 + next_byte(m), &m->cut)) {
        cut_end(m);
    }
}

/* ---- life ----------------------------------------------------------------------------------------------------------------------------- */

/* Everything that the program knows is written, the histories of groups, too. */
static void machine_raise_level(struct machine *m)
{
    struct feature_level_key key = {STR("feature.level")};
    struct feature_level_value value;
    wire_init(&wire_feature_level_value, &value);
    value.level = group_feature_level;
    machine_apply_catalog(m, wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, &value, &m->arena));
}

void machine_begin(struct machine *m, const uint8_t *data, size_t size, uint32_t shard)
{
    *m = (struct machine){.at = data, .left = size};
    m->set = group_set_new(&m->pool, shard);
    m->shard0 = shard == 0 ? m->set : group_set_new(&m->pool, 0);
    m->settings = group_defaults();
    arena_init(&m->arena, 0);
    catalog_topics(m->shard0, &m->topics);
    machine_raise_level(m);
    m->draw = (struct record_draw){.ctx = m, .below = draw_below, .arena = &m->arena, .groups = 2, .members = 3};
}

void machine_run(struct machine *m, machine_step *const *steps, size_t count)
{
    while (m->left > 0) {
        steps[next_byte(m) % count](m);
        arena_clear(&m->arena);
    }
    if (m->cutting) {
        cut_end(m);
    }
    cut_begin(m);
    cut_end(m);
}

void machine_end(struct machine *m)
{
    group_job_free(m->job);
    group_set_free(m->set);
    if (m->shard0 != m->set) {
        group_set_free(m->shard0);
    }
    MUSTER_CHECK(m->pool.bytes == 0 && m->pool.objects == 0);
    arena_fini(&m->arena);
}
