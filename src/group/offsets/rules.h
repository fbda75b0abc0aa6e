/* rules.h: the names of the rules of offsets. A decision says which one fired; logs, the log's readers and tests go by these texts. */
#ifndef MUSTER_GROUP_OFFSETS_RULES_H
#define MUSTER_GROUP_OFFSETS_RULES_H

#define RULE_COMMIT_TAKEN            "commit: taken"
#define RULE_COMMIT_NEW_SIMPLE_GROUP "commit: makes a simple group"
#define RULE_COMMIT_NOTHING_KNOWN    "commit: no such topics or partitions"
#define RULE_COMMIT_NOTHING_TAKEN    "commit: every partition refused"
#define RULE_COMMIT_OVER_BUDGET      "commit: over the shard's budget"

#define RULE_FETCH          "fetch: partitions"
#define RULE_FETCH_ALL      "fetch: all of the group"
#define RULE_FETCH_NO_GROUP "fetch: unknown group"

#define RULE_OFFSET_DELETE               "offset delete: done"
#define RULE_OFFSET_DELETE_SUBSCRIBED    "offset delete: subscribed topics stay"
#define RULE_OFFSET_DELETE_NO_GROUP      "offset delete: unknown group"
#define RULE_OFFSET_DELETE_NOT_CONSUMERS "offset delete: members that are not consumers"

#define RULE_GROUP_DELETE          "group delete: done"
#define RULE_GROUP_DELETE_SLICE    "group delete: a slice of its offsets"
#define RULE_GROUP_DELETE_NO_GROUP "group delete: unknown group"
#define RULE_GROUP_DELETE_REFUSED  "group delete: has members"

#define RULE_RETENTION_EXPIRED              "retention: offsets expired"
#define RULE_RETENTION_GROUP_GONE           "retention: nothing left of the group"
#define RULE_RETENTION_NOTHING              "retention: nothing to do"
#define RULE_RETENTION_NO_GROUP             "retention: unknown group"
#define RULE_RETENTION_SUBSCRIPTION_UNKNOWN "retention: subscription not settled"

#define RULE_TOPICS_CHANGED_DROPPED  "topics changed: offsets of deleted topics dropped"
#define RULE_TOPICS_CHANGED_SLICE    "topics changed: a slice of the offsets"
#define RULE_TOPICS_CHANGED_NOTHING  "topics changed: nothing to do"
#define RULE_TOPICS_CHANGED_NO_GROUP "topics changed: unknown group"

#endif
