/* write.c: the records of what was noted.
 *
 * A rebalance that goes on is written again with each thing that happens to it; its causes are records of their own, up to a bound: what comes behind it is
 * counted, and the newest cause takes the last place. When one begins, the oldest ones go. */
#include "history.h"

#include <string.h>

enum { REASON_MAX_BYTES = 255 }; /* KIP-800: clients send no more */

/* ---- reading what is there ---------------------------------------------------------------------------------------------------------- */

static void read_newest(const struct decision *d, const struct history_record *r, struct group_rebalance_value *ret)
{
    struct bytes value = history_value(r);
    struct bytes body = {value.ptr + 2, value.len - 2};
    MUSTER_CHECK(value.len >= 2 && wire_decode(&wire_group_rebalance_value, (int16_t)get_be16(value.ptr), body, d->arena, ret, NULL) == 0);
}

/* ---- the bounds --------------------------------------------------------------------------------------------------------------------- */

static int32_t count_rebalances(const struct history *h)
{
    int32_t count = 0;
    for (int32_t i = 0; h != NULL && i < h->count; i++) {
        count += i == 0 || h->v[i]->rebalance != h->v[i - 1]->rebalance ? 1 : 0;
    }
    return count;
}

/* Makes room for a new one. While the histories of the shard take more than they may, a group keeps none but its newest rebalance: so they stay within the
 * budget and that much for each group, of which there are no more than so many. */
static void trim(struct decision *d, const struct group *g)
{
    const struct group_settings *s = d->op->settings;
    const struct history *h = g == NULL ? NULL : g->history;
    bool full = s->history_max_bytes > 0 && d->set->counts.history_bytes >= s->history_max_bytes;
    int32_t goes = count_rebalances(h) - (full ? 0 : s->history_max_entries - 1);
#ifdef MUSTER_FAULT_HISTORY_UNBOUNDED
    goes = 0;
#endif
    for (int32_t i = 0; goes > 0 && i < h->count; i++) {
        const struct history_record *r = h->v[i];
        struct group_rebalance_cause_key key = {.group_id = d->op->group_id, .rebalance = r->rebalance, .number = r->number};
        out_record(d, r->type, &key, 0, NULL);
        goes -= i + 1 == h->count || h->v[i + 1]->rebalance != r->rebalance ? 1 : 0;
    }
}

/* ---- causes ------------------------------------------------------------------------------------------------------------------------- */

