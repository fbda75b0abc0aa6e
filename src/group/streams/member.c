/* member.c: what the sender of a heartbeat says of itself, and what it says it has. */
#include "draft.h"

/* ---- what it has -------------------------------------------------------------------------------------------------------------------- */

static struct units units_of(const struct draft *t, const struct member_position *p, enum unit_kind kind,
                             const struct streams_group_heartbeat_request_task_ids_array *tasks)
{
    struct unit_report report;
    modern_report_init(&report, p, kind, t->d->arena);
    for (int32_t i = 0; i < tasks->len; i++) {
        unit_report_add(&report, tasks->v[i].subtopology_id, tasks->v[i].partitions.v, tasks->v[i].partitions.len);
    }
    return unit_report_finish(&report);
}

const struct holding *sender_owned(const struct draft *t, const heartbeat_request *r, const struct member_position *p)
{
    if (r->active_tasks.len < 0) {
        return NULL;
    }
    struct holding *owned = ARENA_NEW(t->d->arena, struct holding, 1);
    owned->kind[UNITS_ACTIVE] = units_of(t, p, UNITS_ACTIVE, &r->active_tasks);
    owned->kind[UNITS_STANDBY] = units_of(t, p, UNITS_STANDBY, &r->standby_tasks);
    owned->kind[UNITS_WARMUP] = units_of(t, p, UNITS_WARMUP, &r->warmup_tasks);
    return owned;
}

/* ---- what it says of itself ------------------------------------------------------------------------------------------------------------ */

/* Kept by key. They are few (check.c). */
static void set_tags(const struct draft *t, const heartbeat_request *r, struct modern_member *m)
{
    struct key_value *v = ARENA_NEW(t->d->arena, struct key_value, r->client_tags.len);
    for (int32_t i = 0; i < r->client_tags.len; i++) {
        int32_t place = i;
        for (; place > 0 && str_cmp(v[place - 1].key, r->client_tags.v[i].key) > 0; place--) {
            v[place] = v[place - 1];
        }
        v[place] = (struct key_value){r->client_tags.v[i].key, r->client_tags.v[i].value};
    }
    m->tags = v;
    m->tag_count = r->client_tags.len;
}

/* Whether the request says something that is not what is known already. */
static bool tells_tags(const heartbeat_request *r, const struct modern_member *old)
{
    if (r->client_tags.len != old->tag_count) {
        return r->client_tags.len >= 0;
    }
    for (int32_t i = 0; i < r->client_tags.len; i++) {
        int32_t k = 0;
        while (k < old->tag_count && !str_eq(old->tags[k].key, r->client_tags.v[i].key)) {
            k++;
        }
        if (k == old->tag_count || !str_eq(old->tags[k].value, r->client_tags.v[i].value)) {
            return true;
        }
    }
    return false;
}

static bool tells(struct str said, struct str known)
{
    return !str_is_null(said) && !str_eq(said, known);
}

/* A join without an endpoint says that there is none; a heartbeat without one says nothing. */
static bool tells_endpoint(const heartbeat_request *r, const struct modern_member *old)
{
    if (r->user_endpoint == NULL) {
        return r->member_epoch == 0 && !str_is_null(old->endpoint_host);
    }
    return !str_eq(r->user_endpoint->host, old->endpoint_host) || r->user_endpoint->port != old->endpoint_port;
}

