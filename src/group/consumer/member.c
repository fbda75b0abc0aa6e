/* member.c: what the sender of a heartbeat says of itself, and what it says it has. */
#include "draft.h"

#include "../names.h"

const struct modern_member consumer_nobody = {
    .instance_id = {NULL, -1}, .rack_id = {NULL, -1}, .regex = {NULL, -1}, .assignor = {NULL, -1}, .raw = {NULL, -1}};

/* ---- what it has -------------------------------------------------------------------------------------------------------------------- */

const struct holding *consumer_sender_owned(const struct draft *t, const consumer_heartbeat *r, const struct member_position *p)
{
    if (r->topic_partitions.len < 0) {
        return NULL;
    }
    struct holding *owned = ARENA_NEW(t->d->arena, struct holding, 1);
    struct unit_report report;
    modern_report_init(&report, p, UNITS_ACTIVE, t->d->arena);
    for (int32_t i = 0; i < r->topic_partitions.len; i++) {
        const struct consumer_group_heartbeat_request_topic_partitions *one = &r->topic_partitions.v[i];
        unit_report_add(&report, unit_of_topic(&one->topic_id), one->partitions.v, one->partitions.len);
    }
    owned->kind[UNITS_ACTIVE] = unit_report_finish(&report);
    return owned;
}

/* ---- what it says of itself ------------------------------------------------------------------------------------------------------------ */

static struct str text_or_empty(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

/* In order, each once. */
static struct str_array sorted(const struct draft *t, const struct str *v, int32_t len)
{
    const int32_t *order = names_sort(v, len, t->d->arena);
    struct str_array ret = {ARENA_NEW(t->d->arena, struct str, len), 0};
    for (int32_t i = 0; i < len; i++) {
        if (i == 0 || !str_eq(v[order[i]], v[order[i - 1]])) {
            ret.v[ret.len++] = v[order[i]];
        }
    }
    return ret;
}

static bool same_names(const struct str_array *a, const struct str_array *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; same && i < a->len; i++) {
        same = str_eq(a->v[i], b->v[i]);
    }
    return same;
}

static bool same_text(struct str a, struct str b) /* null is equal to null alone */
{
    return str_is_null(a) == str_is_null(b) && (str_is_null(a) || str_eq(a, b));
}

static bool same_protocols(const struct modern_member *a, const struct modern_member *b)
{
    bool same = a->is_classic == b->is_classic && a->protocol_count == b->protocol_count &&
                a->classic_session_timeout_ms == b->classic_session_timeout_ms;
    for (int32_t i = 0; same && i < a->protocol_count; i++) {
        same = str_eq(a->protocols[i].name, b->protocols[i].name) && bytes_eq(a->protocols[i].metadata, b->protocols[i].metadata);
    }
    return same;
}

static bool same_member(const struct modern_member *a, const struct modern_member *b)
{
    return same_text(a->instance_id, b->instance_id) && same_text(a->rack_id, b->rack_id) && str_eq(a->client_id, b->client_id) &&
           str_eq(a->client_host, b->client_host) && a->rebalance_timeout_ms == b->rebalance_timeout_ms &&
           same_names(&a->topics, &b->topics) && same_text(a->regex, b->regex) && same_text(a->assignor, b->assignor) &&
           same_protocols(a, b);
}

/* One that is not matched yet moves the epoch when it is. */
static bool regex_moves(const struct draft *t, struct str now, struct str before)
{
    if (same_text(now, before)) {
        return false;
    }
    struct regex_table known = consumer_draft_regexes(t);
    return str_is_null(now) || regex_table_find(&known, now) != NULL;
}

void consumer_draft_put(struct draft *t, const struct modern_member *m, const struct modern_member *from)
{
    const struct modern_member *old = from != NULL ? from : &consumer_nobody;
    t->put = m;
    t->member_put = from == NULL || t->slot == NULL || !same_member(m, old);
    bool names = !same_names(&m->topics, &old->topics);
    bool assignor =
        !same_text(m->assignor, old->assignor) && consumer_draft_assignor(t) != consumer_assignor_of(t->was, t->d->op->settings);
    consumer_part(t)->subscription_changed = names || !same_text(m->regex, old->regex);
    bool regex = regex_moves(t, m->regex, old->regex);
    if (names || assignor || regex) {
        draft_bump(t, names || regex ? GROUP_CAUSE_SUBSCRIPTION : GROUP_CAUSE_MEMBER);
    }
}

void consumer_sender_put(struct draft *t, const consumer_heartbeat *r, const struct modern_member *from)
{
    struct modern_member *m = ARENA_NEW(t->d->arena, struct modern_member, 1);
    *m = from != NULL ? *from : consumer_nobody;
    m->raw = BYTES_NULL;
    m->client_id = text_or_empty(t->d->op->caller.client_id);
    m->client_host = text_or_empty(t->d->op->caller.host);
    m->instance_id = str_is_null(r->instance_id) ? m->instance_id : r->instance_id;
    m->rack_id = str_is_null(r->rack_id) ? m->rack_id : r->rack_id;
    m->rebalance_timeout_ms = r->rebalance_timeout_ms == -1 ? m->rebalance_timeout_ms : r->rebalance_timeout_ms;
    if (r->subscribed_topic_names.len >= 0) {
        m->topics = sorted(t, r->subscribed_topic_names.v, r->subscribed_topic_names.len);
    }
    if (!str_is_null(r->subscribed_topic_regex)) {
        m->regex = str_is_empty(r->subscribed_topic_regex) ? STR_NULL : r->subscribed_topic_regex;
    }
    m->assignor = str_is_null(r->server_assignor) ? m->assignor : r->server_assignor;
    m->is_classic = false;
    m->protocols = NULL;
    m->protocol_count = m->classic_session_timeout_ms = 0;
    consumer_draft_put(t, m, from);
    if (from != NULL && from->is_classic) {
        consumer_classic_turned(t, t->slot != NULL ? t->slot : t->gone);
    }
}