/* Not in the middle of a character. */
static struct str cut(struct str s)
{
    int32_t len = s.len < REASON_MAX_BYTES ? s.len : REASON_MAX_BYTES;
    while (len > 0 && len < s.len && ((uint8_t)s.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return str_is_empty(s) ? STR_NULL : (struct str){s.ptr, len};
}

static bool same_text(struct str a, struct str b)
{
    return str_is_null(a) == str_is_null(b) && (str_is_null(a) || str_eq(a, b));
}

/* Whoever removes a member that is not its own is shown beside it. */
static void set_caller(const struct decision *d, const struct history_event *e, struct group_rebalance_cause_value *ret)
{
    const struct group_caller *by = &d->op->caller;
    bool itself = same_text(by->client_id, e->client_id) && same_text(by->host, e->host);
    if (e->cause == GROUP_CAUSE_ADMIN && !itself) {
        ret->by_client_id = by->client_id;
        ret->by_host = by->host;
    }
}

static void write_cause(struct decision *d, int32_t rebalance, int32_t number, const struct history_event *e)
{
    struct group_rebalance_cause_key key = {.group_id = d->op->group_id, .rebalance = rebalance, .number = number};
    struct group_rebalance_cause_value value;
    wire_init(&wire_group_rebalance_cause_value, &value);
    value.cause = (int8_t)e->cause;
    value.clock_ms = d->op->clock_ms;
    value.wall_ms = d->op->wall_ms;
    value.epoch = d->notes->epoch_after;
    value.member_id = e->member_id;
    value.client_id = e->client_id;
    value.host = e->host;
    value.instance_id = e->instance_id;
    value.reason = cut(str_is_empty(e->reason) && d->op->request != NULL ? d->out->reason : e->reason);
    value.timeout_ms = e->timeout_ms;
    value.topics = e->topics;
    value.topics_more = e->topics_more;
    set_caller(d, e, &value);
    out_record(d, RECORD_GROUP_REBALANCE_CAUSE, &key, 0, &value);
}

/* A log may say anything. */
static int32_t capped_sum(int32_t a, int32_t b)
{
    int64_t sum = (int64_t)(a > 0 ? a : 0) + (b > 0 ? b : 0);
    return sum < INT32_MAX ? (int32_t)sum : INT32_MAX;
}

static int32_t count_causes(const struct group_rebalance_value *value)
{
    int32_t count = 0;
    for (int32_t i = 0; i < value->causes.len; i++) {
        count = capped_sum(count, value->causes.v[i].count);
    }
    return count < HISTORY_CAUSES ? count : HISTORY_CAUSES;
}

/* Behind those that are there. What would come behind the last place takes it, in turn: only the newest is written. */
static void write_causes(struct decision *d, int32_t rebalance, int32_t before)
{
    const struct history_notes *n = d->notes;
    int32_t kept = n->event_count < HISTORY_CAUSES ? n->event_count : HISTORY_CAUSES;
    for (int32_t i = 0; i < kept; i++) {
        int32_t number = before + i < HISTORY_CAUSES - 1 ? before + i : HISTORY_CAUSES - 1;
        if (number < HISTORY_CAUSES - 1 || i + 1 == kept) {
            write_cause(d, rebalance, number, &n->events[i]);
        }
    }
}

static void add_counts(struct decision *d, struct group_rebalance_value *value)
{
    struct group_rebalance_value_count *all =
        ARENA_NEW(d->arena, struct group_rebalance_value_count, GROUP_CAUSE_COUNT + value->causes.len);
    int32_t len = 0;
    for (int32_t i = 0; i < value->causes.len; i++) {
        all[len++] = value->causes.v[i];
    }
    for (int cause = 0; cause < GROUP_CAUSE_COUNT; cause++) {
        int32_t at = 0;
        while (at < len && all[at].cause != cause) {
            at++;
        }
        if (d->notes->cause_counts[cause] > 0) {
            all[at].cause = (int8_t)cause;
            all[at].count = capped_sum(all[at].count, d->notes->cause_counts[cause]);
            len += at == len ? 1 : 0;
        }
    }
    value->causes.v = all;
    value->causes.len = len;
}

/* ---- the rebalance ------------------------------------------------------------------------------------------------------------------ */

static void begin(const struct decision *d, struct group_rebalance_value *value)
{
    wire_init(&wire_group_rebalance_value, value);
    value->began_clock_ms = d->op->clock_ms;
    value->began_wall_ms = d->op->wall_ms;
    value->epoch_before = d->notes->epoch_before;
}

static void go_on(const struct decision *d, struct group_rebalance_value *value)
{
    const struct history_notes *n = d->notes;
    value->group_type = (int8_t)n->type;
    value->epoch_after = n->epoch_after;
    value->members = n->members;
    value->moved = capped_sum(value->moved, n->moves != NULL ? n->moved : 0);
    if (n->prepares) {
        value->prepared_clock_ms = d->op->clock_ms;
        value->last_member_id = value->last_client_id = value->last_host = STR_NULL;
    }
    if (!str_is_null(n->last_member_id)) {
        value->last_member_id = n->last_member_id;
        value->last_client_id = n->last_client_id;
        value->last_host = n->last_host;
    }
    if (n->settles) {
        value->settled_clock_ms = d->op->clock_ms;
    }
}

static void write_rebalance(struct decision *d, const struct group *g, bool open)
{
    const struct history_record *newest = history_newest(g);
    struct group_rebalance_value value;
    int32_t number = newest == NULL ? 1 : newest->rebalance < INT32_MAX ? newest->rebalance + 1 : INT32_MAX;
    if (open) {
        number = newest->rebalance;
        read_newest(d, newest, &value);
    } else {
        trim(d, g);
        begin(d, &value);
    }
    write_causes(d, number, count_causes(&value));
    add_counts(d, &value);
    go_on(d, &value);
    struct group_rebalance_key key = {.group_id = d->op->group_id, .rebalance = number};
    if (d->notes->moves != NULL && (d->notes->moves->moves.len > 0 || d->notes->moves->more > 0)) {
        struct group_rebalance_moves_key moves_key = {.group_id = d->op->group_id, .rebalance = number};
        out_record(d, RECORD_GROUP_REBALANCE_MOVES, &moves_key, 0, d->notes->moves);
    }
    out_record(d, RECORD_GROUP_REBALANCE, &key, 0, &value);
}

void history_decide(struct decision *d)
{
    const struct history_notes *n = d->notes;
    if (n == NULL || !n->stands || d->out->records.len == 0) {
        return;
    }
    for (int cause = 0; (n->opens || n->running) && cause < GROUP_CAUSE_COUNT; cause++) {
        d->out->causes |= n->cause_counts[cause] > 0 ? 1u << cause : 0;
    }
    const struct group *g = group_find(d->set, d->op->group_id);
    bool open = history_is_open(g);
    bool news = n->opens || n->event_count > 0 || n->prepares || n->settles || n->moves != NULL;
    if (history_is_kept(d) && news && (open || n->opens)) {
        write_rebalance(d, g, open);
    }
}
