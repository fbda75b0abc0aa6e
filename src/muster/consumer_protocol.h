/* consumer_protocol.h: what members of classic groups of type "consumer" tell each other, opaque to the coordinator: subscriptions in their
 * joins, assignments in the leader's sync. Versions 0 to 3; later ones only append, so they are read as 3 (KIP-341, KIP-429, KIP-881). */
#ifndef MUSTER_CLI_CONSUMER_PROTOCOL_H
#define MUSTER_CLI_CONSUMER_PROTOCOL_H

#include <muster/base.h>
#include <muster/wire.h>

#include <jansson.h>

struct topic_partitions {
    struct str topic;
    struct int32_array partitions;
};
struct topic_partitions_list {
    struct topic_partitions *v;
    int32_t len;
};

struct consumer_subscription {
    int16_t version;
    struct str_array topics;
    struct bytes user_data;
    struct topic_partitions_list owned;
    int32_t generation; /* -1: none */
    struct str rack;
};
struct consumer_assignment {
    int16_t version;
    struct topic_partitions_list topics;
    struct bytes user_data;
};

/* false when the bytes are of another form: other protocols use the same fields for what they like. Views point into the input. */
bool consumer_subscription_parse(struct bytes in, struct arena *arena, struct consumer_subscription *ret);
/* No bytes are an empty assignment. */
bool consumer_assignment_parse(struct bytes in, struct arena *arena, struct consumer_assignment *ret);

/* orders[0,1] payments[3]; in the arena. Nothing: "-". */
struct str topic_partitions_text(const struct topic_partitions_list *list, struct arena *arena);
json_t *topic_partitions_json(const struct topic_partitions_list *list);
/* Decoded where they parse, else {"bytes": n}. */
json_t *consumer_subscription_json(struct bytes in, struct arena *arena);
json_t *consumer_assignment_json(struct bytes in, struct arena *arena);

#endif
