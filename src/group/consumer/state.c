/* state.c: what a consumer group shows of itself. */
#include "consumer.h"

#include "../catalog/configs.h"
#include "../modern/draft.h"

enum consumer_state consumer_state(const struct modern *s)
{
    if (s->member_count == 0) {
        return CONSUMER_EMPTY;
    }
    if (s->epoch > assignment_epoch(s)) {
        return CONSUMER_ASSIGNING;
    }
    return modern_all_settled(s) ? CONSUMER_STABLE : CONSUMER_RECONCILING;
}

const char *consumer_state_name(const struct group *g)
{
    static const char *const names[] = {[CONSUMER_EMPTY] = "Empty",
                                        [CONSUMER_ASSIGNING] = "Assigning",
                                        [CONSUMER_RECONCILING] = "Reconciling",
                                        [CONSUMER_STABLE] = "Stable"};
    return names[consumer_state(g->consumer)];
}

bool consumer_offers(const struct group_settings *settings, struct str name, enum consumer_assignor *ret)
{
    struct str all = settings->consumer.assignors;
    int32_t begin = 0;
    for (int32_t i = 0; i <= all.len; i++) {
        if (i < all.len && all.ptr[i] != ',') {
            continue;
        }
        struct str one = {all.ptr + begin, i - begin};
        while (one.len > 0 && one.ptr[0] == ' ') {
            one = (struct str){one.ptr + 1, one.len - 1};
        }
        if ((str_is_null(name) || str_eq(one, name)) && consumer_assignor_find(one, ret)) {
            return true;
        }
        begin = i + 1;
    }
    return false;
}
