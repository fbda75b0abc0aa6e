/* history_why.c: the last rebalance in one sentence. */
#include "history_view.h"
#include "out.h"

#include <string.h>

typedef struct group_history_response_cause cause;

static struct str joined(struct arena *arena, struct str a, struct str b)
{
    return arena_printf(arena, "%.*s%.*s", STR_ARG(a), STR_ARG(b));
}

struct str history_duration(int64_t ms, struct arena *arena)
{
    if (ms < 1000) {
        return arena_printf(arena, "%d ms", (int)ms);
    }
    if (ms < 60000) {
        return ms % 1000 < 100 ? arena_printf(arena, "%d s", (int)(ms / 1000))
                               : arena_printf(arena, "%d.%d s", (int)(ms / 1000), (int)(ms % 1000 / 100));
    }
    return arena_printf(arena, "%lld min %d s", (long long)(ms / 60000), (int)(ms / 1000 % 60));
}

struct str history_causes(const history_rebalance *r, struct arena *arena)
{
    struct str all = STR("");
    for (int32_t i = 0; i < r->counts.len; i++) {
        const struct group_history_response_count *c = &r->counts.v[i];
        struct str one = out_text(c->cause, arena);
        one = c->count > 1 ? arena_printf(arena, "%.*s x%d", STR_ARG(one), (int)c->count) : one;
        all = i == 0 ? one : arena_printf(arena, "%.*s, %.*s", STR_ARG(all), STR_ARG(one));
    }
    return all;
}

struct str history_topics_text(const cause *c, struct arena *arena)
{
    struct str text = STR_NULL;
    for (int32_t i = 0; i < c->topics.len; i++) {
        struct str name = out_text(c->topics.v[i], arena);
        text = i == 0 ? name : arena_printf(arena, "%.*s,%.*s", STR_ARG(text), STR_ARG(name));
    }
    return c->topics.len > 0 && c->topics_more > 0 ? arena_printf(arena, "%.*s and %d more", STR_ARG(text), (int)c->topics_more) : text;
}

/* ---- what happened ---------------------------------------------------------------------------------------------------------------------- */

/* "member m-1 (client app at /10.0.0.1)", with the instance of a static one; in a list without "member". */
static struct str named(const cause *c, bool listed, struct arena *arena)
{
    struct str id = out_text(c->member_id, arena);
    struct str text = str_is_empty(c->member_id) ? STR("a member") : arena_printf(arena, "%s%.*s", listed ? "" : "member ", STR_ARG(id));
    if (!str_is_empty(c->instance_id)) {
        text = arena_printf(arena, "%s%.*s of instance %.*s", listed ? "" : "static ", STR_ARG(text),
                            STR_ARG(out_text(c->instance_id, arena)));
    }
    if (!str_is_empty(c->client_id)) {
        text = arena_printf(arena, "%.*s (client %.*s at %.*s)", STR_ARG(text), STR_ARG(out_text(c->client_id, arena)),
                            STR_ARG(out_text(c->host, arena)));
    }
    return text;
}

static struct str who(const cause *c, struct arena *arena)
{
    return named(c, false, arena);
}

/* What the cluster calls a cause, in words: before the member's name, behind it, and behind several names. A "%" behind them is the time. */
static const struct phrase {
    const char *cause, *before, *behind, *behind_many; /* NULL: each is told alone */
} phrases[] = {
    {"member_joined", "", " joined", " joined"},
    {"member_left", "", " left", " left"},
    {"session_expired", "", " was not heard of for %", " were not heard of for %"},
    {"rebalance_timeout", "", " did not rejoin within %", " did not rejoin within %"},
    {"sync_timeout", "", " did not sync within %", " did not sync within %"},
    {"revocation_timeout", "", " did not give up what it had to within %", " did not give up what they had to within %"},
    {"subscription_changed", "", " changed its subscription", NULL},
    {"member_changed", "", " changed what it says of itself", NULL},
    {"leader_rejoined", "the leader, ", ", asked for it", NULL},
    {"static_member_replaced", "", " was replaced by its instance's next process", NULL},
    {"coordinator_moved", "the coordinator moved while the join of ", " waited", NULL},
    {"admin", "", " was removed", " were removed"},
};
static const struct phrase plain[] = {
    {"topics_changed", "the topics that it reads changed", NULL, NULL},
    {"topology_changed", "its topology changed", NULL, NULL},
    {"configs_changed", "its configs changed", NULL, NULL},
    {"warmup_done", "a warm-up task had caught up", NULL, NULL},
    {"group_converted", "it changed over to another protocol", NULL, NULL},
};

static const struct phrase *phrase_of(const struct phrase *v, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(name, str_of(v[i].cause))) {
            return &v[i];
        }
    }
    return NULL;
}

