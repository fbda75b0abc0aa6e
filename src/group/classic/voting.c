/* voting.c: which protocol a generation runs. Every member votes for the first of its own that all support; most votes win. */
#include "draft.h"

#include "../names.h"

struct candidate {
    struct str name;
    int32_t votes;
};

/* Kafka settles a tie by the order of its hash table, and so do we: both choose alike. */
static bool comes_first(struct str a, struct str b, uint32_t buckets)
{
    uint32_t place_a = java_bucket(java_hash(a), buckets), place_b = java_bucket(java_hash(b), buckets);
    return place_a != place_b ? place_a < place_b : str_cmp(a, b) < 0;
}

static bool all_support(const struct classic_member *const *members, int32_t count, struct str name)
{
    for (int32_t i = 0; i < count; i++) {
        if (!member_supports(members[i], name)) {
            return false;
        }
    }
    return true;
}

/* Whoever all support is among the first member's. */
static struct candidate *find_candidates(const struct classic_member *const *members, int32_t count, struct arena *arena,
                                         int32_t *ret_count)
{
    const struct classic_member *first = members[0];
    struct candidate *all = ARENA_NEW(arena, struct candidate, first->protocol_count);
    int32_t found = 0;
    for (int32_t i = 0; i < first->protocol_count; i++) {
        if (all_support(members, count, first->protocols[i].name)) {
            all[found++] = (struct candidate){.name = first->protocols[i].name};
        }
    }
    *ret_count = found;
    return all;
}

static void cast_vote(const struct classic_member *m, struct candidate *all, int32_t count)
{
    for (int32_t i = 0; i < m->protocol_count; i++) {
        for (int32_t k = 0; k < count; k++) {
            if (str_eq(m->protocols[i].name, all[k].name)) {
                all[k].votes++;
                return;
            }
        }
    }
}

struct str classic_vote(const struct classic_member *const *members, int32_t count, struct arena *arena)
{
    MUSTER_CHECK(count > 0);
    int32_t candidates;
    struct candidate *all = find_candidates(members, count, arena, &candidates);
    int32_t voted_for = 0;
    for (int32_t i = 0; i < count; i++) {
        cast_vote(members[i], all, candidates);
    }
    for (int32_t k = 0; k < candidates; k++) {
        voted_for += all[k].votes > 0 ? 1 : 0;
    }
    uint32_t buckets = java_buckets(voted_for);
    struct candidate best = {.name = STR(""), .votes = 0};
    for (int32_t k = 0; k < candidates; k++) {
        if (all[k].votes > best.votes || (all[k].votes == best.votes && all[k].votes > 0 && comes_first(all[k].name, best.name, buckets))) {
            best = all[k];
        }
    }
    return best.name;
}
