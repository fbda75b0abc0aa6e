/* rules.h: every rule by which the catalogue is decided, by name; tests ask that each is hit. */
#ifndef MUSTER_GROUP_CATALOG_RULES_H
#define MUSTER_GROUP_CATALOG_RULES_H

#define CATALOG_RULES(X)                                                                                                                   \
    X(TOPICS_CREATED, "create topics: made")                                                                                               \
    X(TOPICS_VALIDATED, "create topics: validated only")                                                                                   \
    X(TOPICS_REFUSED, "create topics: refused")                                                                                            \
    X(PARTITIONS_ADDED, "create partitions: added")                                                                                        \
    X(PARTITIONS_VALIDATED, "create partitions: validated only")                                                                           \
    X(PARTITIONS_REFUSED, "create partitions: refused")                                                                                    \
    X(TOPICS_DELETED, "delete topics: deleted")                                                                                            \
    X(TOPICS_NOT_DELETED, "delete topics: refused")                                                                                        \
    X(END_SET, "set end: set")                                                                                                             \
    X(END_REFUSED, "set end: refused")                                                                                                     \
    X(CONFIGS_ALTERED, "alter configs: altered")                                                                                           \
    X(CONFIGS_VALIDATED, "alter configs: validated only")                                                                                  \
    X(CONFIGS_UNCHANGED, "alter configs: nothing changed")                                                                                 \
    X(CONFIGS_REFUSED, "alter configs: refused")                                                                                           \
    X(NODE_REGISTERED, "register node: registered")                                                                                        \
    X(NODE_KNOWN, "register node: known as it is")                                                                                         \
    X(NODE_REFUSED, "register node: number belongs to another incarnation")                                                                \
    X(NODE_NO_MEMBER, "register node: not a member of the cluster")                                                                        \
    X(MEMBERS_FOUNDED, "members: those that the cluster was formed with")                                                                  \
    X(FOUNDERS_AWAITED, "members: not all that the cluster was formed with have registered")                                               \
    X(MEMBERS_MISSING, "members: not known yet")                                                                                           \
    X(CHANGE_BEGUN, "change member: begun")                                                                                                \
    X(CHANGE_REFUSED, "change member: refused")                                                                                            \
    X(CHANGE_FORCED, "change member: begun in place of the one under way")                                                                 \
    X(CHANGE_STEPPED, "member step: taken")                                                                                                \
    X(CHANGE_DONE, "member step: done")                                                                                                    \
    X(CHANGE_GIVEN_UP, "member step: given up")                                                                                            \
    X(CHANGE_STALE, "member step: of another change or state")                                                                             \
    X(FEATURE_RAISED, "upgrade: level raised")                                                                                             \
    X(FEATURE_KEPT, "upgrade: level kept")                                                                                                 \
    X(FEATURE_REFUSED, "upgrade: refused")                                                                                                 \
    X(PRODUCER_ID, "producer id: a new one")                                                                                               \
    X(PRODUCER_ID_TRANSACTIONAL, "producer id: no transactions here")                                                                      \
    X(PRODUCER_ID_MALFORMED, "producer id: id without epoch or epoch without id")                                                          \
    X(CURSOR_MOVED, "cursor: moved")                                                                                                       \
    X(CURSOR_KEPT, "cursor: already there")

enum catalog_rule {
#define X(name, text) CATALOG_RULE_##name,
    CATALOG_RULES(X)
#undef X
        CATALOG_RULE_COUNT
};
extern const char *const catalog_rules[CATALOG_RULE_COUNT];

#define RULE(name) (catalog_rules[CATALOG_RULE_##name])

#endif
