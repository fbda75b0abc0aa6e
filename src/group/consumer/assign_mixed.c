/* assign_mixed.c: the uniform assignor where members subscribe to different topics: how many partitions of each topic each of them gets, as Kafka 4.4.0
 * counts.
 *
 * Each member keeps what it had. What is free is dealt to the subscribers who have least, topics with many partitions for each subscriber first. Then topic
 * by topic, again and again, the subscribers who have most give to those who have least, until no partition could move that would make them more even. */
#include "assign_draft.h"

/* ---- a line of subscribers ------------------------------------------------------------------------------------------------------------------ */

/* The subscribers of a topic by what they had at the beginning. From the front those who have least are gone through in turns, from the back those who have
 * most: a level is through when each on it has received one, or given one; then the next ones join in. */
struct line {
    int32_t *v, *spare;
    int32_t len;
    const int32_t *load; /* of each member: all its partitions; the caller keeps it true */
    struct {
        int32_t level, end, next; /* v[0] up to v[end]; v[next] is the next one */
    } low;
    struct {
        int32_t level, begin, end, next; /* v[begin] up to v[end] */
    } high;
};

/* By load, equals by rank, which is how the subscribers stand: eight bits at a time. */
static void line_sort(struct line *l, int32_t least, int32_t most)
{
    for (int shift = 0; (most - least) >> shift > 0; shift += 8) {
        int32_t next[257] = {0};
        for (int32_t i = 0; i < l->len; i++) {
            next[(((l->load[l->v[i]] - least) >> shift) & 255) + 1]++;
        }
        for (int k = 0; k < 256; k++) {
            next[k + 1] += next[k];
        }
        for (int32_t i = 0; i < l->len; i++) {
            l->spare[next[((l->load[l->v[i]] - least) >> shift) & 255]++] = l->v[i];
        }
        int32_t *swap = l->v;
        l->v = l->spare;
        l->spare = swap;
    }
}

/* What lies between the one who has least and the one who has most. */
static int32_t slope(const struct assign_list *subs, const int32_t *load, int32_t *ret_least)
{
    int32_t least = INT32_MAX, most = 0;
    for (int32_t i = 0; i < subs->len; i++) {
        int32_t has = load[subs->v[i]];
        least = has < least ? has : least;
        most = has > most ? has : most;
    }
    *ret_least = least;
    return most - least;
}

static void line_up(struct line *l, const struct assign_list *subs)
{
    int32_t least, most = slope(subs, l->load, &least);
    most += least;
    l->len = subs->len;
    for (int32_t i = 0; i < subs->len; i++) {
        l->v[i] = subs->v[i];
    }
    line_sort(l, least, most);
    l->low.level = least - 1;
    l->low.end = l->low.next = 0;
    l->high.level = most + 1;
    l->high.begin = l->high.end = l->len;
    l->high.next = l->len - 1;
}

static int32_t line_lowest(struct line *l)
{
    if (l->low.next == l->low.end) {
        l->low.level++;
        while (l->low.end < l->len && l->load[l->v[l->low.end]] == l->low.level) {
            l->low.end++;
        }
        l->low.next = 0;
    }
    return l->v[l->low.next++];
}

static int32_t line_highest(struct line *l)
{
    if (l->high.next < l->high.begin) {
        bool empty = l->high.begin == l->high.end;
        l->high.level = empty && l->high.begin > 0 ? l->load[l->v[l->high.begin - 1]] : l->high.level - 1;
        while (l->high.begin > 0 && l->load[l->v[l->high.begin - 1]] == l->high.level) {
            l->high.begin--;
        }
        l->high.next = l->high.end - 1;
    }
    return l->high.next < 0 ? NOBODY : l->v[l->high.next--];
}

/* Who was the last highest has nothing to give: the last of those who may have takes its place. */
static void line_leave(struct line *l)
{
    int32_t left = l->v[l->high.next + 1];
    l->v[l->high.next + 1] = l->v[l->high.end - 1];
    l->v[--l->high.end] = left;
}

/* ---- topics ----------------------------------------------------------------------------------------------------------------------------------- */

struct mixed {
    struct assign_draft *d;
    int32_t *load;
    int32_t *topics; /* in the order in which they are gone through */
    int32_t topic_count;
    struct line line;
    /* Of one topic: what member r holds is held[begin[r]] up to held[end[r]]. */
    int32_t *held, *begin, *end;
};

/* Many partitions for each subscriber first, then few subscribers. */
static bool goes_before(const struct assign_draft *d, int32_t a, int32_t b)
{
    int64_t left = (int64_t)d->in->topics[a].partitions * d->subs[b].len;
    int64_t right = (int64_t)d->in->topics[b].partitions * d->subs[a].len;
    if (left != right) {
        return left > right;
    }
    return d->subs[a].len != d->subs[b].len ? d->subs[a].len < d->subs[b].len : a < b;
}

