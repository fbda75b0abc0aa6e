/* fake_replica.h: a replica that commits, confirms and changes hands when the test says so. */
#ifndef MUSTER_FAKE_REPLICA_H
#define MUSTER_FAKE_REPLICA_H

#include <muster/replica.h>

struct replica *fake_new(uint32_t shards);
void fake_free(struct replica *r);
struct replica_events *fake_events(struct replica *r);
void fake_serve(struct replica *r, uint32_t shard, uint64_t term); /* elected and an entry of the own term applied */
void fake_role(struct replica *r, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader);
size_t fake_commit(struct replica *r);         /* applies all that was proposed; how many entries */
size_t fake_proposed(const struct replica *r); /* entries proposed and not yet applied */
void fake_confirm(struct replica *r);          /* every round that was wanted */
void fake_refuse(struct replica *r, int rc);   /* what replica_propose says from now on; 0: takes it */
void fake_message(struct replica *r, uint32_t from, uint16_t channel, const void *data, size_t len); /* one comes from another node */
void fake_peer(struct replica *r, uint32_t node, bool connected);
size_t fake_sent(const struct replica *r); /* messages to other nodes, and the bytes of the newest */
size_t fake_sent_bytes(const struct replica *r);
const uint8_t *fake_sent_data(const struct replica *r, uint32_t *ret_node); /* the newest's beginning, and to whom */
void fake_take(struct replica *r, uint32_t node);                           /* who would take a shard; 0, as at the beginning: nobody */
uint32_t fake_transferred_to(const struct replica *r);                      /* whom the newest was asked for; 0: the best placed */
size_t fake_transfers(const struct replica *r, uint32_t *ret_shard);        /* asked for, and the newest's shard; none comes about */
void fake_contact(struct replica *r, int64_t us);                           /* contact_us of all shards */
void fake_led(struct replica *r, int64_t us);                               /* led_us of all shards */
struct bytes fake_newest(const struct replica *r);                          /* of the entries proposed and not yet applied */

#endif
