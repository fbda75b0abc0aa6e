/* rules.h: every rule by which classic groups decide, by name. Answers, logs and the log of records say which one fired; a test asks that each is
 * hit by a transcript. */
#ifndef MUSTER_CLASSIC_RULES_H
#define MUSTER_CLASSIC_RULES_H

#define CLASSIC_RULES(X)                                                                                                                   \
    X(JOIN_NO_GROUP_ID, "join: empty group id")                                                                                            \
    X(JOIN_SESSION_TIMEOUT, "join: session timeout out of bounds")                                                                         \
    X(JOIN_NO_GROUP, "join: member id for an unknown group")                                                                               \
    X(JOIN_OTHER_TYPE, "join: group of another type")                                                                                      \
    X(JOIN_PROTOCOLS, "join: too many protocols")                                                                                          \
    X(JOIN_BUDGET, "join: no room in the shard")                                                                                           \
    X(JOIN_GROUP_FULL, "join: group is full")                                                                                              \
    X(JOIN_PROTOCOL, "join: inconsistent protocol")                                                                                        \
    X(JOIN_ID_REQUIRED, "join: member id required")                                                                                        \
    X(JOIN_NEW_MEMBER, "join: new member")                                                                                                 \
    X(JOIN_PENDING_ID, "join: member with a given id")                                                                                     \
    X(JOIN_PENDING_INSTANCE, "join: a given id with an instance")                                                                          \
    X(JOIN_STATIC_NEW, "join: new static member")                                                                                          \
    X(JOIN_STATIC_REPLACED, "join: static member replaced")                                                                                \
    X(JOIN_STATIC_KEPT, "join: static member replaced, generation kept")                                                                   \
    X(JOIN_UNKNOWN_MEMBER, "join: unknown member")                                                                                         \
    X(JOIN_FENCED, "join: instance belongs to another member")                                                                             \
    X(JOIN_REJOIN, "join: member rejoins")                                                                                                 \
    X(JOIN_CHANGED, "join: metadata changed")                                                                                              \
    X(JOIN_LEADER, "join: leader rejoins")                                                                                                 \
    X(JOIN_SAME, "join: nothing changed")                                                                                                  \
    X(JOIN_WAITS, "join: waits for the others")                                                                                            \
    X(JOIN_COMPLETED, "join: generation completed")                                                                                        \
    X(JOIN_REMOVED, "join: removed while it waited")                                                                                       \
    X(JOIN_OVERTAKEN, "join: a later generation completed without it")                                                                     \
    X(JOIN_CONVERTED, "join: the group became a consumer group while it waited")                                                           \
    X(SYNC_NO_PROTOCOL, "sync: protocol type and name are missing")                                                                        \
    X(SYNC_NO_GROUP_ID, "sync: empty group id")                                                                                            \
    X(SYNC_UNKNOWN_MEMBER, "sync: unknown member")                                                                                         \
    X(SYNC_FENCED, "sync: instance belongs to another member")                                                                             \
    X(SYNC_GENERATION, "sync: other generation")                                                                                           \
    X(SYNC_PROTOCOL, "sync: inconsistent protocol")                                                                                        \
    X(SYNC_PREPARING, "sync: rebalance in progress")                                                                                       \
    X(SYNC_LEADER, "sync: assignment of the leader")                                                                                       \
    X(SYNC_WAITS, "sync: waits for the leader")                                                                                            \
    X(SYNC_STABLE, "sync: assignment")                                                                                                     \
    X(SYNC_OVERTAKEN, "sync: a rebalance began while it waited")                                                                           \
    X(SYNC_REMOVED, "sync: removed while it waited")                                                                                       \
    X(SYNC_CONVERTED, "sync: the group became a consumer group while it waited")                                                           \
    X(HEARTBEAT_NO_GROUP_ID, "heartbeat: empty group id")                                                                                  \
    X(HEARTBEAT_UNKNOWN_MEMBER, "heartbeat: unknown member")                                                                               \
    X(HEARTBEAT_FENCED, "heartbeat: instance belongs to another member")                                                                   \
    X(HEARTBEAT_GENERATION, "heartbeat: other generation")                                                                                 \
    X(HEARTBEAT_PREPARING, "heartbeat: rebalance in progress")                                                                             \
    X(HEARTBEAT_ALIVE, "heartbeat: alive")                                                                                                 \
    X(LEAVE_NO_GROUP_ID, "leave: empty group id")                                                                                          \
    X(LEAVE_NO_GROUP, "leave: unknown group")                                                                                              \
    X(LEAVE_NOBODY, "leave: nobody left")                                                                                                  \
    X(LEAVE_MEMBERS, "leave: members left")                                                                                                \
    X(SESSION_MOOT, "session: nothing to expire")                                                                                          \
    X(SESSION_WAITING, "session: its join waits")                                                                                          \
    X(SESSION_NEW_MEMBER, "session: first join waited too long")                                                                           \
    X(SESSION_EXPIRED, "session: expired")                                                                                                 \
    X(PENDING_ID_MOOT, "pending id: nothing to expire")                                                                                    \
    X(PENDING_ID_EXPIRED, "pending id: expired")                                                                                           \
    X(SYNC_TIMER_MOOT, "sync timer: nothing to expire")                                                                                    \
    X(SYNC_TIMER_EXPIRED, "sync timer: member did not sync")                                                                               \
    X(REBALANCE_MOOT, "rebalance timer: nothing to complete")                                                                              \
    X(REBALANCE_TIMEOUT, "rebalance timer: join phase over")                                                                               \
    X(REBALANCE_NOBODY, "rebalance timer: nobody rejoined")                                                                                \
    X(INITIAL_MOOT, "initial delay: nothing to complete")                                                                                  \
    X(INITIAL_EXTENDED, "initial delay: extended for new members")                                                                         \
    X(INITIAL_OVER, "initial delay: over")                                                                                                 \
    X(COMMIT_NO_GROUP, "commit: member of an unknown group")                                                                               \
    X(COMMIT_OUTSIDER, "commit: from outside of a group with members")                                                                     \
    X(COMMIT_UNKNOWN_MEMBER, "commit: unknown member")                                                                                     \
    X(COMMIT_FENCED, "commit: instance belongs to another member")                                                                         \
    X(COMMIT_GENERATION, "commit: other generation")                                                                                       \
    X(COMMIT_COMPLETING, "commit: rebalance in progress")                                                                                  \
    X(TAKEOVER_NOTHING, "takeover: every waiting member knows its id")                                                                     \
    X(TAKEOVER_DROPPED, "takeover: members without a delivered id dropped")                                                                \
    X(TOPICS_UNMOVED, "topics: subscribed topics unchanged")                                                                               \
    X(TOPICS_CHANGED, "topics: partitions of a subscribed topic changed")

enum classic_rule {
#define X(name, text) CLASSIC_RULE_##name,
    CLASSIC_RULES(X)
#undef X
        CLASSIC_RULE_COUNT
};

extern const char *const classic_rules[CLASSIC_RULE_COUNT];

#define RULE(name) (classic_rules[CLASSIC_RULE_##name])

#endif
