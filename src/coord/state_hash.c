/* The state's hash in the log, for those who have the log alone: what they make of its entries has to be what the leader had made of them.
 *
 * Every replica keeps the newest that is due, so that a leader that takes over writes the one it knows. It goes with an entry that is written anyway: nobody waits for it, and a
 * shard in which nothing happens needs none. */
#include "internal.h"

void state_hash_applied(struct shard *s, uint64_t index)
{
    uint64_t interval = s->coord->options.hash_interval;
    if (interval == 0 || index / interval == s->hash_index / interval)
        return;
    s->hash_index = index;
    s->hash = group_set_hash(s->set);
    s->hash_due = true;
}

/* The state comes from elsewhere: what was known of the one before says nothing. */
void state_hash_forget(struct shard *s)
{
    s->hash_due = false;
}

void state_hash_step(struct shard *s)
{
    struct turn *t = &s->turn;
    if (!s->hash_due || t->flight == NULL)
        return;
    const struct state_hash_key key = {.shard = (int32_t)s->id};
    const struct state_hash_value value = {.index = (int64_t)s->hash_index, .hash = (int64_t)s->hash};
    turn_remark(s, "state hash: for the log's readers", wire_record_encode(RECORD_STATE_HASH, &key, 0, &value, &t->arena));
    t->flight->hash = true;
    s->hash_due = false;
}

void state_hash_again(struct shard *s)
{
    s->hash_due = true;
}