static struct str with_time(const char *text, const cause *c, struct arena *arena)
{
    const char *at = strchr(text, '%');
    if (at == NULL) {
        return str_of(text);
    }
    struct str time = c->timeout_ms < 0 ? STR("its time") : history_duration(c->timeout_ms, arena);
    return arena_printf(arena, "%.*s%.*s", (int)(at - text), text, STR_ARG(time));
}

/* What stands behind the member: topics, who did it, and why. */
static struct str circumstances(struct str text, const cause *c, struct arena *arena)
{
    if (c->topics.len > 0) {
        text = arena_printf(arena, "%.*s (%.*s)", STR_ARG(text), STR_ARG(history_topics_text(c, arena)));
    }
    if (!str_is_empty(c->by_client_id)) {
        text = arena_printf(arena, "%.*s by client %.*s at %.*s", STR_ARG(text), STR_ARG(out_text(c->by_client_id, arena)),
                            STR_ARG(out_text(c->by_host, arena)));
    }
    if (!str_is_empty(c->reason)) {
        text = arena_printf(arena, "%.*s, saying %.*s", STR_ARG(text), STR_ARG(out_quoted(c->reason, arena)));
    }
    return text;
}

static struct str happened(const cause *c, struct arena *arena)
{
    const struct phrase *p = phrase_of(phrases, COUNT_OF(phrases), c->cause), *other = phrase_of(plain, COUNT_OF(plain), c->cause);
    struct str text = p != NULL
                          ? arena_printf(arena, "%s%.*s%.*s", p->before, STR_ARG(who(c, arena)), STR_ARG(with_time(p->behind, c, arena)))
                      : other != NULL ? str_of(other->before)
                                      : arena_printf(arena, "of %.*s", STR_ARG(out_text(c->cause, arena)));
    return circumstances(text, c, arena);
}

enum { NAMED = 3 };

/* "members a, b, c and 2 more were removed by client x at y": causes that differ in their members only; `more` others that are only counted are of the same kind. */
static struct str happened_to(const cause *v, int32_t count, int32_t more, struct arena *arena)
{
    const struct phrase *p = phrase_of(phrases, COUNT_OF(phrases), v->cause);
    struct str names = named(v, true, arena);
    int32_t shown = count < NAMED ? count : NAMED;
    more += count - shown;
    for (int32_t i = 1; i < shown; i++) {
        names = arena_printf(arena, "%.*s%s %.*s", STR_ARG(names), i + 1 == shown && more == 0 ? " and" : ",",
                             STR_ARG(named(&v[i], true, arena)));
    }
    if (more > 0) {
        names = arena_printf(arena, "%.*s and %d more", STR_ARG(names), (int)more);
    }
    struct str text = arena_printf(arena, "members %.*s%.*s", STR_ARG(names), STR_ARG(with_time(p->behind_many, v, arena)));
    return circumstances(text, v, arena);
}

static bool same_null(struct str a, struct str b)
{
    return str_is_empty(a) ? str_is_empty(b) : str_eq(a, b);
}

/* How many of the causes, from the first on, are said in one. */
static int32_t alike(const cause *v, int32_t count)
{
    const struct phrase *p = phrase_of(phrases, COUNT_OF(phrases), v->cause);
    int32_t same = 1;
    while (p != NULL && p->behind_many != NULL && v->topics.len <= 0 && same < count && str_eq(v[same].cause, v->cause) &&
           v[same].timeout_ms == v->timeout_ms && v[same].topics.len <= 0 && same_null(v[same].by_client_id, v->by_client_id) &&
           same_null(v[same].by_host, v->by_host) && same_null(v[same].reason, v->reason)) {
        same++;
    }
    return same;
}

/* The first ones by name, how many came behind them. */
static struct str all_causes(const history_rebalance *r, struct arena *arena)
{
    int32_t total = 0, told = 0;
    struct str text = STR("of what the history does not tell");
    for (int32_t i = 0; i < r->counts.len; i++) {
        total += r->counts.v[i].count;
    }
    for (int32_t said = 0; said < NAMED && told < r->causes.len; said++) {
        const cause *first = &r->causes.v[told];
        int32_t same = alike(first, r->causes.len - told);
        bool all =
            same == r->causes.len && r->counts.len == 1 && total > same; /* those that are not listed are of the one kind that there is */
        struct str one = same == 1 && !all ? happened(first, arena) : happened_to(first, same, all ? total - same : 0, arena);
        told += same;
        bool last = told >= r->causes.len || said + 1 == NAMED;
        text = said == 0 ? one : arena_printf(arena, "%.*s%s %.*s", STR_ARG(text), last && told == total ? ", and" : ",", STR_ARG(one));
        total = all ? told : total;
    }
    if (total > told && told > 0) {
        text = arena_printf(arena, "%.*s, and of %d more (in all %.*s)", STR_ARG(text), (int)(total - told),
                            STR_ARG(history_causes(r, arena)));
    }
    return text;
}

