/* assign_alike.c: the uniform assignor where all members subscribe to the same topics, just as Kafka 4.4.0 does it.
 *
 * Of P partitions each of N members gets P / N, and P mod N members one more (an extra): first those that had more than P / N, so that as few partitions as
 * possible move; then the last ones in order. A member keeps its first partitions and gives up its last. What is free goes to who has room, in order. */
#include "assign_draft.h"

struct alike {
    struct assign_draft *d;
    const struct assign_had *had;
    const struct assign_racks *racks;
    int32_t *room; /* of each member: how many it may get, then may still get */
    int32_t *free; /* partitions that nobody keeps */
    int32_t free_len;
};

static void count_room(struct alike *a, int32_t partitions)
{
    int32_t n = a->d->in->member_count, extras = partitions % n;
    for (int32_t r = 0; r < n; r++) {
        a->room[r] = partitions / n;
        if (extras > 0 && (a->had->each[r].len > a->room[r] || n - r <= extras)) {
            a->room[r]++;
            extras--;
        }
    }
}

/* Where racks are known it keeps what is near first. */
static void keep(struct alike *a, int32_t rank)
{
    const struct assign_list *had = &a->had->each[rank];
    int32_t near = 0, far;
    for (int32_t i = 0; a->racks != NULL && i < had->len; i++) {
        near += racks_near(a->racks, had->v[i], rank);
    }
    near = near < a->room[rank] ? near : a->room[rank];
    far = a->room[rank] - near;
    for (int32_t i = 0; i < had->len; i++) {
        int32_t *left = a->racks != NULL && racks_near(a->racks, had->v[i], rank) ? &near : &far;
        if (*left > 0) {
            (*left)--;
            a->room[rank]--;
            a->d->owner[had->v[i]] = rank;
        } else {
            a->free[a->free_len++] = had->v[i];
        }
    }
}

static void hand_out(struct alike *a)
{
    int32_t at = 0;
    for (int32_t r = 0; r < a->d->in->member_count; r++) {
        while (a->room[r] > 0) {
            MUSTER_CHECK(at < a->free_len);
            a->d->owner[a->free[at++]] = r;
            a->room[r]--;
        }
    }
    MUSTER_CHECK(at == a->free_len);
}

void assign_alike(struct assign_draft *d, const struct assign_had *had, const struct assign_racks *racks)
{
    struct alike a = {.d = d, .had = had, .racks = racks};
    const struct consumer_subscriber *any = &d->in->members[0];
    int32_t partitions = 0;
    a.room = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    a.free = ARENA_NEW(d->arena, int32_t, d->first[d->in->topic_count]);
    for (int32_t i = 0; i < any->topic_count; i++) {
        int32_t t = any->topics[i];
        partitions += d->in->topics[t].partitions;
        for (int32_t p = d->first[t]; p < d->first[t + 1]; p++) {
            if (had->was[p] == NOBODY) {
                a.free[a.free_len++] = p;
            }
        }
    }
    count_room(&a, partitions);
    for (int32_t r = 0; r < d->in->member_count; r++) {
        keep(&a, r);
    }
    hand_out(&a);
}
