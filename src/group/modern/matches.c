/* matches.c: topics and regular expressions. */
#include <muster/regex.h>

#include "../names.h"
#include "matches.h"

static struct str_array distinct(const struct str *all, int32_t count, struct arena *arena)
{
    const int32_t *order = names_sort(all, count, arena);
    struct str_array ret = {ARENA_NEW(arena, struct str, count), 0};
    for (int32_t i = 0; i < count; i++) {
        if (i == 0 || !str_eq(all[order[i]], all[order[i - 1]])) {
            ret.v[ret.len++] = arena_str(arena, all[order[i]]);
        }
    }
    return ret;
}

static struct str_array names_of(const struct topics *topics, struct arena *arena)
{
    struct topic_view topic;
    int32_t count = 0;
    for (struct str after = STR_NULL; topics->next(topics->ctx, after, &topic); after = topic.name) {
        count++;
    }
    struct str_array ret = {ARENA_NEW(arena, struct str, count), 0};
    for (struct str after = STR_NULL; ret.len < count && topics->next(topics->ctx, after, &topic); after = topic.name) {
        ret.v[ret.len++] = arena_str(arena, topic.name);
    }
    return ret;
}

void matching_new(const struct str *patterns, int32_t count, const struct topics *topics, struct arena *arena, struct matching *ret)
{
    *ret = (struct matching){.patterns = distinct(patterns, count, arena)};
    if (ret->patterns.len > 0) {
        ret->names = names_of(topics, arena);
    }
}

struct regex_table matching_run(const struct matching *m, struct arena *arena)
{
    struct regex_topics *v = ARENA_NEW(arena, struct regex_topics, m->patterns.len);
    bool *matches = ARENA_NEW(arena, bool, m->names.len);
    for (int32_t i = 0; i < m->patterns.len; i++) {
        int32_t count = 0;
        v[i].regex = m->patterns.v[i];
        regex_match(v[i].regex, m->names.v, (size_t)m->names.len, matches); /* one that is none matches nothing */
        for (int32_t k = 0; k < m->names.len; k++) {
            count += matches[k];
        }
        v[i].topics.v = ARENA_NEW(arena, struct str, count);
        for (int32_t k = 0; k < m->names.len; k++) {
            if (matches[k]) {
                v[i].topics.v[v[i].topics.len++] = m->names.v[k];
            }
        }
    }
    return (struct regex_table){v, m->patterns.len};
}