/* ---- what came of it ------------------------------------------------------------------------------------------------------------------------ */

static struct str moved(const history_rebalance *r, struct arena *arena)
{
    const char *what = str_eq(r->group_type, STR("streams")) ? "task" : "partition";
    if (r->moved == 0) {
        return arena_printf(arena, "no %s changed hands", what);
    }
    return arena_printf(arena, "%d %s%s changed hands", (int)r->moved, what, r->moved == 1 ? "" : "s");
}

static struct str settled(const history_answer *h, const history_rebalance *r, struct arena *arena)
{
    if (r->settled_clock_ms < 0) {
        return arena_printf(arena, "it is not settled yet, after %.*s", STR_ARG(history_duration(h->clock_ms - r->began_clock_ms, arena)));
    }
    if (r->members == 0) {
        return STR("nobody is left");
    }
    struct str text = arena_printf(arena, "it was settled after %.*s, with %d member%s",
                                   STR_ARG(history_duration(r->settled_clock_ms - r->began_clock_ms, arena)), (int)r->members,
                                   r->members == 1 ? "" : "s");
    if (!str_is_empty(r->last_member_id) && r->members > 1) {
        text = arena_printf(arena, "%.*s, of which %.*s was the last", STR_ARG(text), STR_ARG(out_text(r->last_member_id, arena)));
    }
    return text;
}

struct str history_waits(const struct group_view *g, struct arena *arena)
{
    struct str text = STR("");
    int32_t found = 0;
    for (int behind = 1; behind >= 0 && found == 0; behind--) {
        for (int32_t i = 0; i < g->member_count; i++) {
            const struct member_view *m = &g->members[i];
            bool lacks = !str_eq(topic_partitions_text(&m->assignment, arena), topic_partitions_text(&m->target, arena));
            if (behind != 0 ? m->epoch == g->epoch : !lacks) {
                continue;
            }
            if (found++ < NAMED) {
                const cause member = {.member_id = m->member_id, .instance_id = m->instance_id, .client_id = m->client_id, .host = m->host};
                text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), found > 1 ? ", " : " It waits for ", STR_ARG(who(&member, arena)));
            }
        }
    }
    return found == 0      ? text
           : found > NAMED ? arena_printf(arena, "%.*s and %d more.", STR_ARG(text), (int)(found - NAMED))
                           : joined(arena, text, STR("."));
}

/* Whoever comes into an empty group is seldom the reason that somebody asks for: what emptied it is. */
static struct str emptied(const history_answer *h, struct arena *arena)
{
    const history_rebalance *before = h->rebalances.len > 1 ? &h->rebalances.v[h->rebalances.len - 2] : NULL;
    if (before == NULL || before->members > 0 || before->settled_clock_ms < 0) {
        return STR("");
    }
    return arena_printf(arena, " It had been empty since %.*s, because %.*s.", STR_ARG(out_time(before->began_wall_ms, arena)),
                        STR_ARG(all_causes(before, arena)));
}

struct str history_why(struct str group, const history_answer *h, struct arena *arena)
{
    struct str name = out_text(group, arena);
    if (h->rebalances.len == 0) {
        return joined(arena,
                      h->recorded ? arena_printf(arena, "Group %.*s has not rebalanced since its history is recorded.", STR_ARG(name))
                                  : arena_printf(arena, "Nothing is recorded of group %.*s.", STR_ARG(name)),
                      history_moved_since(h, arena));
    }
    const history_rebalance *r = &h->rebalances.v[h->rebalances.len - 1];
    const char *noun = str_eq(r->group_type, STR("classic")) ? "generation" : "epoch";
    struct str at = out_time(r->began_wall_ms, arena);
    bool over = r->settled_clock_ms >= 0;
    /* under way the epochs may not have moved yet, nor any partition: what is not so yet is not said */
    struct str begin =
        r->epoch_before == r->epoch_after && !over
            ? arena_printf(arena, "Group %.*s rebalances since %.*s (from %s %d on) because ", STR_ARG(name), STR_ARG(at), noun,
                           (int)r->epoch_before)
            : arena_printf(arena, "Group %.*s %s %.*s (%s %d to %d) because ", STR_ARG(name), over ? "rebalanced at" : "rebalances since",
                           STR_ARG(at), noun, (int)r->epoch_before, (int)r->epoch_after);
    struct str end = !over && r->moved == 0
                         ? arena_printf(arena, "; %.*s.", STR_ARG(settled(h, r, arena)))
                         : arena_printf(arena, "; %.*s, and %.*s.", STR_ARG(moved(r, arena)), STR_ARG(settled(h, r, arena)));
    return joined(arena, joined(arena, begin, all_causes(r, arena)),
                  joined(arena, end, joined(arena, emptied(h, arena), history_moved_since(h, arena))));
}