static struct str text_or_empty(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

struct differences {
    bool placement; /* of what its tasks depend on: process, tags, rack */
    bool other;     /* of what moves the epoch of the group all the same */
    bool quiet;     /* of what does not */
};

static struct differences compare(const struct draft *t, const heartbeat_request *r, const struct modern_member *old,
                                  int32_t topology_epoch)
{
    const struct group_caller *caller = &t->d->op->caller;
    return (struct differences){
        .placement = tells(r->process_id, old->process_id) || tells(r->rack_id, old->rack_id) || tells_tags(r, old),
        .other = (r->rebalance_timeout_ms != -1 && r->rebalance_timeout_ms != old->rebalance_timeout_ms) || tells_endpoint(r, old) ||
                 !str_eq(text_or_empty(caller->client_id), old->client_id) || !str_eq(text_or_empty(caller->host), old->client_host) ||
                 topology_epoch != old->topology_epoch,
        .quiet = tells(r->instance_id, old->instance_id),
    };
}

static void take_over(const struct draft *t, const heartbeat_request *r, struct modern_member *m)
{
    m->client_id = text_or_empty(t->d->op->caller.client_id);
    m->client_host = text_or_empty(t->d->op->caller.host);
    m->instance_id = str_is_null(r->instance_id) ? m->instance_id : r->instance_id;
    m->rack_id = str_is_null(r->rack_id) ? m->rack_id : r->rack_id;
    m->process_id = str_is_null(r->process_id) ? m->process_id : r->process_id;
    m->rebalance_timeout_ms = r->rebalance_timeout_ms == -1 ? m->rebalance_timeout_ms : r->rebalance_timeout_ms;
    if (r->user_endpoint != NULL) {
        m->endpoint_host = r->user_endpoint->host;
        m->endpoint_port = r->user_endpoint->port;
    } else if (r->member_epoch == 0) {
        m->endpoint_host = STR_NULL;
        m->endpoint_port = 0;
    }
    if (r->client_tags.len >= 0) {
        set_tags(t, r, m);
    }
}

static const struct modern_member nobody = {.instance_id = {NULL, -1},
                                            .rack_id = {NULL, -1},
                                            .process_id = {"", 0},
                                            .endpoint_host = {NULL, -1}};

static void put(struct draft *t, const heartbeat_request *r, const struct modern_member *from, int32_t topology_epoch)
{
    struct modern_member *m = ARENA_NEW(t->d->arena, struct modern_member, 1);
    *m = *from;
    m->raw = BYTES_NULL;
    take_over(t, r, m);
    m->topology_epoch = topology_epoch;
    t->put = m;
    t->member_put = true;
}

void sender_new(struct draft *t, const heartbeat_request *r, int32_t topology_epoch)
{
    put(t, r, &nobody, topology_epoch);
    draft_bump(t, GROUP_CAUSE_JOINED);
}

void sender_update(struct draft *t, const heartbeat_request *r, const struct modern_member *old, int32_t topology_epoch)
{
    struct differences differ = compare(t, r, old, topology_epoch);
    if (differ.placement || differ.other || differ.quiet) {
        put(t, r, old, topology_epoch);
    }
    /* Seen on Kafka 4.4.0: of one that says its instance only what tasks are placed by counts. */
    if (differ.placement || (differ.other && str_is_null(r->instance_id))) {
        draft_bump(t, GROUP_CAUSE_MEMBER);
    }
}

void sender_replace(struct draft *t, const heartbeat_request *r, const struct modern_member *old, int32_t topology_epoch)
{
    put(t, r, old, topology_epoch);
    if (compare(t, r, old, topology_epoch).placement) {
        draft_bump(t, GROUP_CAUSE_MEMBER);
    }
}

/* ---- what it reports of its tasks ------------------------------------------------------------------------------------------------------ */

typedef struct streams_group_heartbeat_request_task_offset_array reported;
typedef struct streams_task_offsets_value_task_offset_array kept;

static bool same_offsets(const reported *r, const struct task_offset *v, int32_t len)
{
    bool same = r->len == len;
    for (int32_t i = 0; same && i < len; i++) {
        same = str_eq(r->v[i].subtopology_id, v[i].subtopology) && r->v[i].partition == v[i].partition && r->v[i].offset == v[i].offset;
    }
    return same;
}

/* The list as reported; null: as it was. */
static kept offsets_kept(const struct draft *t, const reported *r, const struct task_offset *old, int32_t old_len)
{
    int32_t len = r->len >= 0 ? r->len : old_len;
    kept all = {.v = ARENA_NEW(t->d->arena, struct streams_task_offsets_value_task_offset, len), .len = len};
    for (int32_t i = 0; i < len; i++) {
        all.v[i] = r->len >= 0 ? (struct streams_task_offsets_value_task_offset){r->v[i].subtopology_id, r->v[i].partition, r->v[i].offset}
                               : (struct streams_task_offsets_value_task_offset){old[i].subtopology, old[i].partition, old[i].offset};
    }
    return all;
}

static int64_t report_bytes(const heartbeat_request *r)
{
    int64_t count =
        (int64_t)(r->task_offsets.len > 0 ? r->task_offsets.len : 0) + (r->task_end_offsets.len > 0 ? r->task_end_offsets.len : 0);
    return count * (int64_t)sizeof(struct task_offset);
}

void sender_report_offsets(struct draft *t, const heartbeat_request *r)
{
    static const struct modern_offsets none = {0};
    const struct modern_offsets *old = t->slot != NULL && t->slot->offsets != NULL ? t->slot->offsets : &none;
    bool same = (r->task_offsets.len < 0 || same_offsets(&r->task_offsets, old->offsets, old->offset_count)) &&
                (r->task_end_offsets.len < 0 || same_offsets(&r->task_end_offsets, old->end_offsets, old->end_offset_count));
    /* Without room the last report stands: nothing but a warm-up depends on it. */
    if (!same && budget_allows(t->d, 0, 0, report_bytes(r))) {
        streams_part(t)->offsets_put = true;
        streams_part(t)->offsets.task_offsets = offsets_kept(t, &r->task_offsets, old->offsets, old->offset_count);
        streams_part(t)->offsets.task_end_offsets = offsets_kept(t, &r->task_end_offsets, old->end_offsets, old->end_offset_count);
    }
}
