/* subscription.c: which topics a group reads: those its members name, and those its regular expressions match. */
#include "draft.h"

#include "../names.h"
#include "../sorted.h"

#include <string.h>

struct uuid topic_of_unit(struct str name)
{
    struct uuid id = {{0}};
    if (name.len == (int32_t)sizeof id.b) {
        memcpy(id.b, name.ptr, sizeof id.b);
    }
    return id;
}

static bool sorted_has(const struct str_array *names, struct str name)
{
    return str_sorted_find(names->v, names->len, name) >= 0;
}

bool consumer_member_reads(const struct modern_member *m, const struct regex_table *regexes, struct str topic)
{
    if (sorted_has(&m->topics, topic)) {
        return true;
    }
    const struct regex_topics *matched = str_is_null(m->regex) ? NULL : regex_table_find(regexes, m->regex);
    return matched != NULL && sorted_has(&matched->topics, topic);
}

/* ---- the group as it would be ------------------------------------------------------------------------------------------------------- */

bool consumer_draft_has_regex(const struct draft *t, struct str regex)
{
    if (!str_is_null(t->member_id) && str_eq(t->put->regex, regex)) {
        return true;
    }
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        if (draft_has(t, &t->was->slots[i]) && str_eq(t->was->slots[i].member->regex, regex)) {
            return true;
        }
    }
    return false;
}

static bool put_has_regex(const struct draft *t)
{
    return !str_is_null(t->member_id) && !str_is_null(t->put->regex);
}

struct regex_table consumer_draft_regexes(const struct draft *t)
{
    return t->regexes != NULL ? *t->regexes : modern_regexes(t->was, t->d->arena);
}

/* How many members name it: as recorded, less those that go or change, and the put one. */
static int32_t members_naming(const struct draft *t, struct str topic, int32_t recorded)
{
    for (int32_t i = 0; t->left != NULL && i < t->was->slot_count; i++) {
        recorded -= t->left[i] && sorted_has(&t->was->slots[i].member->topics, topic) ? 1 : 0;
    }
    if (t->slot != NULL) {
        recorded -= sorted_has(&t->slot->member->topics, topic) ? 1 : 0;
    }
    if (!str_is_null(t->member_id)) {
        recorded += sorted_has(&t->put->topics, topic) ? 1 : 0;
    }
    return recorded;
}

/* Names, perhaps more than once. */
static struct str_array names_of(const struct draft *t, const struct regex_table *regexes)
{
    const struct topic_uses *uses = t->was->uses;
    bool put = !str_is_null(t->member_id);
    int32_t most = (uses == NULL ? 0 : uses->count) + (put ? t->put->topics.len : 0);
    for (int32_t i = 0; i < regexes->len; i++) {
        most += regexes->v[i].topics.len;
    }
    struct str_array all = {ARENA_NEW(t->d->arena, struct str, most), 0};
    for (int32_t i = 0; uses != NULL && i < uses->count; i++) {
        if (members_naming(t, uses->v[i].name, uses->v[i].members) > 0) {
            all.v[all.len++] = uses->v[i].name;
        }
    }
    for (int32_t i = 0; put && i < t->put->topics.len; i++) {
        all.v[all.len++] = t->put->topics.v[i];
    }
    for (int32_t i = 0; i < regexes->len; i++) {
        bool named = consumer_draft_has_regex(t, regexes->v[i].regex); /* looks through the members */
        for (int32_t k = 0; named && k < regexes->v[i].topics.len; k++) {
            all.v[all.len++] = regexes->v[i].topics.v[k];
        }
    }
    return all;
}

static struct str_array names_read(const struct draft *t)
{
    struct regex_table regexes = {NULL, 0};
    if (t->regexes != NULL || t->was->regex_count > 0) {
        regexes = consumer_draft_regexes(t);
    }
    return names_of(t, &regexes);
}

struct topic_view *consumer_draft_topics(const struct draft *t, int32_t *ret_count)
{
    struct str_array names = names_read(t);
    const struct topics *topics = t->d->op->topics;
    const int32_t *order = names_sort(names.v, names.len, t->d->arena);
    struct topic_view *v = ARENA_NEW(t->d->arena, struct topic_view, names.len);
    int32_t count = 0;
    for (int32_t i = 0; i < names.len; i++) {
        bool again = i > 0 && str_eq(names.v[order[i]], names.v[order[i - 1]]);
        if (!again && topics->by_name(topics->ctx, names.v[order[i]], &v[count])) {
            count++;
        }
    }
    *ret_count = count;
    return v;
}

/* Over names, ids and counts; 0 is a group that reads nothing. */
static int64_t hash_of(const struct topic_view *v, int32_t count)
{
    uint64_t hash = 0;
    for (int32_t i = 0; i < count; i++) {
        uint64_t one = hash_bytes(v[i].name.ptr, (size_t)v[i].name.len, (uint64_t)v[i].partitions);
        hash += hash_bytes(v[i].id.b, sizeof v[i].id.b, one);
    }
    return (int64_t)hash;
}

int64_t consumer_draft_hash(const struct draft *t)
{
    int32_t count;
    const struct topic_view *v = consumer_draft_topics(t, &count);
    return hash_of(v, count);
}

bool consumer_draft_refresh(struct draft *t)
{
    int64_t hash = consumer_draft_hash(t);
    if (hash == t->next.metadata_hash) {
        return false;
    }
    t->next.metadata_hash = hash;
    t->changed = true;
    if (t->next.member_count > 0) {
        draft_bump(t, GROUP_CAUSE_TOPICS);
        history_topics(t->d, names_read(t), t->d->set->cursor);
    }
    return true;
}

void consumer_draft_wish(struct draft *t)
{
    struct regex_table known = {NULL, 0};
    if (!put_has_regex(t)) {
        return;
    }
    known = consumer_draft_regexes(t);
    t->d->out->resolve = t->d->out->resolve || regex_table_find(&known, t->put->regex) == NULL;
}
