/* rules.h: every rule by which offsets are decided, by name. Answers, logs and the log of records say which one fired; tests ask that each is hit. */
#ifndef MUSTER_GROUP_OFFSETS_RULES_H
#define MUSTER_GROUP_OFFSETS_RULES_H

#define OFFSETS_RULES(X)                                                                                                                   \
    X(COMMIT_TAKEN, "commit: taken")                                                                                                       \
    X(COMMIT_NEW_SIMPLE_GROUP, "commit: makes a simple group")                                                                             \
    X(COMMIT_NOTHING_KNOWN, "commit: no such topics or partitions")                                                                        \
    X(COMMIT_NOTHING_TAKEN, "commit: every partition refused")                                                                             \
    X(COMMIT_OVER_BUDGET, "commit: over the shard's budget")                                                                               \
    X(COMMIT_PROTECTED, "commit: from outside, and the group is protected")                                                                \
    X(FETCH, "fetch: partitions")                                                                                                          \
    X(FETCH_ALL, "fetch: all of the group")                                                                                                \
    X(FETCH_NO_GROUP, "fetch: unknown group")                                                                                              \
    X(OFFSET_DELETE, "offset delete: done")                                                                                                \
    X(OFFSET_DELETE_SUBSCRIBED, "offset delete: subscribed topics stay")                                                                   \
    X(OFFSET_DELETE_NO_GROUP_ID, "offset delete: empty group id")                                                                          \
    X(OFFSET_DELETE_NO_GROUP, "offset delete: unknown group")                                                                              \
    X(OFFSET_DELETE_NOT_CONSUMERS, "offset delete: members that are not consumers")                                                        \
    X(OFFSET_DELETE_PROTECTED, "offset delete: the group is protected")                                                                    \
    X(GROUP_DELETE, "group delete: done")                                                                                                  \
    X(GROUP_DELETE_SLICE, "group delete: a slice of its offsets")                                                                          \
    X(GROUP_DELETE_NO_GROUP, "group delete: unknown group")                                                                                \
    X(GROUP_DELETE_REFUSED, "group delete: has members")                                                                                   \
    X(GROUP_DELETE_PROTECTED, "group delete: the group is protected")                                                                      \
    X(ALTER, "alter offsets: done")                                                                                                        \
    X(ALTER_FENCED, "alter offsets: members removed first")                                                                                \
    X(ALTER_NEW_GROUP, "alter offsets: makes a simple group")                                                                              \
    X(ALTER_VALIDATED, "alter offsets: asked what would be")                                                                               \
    X(ALTER_PARTITION, "alter offsets: a partition refused")                                                                               \
    X(ALTER_NO_GROUP_ID, "alter offsets: empty group id")                                                                                  \
    X(ALTER_NO_GROUP, "alter offsets: unknown group")                                                                                      \
    X(ALTER_EXISTS, "alter offsets: the group exists")                                                                                     \
    X(ALTER_MEMBERS, "alter offsets: has members")                                                                                         \
    X(ALTER_PROTECTED, "alter offsets: the group is protected")                                                                            \
    X(ALTER_OVER_BUDGET, "alter offsets: over the shard's budget")                                                                         \
    X(RETENTION_EXPIRED, "retention: offsets expired")                                                                                     \
    X(RETENTION_GROUP_GONE, "retention: nothing left of the group")                                                                        \
    X(RETENTION_NOTHING, "retention: nothing to do")                                                                                       \
    X(RETENTION_NO_GROUP, "retention: unknown group")                                                                                      \
    X(RETENTION_SUBSCRIPTION_UNKNOWN, "retention: subscription not settled")                                                               \
    X(TOPICS_CHANGED_DROPPED, "topics changed: offsets of deleted topics dropped")                                                         \
    X(TOPICS_CHANGED_SLICE, "topics changed: a slice of the offsets")

enum offsets_rule {
#define X(name, text) RULE_##name,
    OFFSETS_RULES(X)
#undef X
        OFFSETS_RULE_COUNT
};
extern const char *const offsets_rules[OFFSETS_RULE_COUNT];

#endif
