/* kafka_errors.c: names of Kafka's error codes, and what to do about those that an operator meets. */
#include "cli.h"

static const struct {
    int16_t code;
    const char *name, *text;
} errors[] = {
    {-1, "UNKNOWN_SERVER_ERROR", "the server failed; its log says why"},
    {0, "NONE", NULL},
    {1, "OFFSET_OUT_OF_RANGE", NULL},
    {3, "UNKNOWN_TOPIC_OR_PARTITION", "there is no such topic or partition"},
    {5, "LEADER_NOT_AVAILABLE", "the partition has no leader now; try again"},
    {6, "NOT_LEADER_OR_FOLLOWER", "the partition has moved; try again"},
    {7, "REQUEST_TIMED_OUT", "the cluster did not finish in time; look whether it was done before trying again"},
    {12, "OFFSET_METADATA_TOO_LARGE", NULL},
    {14, "COORDINATOR_LOAD_IN_PROGRESS", "the coordinator is still reading its state; try again"},
    {15, "COORDINATOR_NOT_AVAILABLE", "there is no coordinator now; try again"},
    {16, "NOT_COORDINATOR", "the coordinator has moved; try again"},
    {17, "INVALID_TOPIC_EXCEPTION", "the topic's name or form is not allowed"},
    {22, "ILLEGAL_GENERATION", NULL},
    {24, "INVALID_GROUP_ID", "the group id is not allowed"},
    {25, "UNKNOWN_MEMBER_ID", NULL},
    {27, "REBALANCE_IN_PROGRESS", "the group is rebalancing; try again"},
    {28, "INVALID_COMMIT_OFFSET_SIZE", "it is more than fits into one entry of the log (muster.entry.max.bytes)"},
    {29, "TOPIC_AUTHORIZATION_FAILED", "this user may not do that with the topic"},
    {30, "GROUP_AUTHORIZATION_FAILED", "this user may not do that with the group"},
    {31, "CLUSTER_AUTHORIZATION_FAILED", "this user may not do that with the cluster"},
    {35, "UNSUPPORTED_VERSION", NULL},
    {36, "TOPIC_ALREADY_EXISTS", "a topic of that name exists already"},
    {37, "INVALID_PARTITIONS", "that number of partitions is not allowed"},
    {38, "INVALID_REPLICATION_FACTOR", "that replication factor is not allowed"},
    {39, "INVALID_REPLICA_ASSIGNMENT", NULL},
    {40, "INVALID_CONFIG", "a config is unknown or has a value that is not allowed"},
    {41, "NOT_CONTROLLER", "the controller has moved; try again"},
    {42, "INVALID_REQUEST", NULL},
    {43, "UNSUPPORTED_FOR_MESSAGE_FORMAT", NULL},
    {44, "POLICY_VIOLATION", "the request is against a policy of the cluster"},
    {53, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", NULL},
    {56, "KAFKA_STORAGE_ERROR", "the node's disk failed"},
    {60, "REASSIGNMENT_IN_PROGRESS", "another change is under way"},
    {68, "NON_EMPTY_GROUP", "the group has members; stop them first"},
    {69, "GROUP_ID_NOT_FOUND", "there is no such group"},
    {73, "TOPIC_DELETION_DISABLED", "the cluster does not let topics be deleted"},
    {74, "FENCED_LEADER_EPOCH", NULL},
    {75, "UNKNOWN_LEADER_EPOCH", NULL},
    {79, "MEMBER_ID_REQUIRED", NULL},
    {81, "GROUP_MAX_SIZE_REACHED", NULL},
    {82, "FENCED_INSTANCE_ID", NULL},
    {86, "GROUP_SUBSCRIBED_TO_TOPIC", "a member of the group is subscribed to the topic"},
    {87, "INVALID_RECORD", NULL},
    {88, "UNSTABLE_OFFSET_COMMIT", "a transaction has yet to finish; try again"},
    {89, "THROTTLING_QUOTA_EXCEEDED", "a quota was reached; try again later"},
    {100, "UNKNOWN_TOPIC_ID", "there is no topic with that id"},
    {103, "INCONSISTENT_TOPIC_ID", NULL},
    {110, "FENCED_MEMBER_EPOCH", NULL},
    {111, "UNRELEASED_INSTANCE_ID", NULL},
    {113, "STALE_MEMBER_EPOCH", NULL},
    {126, "DUPLICATE_VOTER", "the id or the address is a member's already"},
    {127, "VOTER_NOT_FOUND", "there is no such member"},
    {128, "INVALID_REGULAR_EXPRESSION", "a regular expression cannot be read"},
    {129, "REBOOTSTRAP_REQUIRED", "the node belongs to another cluster"},
    {130, "STREAMS_INVALID_TOPOLOGY", "the topology is not valid"},
    {131, "STREAMS_INVALID_TOPOLOGY_EPOCH", "the topology's epoch is not valid"},
    {132, "STREAMS_TOPOLOGY_FENCED", "the group's topology may not be changed so"},
    {134, "GROUP_DELETION_FAILED", NULL},
    {135, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", NULL},
    {20131, "STREAMS_MISSING_SOURCE_TOPICS", "source topics do not exist"},
    {20134, "STREAMS_INCONSISTENT_INTERNAL_TOPICS", "internal topics exist in a form that does not fit"},
};

const char *kafka_error_name(int16_t code, struct arena *arena)
{
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        if (errors[i].code == code) {
            return errors[i].name;
        }
    }
    return arena_printf(arena, "error %d", code).ptr;
}

const char *kafka_error_text(int16_t code, struct str message, struct arena *arena)
{
    const char *name = kafka_error_name(code, arena);
    if (!str_is_empty(message)) { /* a sentence; hints are put behind it */
        message.len -= message.ptr[message.len - 1] == '.';
        return arena_printf(arena, "%s: %.*s", name, STR_ARG(message)).ptr;
    }
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        if (errors[i].code == code && errors[i].text != NULL) {
            return arena_printf(arena, "%s: %s", name, errors[i].text).ptr;
        }
    }
    return name;
}
