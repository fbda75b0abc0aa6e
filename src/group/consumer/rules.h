/* rules.h: every rule by which consumer groups decide, by name. Answers, logs and the log of records say which one fired; a test asks that each is hit by a
 * transcript. */
#ifndef MUSTER_CONSUMER_RULES_H
#define MUSTER_CONSUMER_RULES_H

#define CONSUMER_RULES(X)                                                                                                                  \
    X(INVALID, "consumer heartbeat: invalid request")                                                                                      \
    X(ASSIGNOR, "consumer heartbeat: unknown assignor")                                                                                    \
    X(REGEX, "consumer heartbeat: invalid regular expression")                                                                             \
    X(NO_GROUP, "consumer heartbeat: unknown group")                                                                                       \
    X(OTHER_TYPE, "consumer heartbeat: group of another type")                                                                             \
    X(UNKNOWN_MEMBER, "consumer heartbeat: unknown member")                                                                                \
    X(UNKNOWN_INSTANCE, "consumer heartbeat: unknown instance")                                                                            \
    X(FENCED_INSTANCE, "consumer heartbeat: instance belongs to another member")                                                           \
    X(EPOCH_AHEAD, "consumer heartbeat: epoch ahead")                                                                                      \
    X(EPOCH_BEHIND, "consumer heartbeat: epoch behind")                                                                                    \
    X(NO_ROOM, "consumer heartbeat: no room in the shard")                                                                                 \
    X(JOIN_GROUP_FULL, "consumer join: group is full")                                                                                     \
    X(JOIN_UNRELEASED, "consumer join: instance is in use")                                                                                \
    X(JOIN_NEW_GROUP, "consumer join: new group")                                                                                          \
    X(JOIN_CONVERTED, "consumer join: classic group becomes a consumer group")                                                             \
    X(JOIN_NEW_MEMBER, "consumer join: new member")                                                                                        \
    X(JOIN_STATIC_NEW, "consumer join: new static member")                                                                                 \
    X(JOIN_STATIC_BACK, "consumer join: static member is back")                                                                            \
    X(JOIN_AGAIN, "consumer join: member joins again")                                                                                     \
    X(HEARTBEAT_SAME, "consumer heartbeat: nothing changed")                                                                               \
    X(HEARTBEAT_CHANGED, "consumer heartbeat: member changed")                                                                             \
    X(HEARTBEAT_ASSIGNED, "consumer heartbeat: new assignment")                                                                            \
    X(HEARTBEAT_MOVED, "consumer heartbeat: member moved on")                                                                              \
    X(LEAVE, "consumer leave: member left")                                                                                                \
    X(LEAVE_LAST, "consumer leave: last member left")                                                                                      \
    X(LEAVE_STATIC, "consumer leave: static member is away")                                                                               \
    X(LEAVE_DOWNGRADE, "consumer leave: classic members are left")                                                                         \
    X(SESSION_MOOT, "consumer session: nothing to expire")                                                                                 \
    X(SESSION_EXPIRED, "consumer session: expired")                                                                                        \
    X(REVOKE_MOOT, "consumer revocation: nothing to expire")                                                                               \
    X(REVOKE_EXPIRED, "consumer revocation: member did not give up its partitions")                                                        \
    X(REFRESH, "consumer timer: regular expressions are matched again")                                                                    \
    X(OTHER_TIMER, "consumer timer: of another kind of group")                                                                             \
    X(TOPICS_CHANGED, "consumer topics: changed")                                                                                          \
    X(TOPICS_UNMOVED, "consumer topics: nothing to do")                                                                                    \
    X(JOB_ASSIGNED, "consumer job: assignment taken")                                                                                      \
    X(JOB_STALE, "consumer job: assignment is stale")                                                                                      \
    X(JOB_RESOLVED, "consumer job: regular expressions resolved")                                                                          \
    X(JOB_MOOT, "consumer job: nothing to take")                                                                                           \
    X(DESCRIBE, "consumer describe")                                                                                                       \
    X(DESCRIBE_NO_GROUP_ID, "consumer describe: empty group id")                                                                           \
    X(DESCRIBE_NO_GROUP, "consumer describe: unknown group")                                                                               \
    X(DESCRIBE_OTHER_TYPE, "consumer describe: group of another type")                                                                     \
    X(UPGRADE_DISABLED, "consumer join: classic groups are not converted by policy")                                                       \
    X(UPGRADE_TYPE, "consumer join: classic group of another protocol type")                                                               \
    X(UPGRADE_SIZE, "consumer join: classic group is too large")                                                                           \
    X(UPGRADE_MALFORMED, "consumer join: classic group whose bytes cannot be read")                                                        \
    X(UPGRADE_ASSIGNOR, "consumer join: classic group with user data of its assignor")                                                     \
    X(CLASSIC_UNKNOWN_MEMBER, "classic member: unknown")                                                                                   \
    X(CLASSIC_FENCED, "classic member: instance belongs to another member")                                                                \
    X(CLASSIC_GENERATION, "classic member: other generation")                                                                              \
    X(CLASSIC_JOIN_DISABLED, "classic join: no classic members by policy")                                                                 \
    X(CLASSIC_JOIN_FULL, "classic join: no room")                                                                                          \
    X(CLASSIC_JOIN_PROTOCOL, "classic join: inconsistent protocol")                                                                        \
    X(CLASSIC_JOIN_METADATA, "classic join: subscription cannot be read")                                                                  \
    X(CLASSIC_JOIN_ID_REQUIRED, "classic join: member id required")                                                                        \
    X(CLASSIC_JOIN_NEW, "classic join: new member")                                                                                        \
    X(CLASSIC_JOIN_STATIC_NEW, "classic join: new static member")                                                                          \
    X(CLASSIC_JOIN_STATIC_BACK, "classic join: static member replaced")                                                                    \
    X(CLASSIC_JOIN_TURNED, "classic join: member of the new protocol")                                                                     \
    X(CLASSIC_JOIN_CHANGED, "classic join: member changed")                                                                                \
    X(CLASSIC_JOIN_AGAIN, "classic join: member joins again")                                                                              \
    X(CLASSIC_JOIN_LAST, "classic join: in place of the last member of the new protocol")                                                  \
    X(CLASSIC_BEAT_ALIVE, "classic heartbeat: alive")                                                                                      \
    X(CLASSIC_BEAT_REJOIN, "classic heartbeat: has to rejoin")                                                                             \
    X(CLASSIC_BEAT_ASSIGNED, "classic heartbeat: new assignment")                                                                          \
    X(CLASSIC_SYNC, "classic sync: assignment")                                                                                            \
    X(CLASSIC_SYNC_PROTOCOL, "classic sync: inconsistent protocol")                                                                        \
    X(CLASSIC_SYNC_REJOIN, "classic sync: has to rejoin")                                                                                  \
    X(CLASSIC_LEAVE, "classic leave: members left")                                                                                        \
    X(CLASSIC_LEAVE_LAST, "classic leave: last members left")                                                                              \
    X(CLASSIC_LEAVE_NOBODY, "classic leave: nobody left")                                                                                  \
    X(CLASSIC_LEAVE_DOWNGRADE, "classic leave: classic members are left")                                                                  \
    X(CLASSIC_TIMER_MOOT, "classic timer: nothing to expire")                                                                              \
    X(CLASSIC_REJOIN_TIMEOUT, "classic timer: member did not rejoin")                                                                      \
    X(CLASSIC_SYNC_TIMEOUT, "classic timer: member did not sync")                                                                          \
    X(CLASSIC_COMMIT_GENERATION, "classic commit: other generation")                                                                       \
    X(COMMIT_OUTSIDER, "consumer commit: from outside of a group with members")                                                            \
    X(COMMIT_UNKNOWN_MEMBER, "consumer commit: unknown member")                                                                            \
    X(COMMIT_VERSION, "consumer commit: version does not know epochs")                                                                     \
    X(COMMIT_AHEAD, "consumer commit: epoch ahead")                                                                                        \
    X(COMMIT_STALE, "consumer commit: stale epoch")                                                                                        \
    X(FETCH_UNKNOWN_MEMBER, "consumer fetch: unknown member")                                                                              \
    X(FETCH_EPOCH, "consumer fetch: other epoch")

enum consumer_rule {
#define X(name, text) CONSUMER_RULE_##name,
    CONSUMER_RULES(X)
#undef X
        CONSUMER_RULE_COUNT
};

extern const char *const consumer_rules[CONSUMER_RULE_COUNT];

#define RULE(name) (consumer_rules[CONSUMER_RULE_##name])

#endif
