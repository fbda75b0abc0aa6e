/* note.c: what happens to a group, noted while it is being decided. A decision that is refused after all leaves its notes behind unread. */
#include "history.h"

const char *group_cause_name(int cause)
{
    switch (cause) {
#define X(name, number, text)                                                                                                              \
    case number:                                                                                                                           \
        return text;
        GROUP_CAUSES(X)
#undef X
    default:
        return "other";
    }
}

struct history_notes *history_notes(struct decision *d)
{
    if (d->notes == NULL) {
        d->notes = ARENA_NEW(d->arena, struct history_notes, 1);
        d->notes->last_member_id = d->notes->last_client_id = d->notes->last_host = STR_NULL;
    }
    return d->notes;
}

/* Of many events, as when a phase ends without a hundred members, the first are kept and the newest: as many as are told. */
void history_event(struct decision *d, const struct history_event *e)
{
    struct history_notes *n = history_notes(d);
    if (n->events == NULL) {
        n->events = ARENA_NEW(d->arena, struct history_event, HISTORY_CAUSES);
    }
    n->events[n->event_count < HISTORY_CAUSES ? n->event_count : HISTORY_CAUSES - 1] = *e;
    n->cause_counts[e->cause]++;
    n->event_count++;
}

/* A tool that removes members says so in these words, and has a client id of its own. */
enum group_cause history_leave_cause(const struct decision *d, struct str client_id, struct str reason)
{
    static const struct str words = {"member was removed by an admin", sizeof "member was removed by an admin" - 1};
    bool says_so = reason.len >= words.len && str_eq((struct str){reason.ptr, words.len}, words);
    struct str caller = str_is_null(d->op->caller.client_id) ? STR("") : d->op->caller.client_id;
    return says_so || !str_eq(caller, client_id) ? GROUP_CAUSE_ADMIN : GROUP_CAUSE_LEFT;
}

/* NULL: nothing is noted yet. */
static struct history_event *newest_event(const struct history_notes *n)
{
    return n->event_count == 0 ? NULL : &n->events[(n->event_count < HISTORY_CAUSES ? n->event_count : HISTORY_CAUSES) - 1];
}

void history_reason(struct decision *d, struct str reason)
{
    struct history_event *e = newest_event(history_notes(d));
    if (e != NULL) {
        e->reason = reason;
    }
}

void history_topics(struct decision *d, struct str_array names, int64_t since)
{
    struct history_event *e = d->notes == NULL ? NULL : newest_event(d->notes);
    if (e == NULL || e->cause != GROUP_CAUSE_TOPICS || e->topics.len > 0 || !history_is_kept(d)) {
        return;
    }
    e->topics = (struct str_array){ARENA_NEW(d->arena, struct str, HISTORY_TOPICS), HISTORY_TOPICS};
    e->topics_more = catalog_changed_topics(d->op->catalog, names, since, d->arena, &e->topics) - e->topics.len;
}

bool history_is_kept_from(const struct decision *d, int16_t level)
{
#ifdef MUSTER_FAULT_HISTORY_BEFORE_LEVEL
    return d->op->settings->history_max_entries > 0;
#endif
    return d->op->settings->history_max_entries > 0 && d->op->catalog != NULL && catalog_feature_level(d->op->catalog) >= level;
}

bool history_is_kept(const struct decision *d)
{
    return history_is_kept_from(d, HISTORY_FEATURE_LEVEL);
}
