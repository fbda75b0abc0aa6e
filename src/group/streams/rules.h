/* rules.h: every rule by which streams groups decide, by name. Answers, logs and the log of records say which one fired; a test asks that each is hit by a
 * transcript. */
#ifndef MUSTER_STREAMS_RULES_H
#define MUSTER_STREAMS_RULES_H

#define STREAMS_RULES(X)                                                                                                                   \
    X(INITIALIZE_NO_GROUP_ID, "streams initialize: empty group id")                                                                        \
    X(INITIALIZE_NO_GROUP, "streams initialize: member of an unknown group")                                                               \
    X(INITIALIZE_OTHER_TYPE, "streams initialize: group of another type")                                                                  \
    X(INITIALIZE_UNKNOWN_MEMBER, "streams initialize: unknown member")                                                                     \
    X(INITIALIZE_LATE, "streams initialize: a member that is no longer asked")                                                             \
    X(INITIALIZE_TOPOLOGY, "streams initialize: topology refused")                                                                         \
    X(INITIALIZE_ID_TAKEN, "streams initialize: topology id of another topology")                                                          \
    X(INITIALIZE_EPOCH, "streams initialize: topology epoch not above the group's")                                                        \
    X(INITIALIZE_MISSING_SOURCES, "streams initialize: source topics missing")                                                             \
    X(INITIALIZE_MISFIT, "streams initialize: internal topics do not fit")                                                                 \
    X(INITIALIZE_PARTITIONING, "streams initialize: topics not partitioned alike")                                                         \
    X(INITIALIZE_CREATES, "streams initialize: internal topics have to be made")                                                           \
    X(INITIALIZE_CREATION_FAILED, "streams initialize: internal topics cannot be made")                                                    \
    X(INITIALIZE_UNSETTLED, "streams initialize: internal topics went again")                                                              \
    X(INITIALIZE_BUDGET, "streams initialize: no room in the shard")                                                                       \
    X(INITIALIZE_SAME, "streams initialize: nothing changed")                                                                              \
    X(INITIALIZE_NEW_GROUP, "streams initialize: new group")                                                                               \
    X(INITIALIZE_CONVERTED, "streams initialize: empty classic group converted")                                                           \
    X(INITIALIZE_GROUP, "streams initialize: group without a topology")                                                                    \
    X(INITIALIZE_MEMBER, "streams initialize: by the member that was asked")                                                               \
    X(INITIALIZE_OVERWRITTEN, "streams initialize: topology overwritten")                                                                  \
    X(DESCRIBE, "streams describe: done")                                                                                                  \
    X(DESCRIBE_NO_GROUP_ID, "streams describe: empty group id")                                                                            \
    X(DESCRIBE_NO_GROUP, "streams describe: unknown group")                                                                                \
    X(DESCRIBE_OTHER_TYPE, "streams describe: group of another type")                                                                      \
    X(TOPOLOGY, "streams topology: done")                                                                                                  \
    X(TOPOLOGY_NO_GROUP_ID, "streams topology: empty group id")                                                                            \
    X(TOPOLOGY_NO_GROUP, "streams topology: unknown group")                                                                                \
    X(TOPOLOGY_OTHER_TYPE, "streams topology: group of another type")                                                                      \
    X(COMMIT_OUTSIDER, "streams commit: from outside of a group with members")                                                             \
    X(COMMIT_UNKNOWN_MEMBER, "streams commit: unknown member")                                                                             \
    X(COMMIT_VERSION, "streams commit: version without member epochs")                                                                     \
    X(COMMIT_AHEAD, "streams commit: epoch above the member's")                                                                            \
    X(COMMIT_STALE, "streams commit: epoch before a task was given, or of no task")                                                        \
    X(FETCH_UNKNOWN_MEMBER, "streams fetch: unknown member")                                                                               \
    X(FETCH_EPOCH, "streams fetch: other epoch")                                                                                           \
    X(DESCRIPTION_STORED, "streams description: stored")                                                                                   \
    X(DESCRIPTION_SAME, "streams description: nothing changed")                                                                            \
    X(DESCRIPTION_NO_GROUP_ID, "streams description: empty group id")                                                                      \
    X(DESCRIPTION_NO_MEMBER_ID, "streams description: empty member id")                                                                    \
    X(DESCRIPTION_NO_GROUP, "streams description: unknown group")                                                                          \
    X(DESCRIPTION_OTHER_TYPE, "streams description: group of another type")                                                                \
    X(DESCRIPTION_UNKNOWN_MEMBER, "streams description: unknown member")                                                                   \
    X(DESCRIPTION_EPOCH, "streams description: other topology epoch")                                                                      \
    X(DESCRIPTION_NODE_TYPE, "streams description: unknown node type")                                                                     \
    X(DESCRIPTION_TOO_LARGE, "streams description: too large")                                                                             \
    X(DESCRIPTION_BUDGET, "streams description: no room in the shard")                                                                     \
    X(INVALID, "streams: invalid request")                                                                                                 \
    X(OTHER_TYPE, "streams: group of another type")                                                                                        \
    X(NO_GROUP, "streams: unknown group")                                                                                                  \
    X(UNKNOWN_MEMBER, "streams: unknown member")                                                                                           \
    X(UNKNOWN_INSTANCE, "streams: unknown instance")                                                                                       \
    X(FENCED_INSTANCE, "streams: instance belongs to another member")                                                                      \
    X(EPOCH_AHEAD, "streams: member epoch ahead")                                                                                          \
    X(EPOCH_BEHIND, "streams: member epoch behind")                                                                                        \
    X(UNVERIFIED, "streams: topology has to be compared")                                                                                  \
    X(UNKNOWN_TASK, "streams: owns a task that does not exist")                                                                            \
    X(NO_ROOM, "streams: no room in the shard")                                                                                            \
    X(JOIN_GROUP_FULL, "streams join: group is full")                                                                                      \
    X(JOIN_UNRELEASED, "streams join: instance is in use")                                                                                 \
    X(JOIN_TOPOLOGY, "streams join: topology refused")                                                                                     \
    X(JOIN_NEW_GROUP, "streams join: new group")                                                                                           \
    X(JOIN_CONVERTED, "streams join: empty classic group converted")                                                                       \
    X(JOIN_NEW_MEMBER, "streams join: new member")                                                                                         \
    X(JOIN_STATIC_NEW, "streams join: new static member")                                                                                  \
    X(JOIN_STATIC_BACK, "streams join: static member is back")                                                                             \
    X(JOIN_AGAIN, "streams join: member joins again")                                                                                      \
    X(JOIN_UPGRADE, "streams join: topology replaced")                                                                                     \
    X(HEARTBEAT_SAME, "streams heartbeat: nothing changed")                                                                                \
    X(HEARTBEAT_CHANGED, "streams heartbeat: member changed")                                                                              \
    X(HEARTBEAT_MOVED, "streams heartbeat: member moved on")                                                                               \
    X(HEARTBEAT_ASSIGNED, "streams heartbeat: assignment computed")                                                                        \
    X(LEAVE, "streams leave: member left")                                                                                                 \
    X(LEAVE_LAST, "streams leave: last member left")                                                                                       \
    X(LEAVE_STATIC, "streams leave: static member is away")                                                                                \
    X(SESSION_EXPIRED, "streams session: expired")                                                                                         \
    X(SESSION_MOOT, "streams session: nothing to expire")                                                                                  \
    X(REVOKE_EXPIRED, "streams revocation: not confirmed in time")                                                                         \
    X(REVOKE_MOOT, "streams revocation: nothing to expire")                                                                                \
    X(DELAY_OVER, "streams delay: assignment computed")                                                                                    \
    X(DELAY_JOB, "streams delay: assignment asked for")                                                                                    \
    X(DELAY_MOOT, "streams delay: nothing to compute")                                                                                     \
    X(OTHER_TIMER, "streams timer: of the group's former type")                                                                            \
    X(TOPICS_UNMOVED, "streams topics: unchanged")                                                                                         \
    X(TOPICS_CHANGED, "streams topics: changed")                                                                                           \
    X(CREATED, "streams topics: created")                                                                                                  \
    X(CREATED_FAILED, "streams topics: creation failed")                                                                                   \
    X(CREATED_MOOT, "streams topics: creation concerns nothing")                                                                           \
    X(JOB_ASSIGNED, "streams job: assignment taken")                                                                                       \
    X(JOB_STALE, "streams job: assignment is stale")                                                                                       \
    X(JOB_RESOLVED, "streams job: regular expressions resolved")                                                                           \
    X(JOB_MOOT, "streams job: nothing to take")

enum streams_rule {
#define X(name, text) STREAMS_RULE_##name,
    STREAMS_RULES(X)
#undef X
        STREAMS_RULE_COUNT
};

extern const char *const streams_rules[STREAMS_RULE_COUNT];

#define RULE(name) (streams_rules[STREAMS_RULE_##name])

#endif