/* A merge sort. */
static void sort_topics(struct mixed *m)
{
    int32_t *from = m->topics, *to = ARENA_NEW(m->d->arena, int32_t, m->topic_count);
    for (int64_t width = 1; width < m->topic_count; width *= 2) {
        for (int64_t start = 0; start < m->topic_count; start += 2 * width) {
            int64_t middle = start + width < m->topic_count ? start + width : m->topic_count;
            int64_t end = middle + width < m->topic_count ? middle + width : m->topic_count;
            int64_t left = start, right = middle;
            for (int64_t at = start; at < end; at++) {
                bool take_left = left < middle && (right == end || !goes_before(m->d, from[right], from[left]));
                to[at] = take_left ? from[left++] : from[right++];
            }
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    m->topics = from;
}

static void mixed_init(struct mixed *m, struct assign_draft *d)
{
    int32_t most = 0;
    size_t members = (size_t)d->in->member_count;
    *m = (struct mixed){.d = d};
    m->load = ARENA_NEW(d->arena, int32_t, members);
    m->line = (struct line){.v = ARENA_NEW(d->arena, int32_t, members), .spare = ARENA_NEW(d->arena, int32_t, members), .load = m->load};
    m->topics = ARENA_NEW(d->arena, int32_t, d->in->topic_count);
    for (int32_t t = 0; t < d->in->topic_count; t++) {
        if (d->subs[t].len > 0) {
            m->topics[m->topic_count++] = t;
            most = d->in->topics[t].partitions > most ? d->in->topics[t].partitions : most;
        }
    }
    m->held = ARENA_NEW(d->arena, int32_t, most);
    m->begin = ARENA_NEW(d->arena, int32_t, members);
    m->end = ARENA_NEW(d->arena, int32_t, members);
    sort_topics(m);
}

/* ---- who gets how many -------------------------------------------------------------------------------------------------------------------------- */

static void deal(struct mixed *m, int32_t topic)
{
    struct assign_draft *d = m->d;
    bool lined_up = false;
    for (int32_t i = d->first[topic]; i < d->first[topic + 1]; i++) {
        if (d->owner[i] != NOBODY) {
            continue;
        }
        if (!lined_up) {
            line_up(&m->line, &d->subs[topic]);
            lined_up = true;
        }
        d->owner[i] = line_lowest(&m->line);
        m->load[d->owner[i]]++;
    }
}

static void list_held(struct mixed *m, int32_t topic)
{
    const struct assign_draft *d = m->d;
    const struct assign_list *subs = &d->subs[topic];
    int32_t at = 0;
    for (int32_t i = 0; i < subs->len; i++) {
        m->end[subs->v[i]] = 0;
    }
    for (int32_t i = d->first[topic]; i < d->first[topic + 1]; i++) {
        m->end[d->owner[i]]++;
    }
    for (int32_t i = 0; i < subs->len; i++) {
        int32_t r = subs->v[i], count = m->end[r];
        m->begin[r] = m->end[r] = at;
        at += count;
    }
    for (int32_t i = d->first[topic]; i < d->first[topic + 1]; i++) {
        m->held[m->end[d->owner[i]]++] = i;
    }
}

/* True: something moved. */
static bool even_out(struct mixed *m, int32_t topic)
{
    struct assign_draft *d = m->d;
    int32_t least;
    bool moved = false;
    if (slope(&d->subs[topic], m->load, &least) <= 1) {
        return false;
    }
    line_up(&m->line, &d->subs[topic]);
    list_held(m, topic);
    for (;;) {
        int32_t from = line_highest(&m->line);
        while (from != NOBODY && m->begin[from] == m->end[from]) {
            line_leave(&m->line);
            from = line_highest(&m->line);
        }
        if (from == NOBODY) {
            return moved;
        }
        int32_t to = line_lowest(&m->line);
        if (m->line.high.level - m->line.low.level <= 1) {
            return moved;
        }
        d->owner[m->held[--m->end[from]]] = to;
        m->load[from]--;
        m->load[to]++;
        moved = true;
    }
}

void assign_mixed(struct assign_draft *d, const struct assign_had *had)
{
    struct mixed m;
    mixed_init(&m, d);
    for (int32_t r = 0; r < d->in->member_count; r++) {
        m.load[r] = had->each[r].len;
        for (int32_t i = 0; i < had->each[r].len; i++) {
            d->owner[had->each[r].v[i]] = r;
        }
    }
    for (int32_t t = 0; t < m.topic_count; t++) {
        deal(&m, m.topics[t]);
    }
    for (bool moved = true; moved;) { /* ends: each move makes the sum of squares smaller */
        moved = false;
        for (int32_t t = 0; t < m.topic_count; t++) {
            moved = even_out(&m, m.topics[t]) || moved;
        }
    }
}
