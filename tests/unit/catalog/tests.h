/* tests.h: all tests of the catalogue; main.c runs them in this order, and the last one looks at what the others have seen. */
#ifndef MUSTER_TESTS_CATALOG_TESTS_H
#define MUSTER_TESTS_CATALOG_TESTS_H

#define CATALOG_TESTS(X)                                                                                                                   \
    X(test_names)                                                                                                                          \
    X(test_collisions)                                                                                                                     \
    X(test_counts)                                                                                                                         \
    X(test_assignments)                                                                                                                    \
    X(test_topic_configs)                                                                                                                  \
    X(test_repeated_names)                                                                                                                 \
    X(test_validate_only)                                                                                                                  \
    X(test_topic_ids)                                                                                                                      \
    X(test_create_partitions)                                                                                                              \
    X(test_delete_topics)                                                                                                                  \
    X(test_deleted_is_remembered)                                                                                                          \
    X(test_deletions_are_bounded)                                                                                                          \
    X(test_set_end)                                                                                                                        \
    X(test_topic_values)                                                                                                                   \
    X(test_group_values)                                                                                                                   \
    X(test_configs_of_a_level)                                                                                                             \
    X(test_group_timeouts_together)                                                                                                        \
    X(test_consumer_timeouts)                                                                                                              \
    X(test_consumer_configs)                                                                                                               \
    X(test_resources)                                                                                                                      \
    X(test_configs_within_the_budget)                                                                                                      \
    X(test_operations)                                                                                                                     \
    X(test_long_list)                                                                                                                      \
    X(test_several)                                                                                                                        \
    X(test_describe_topic)                                                                                                                 \
    X(test_describe_group)                                                                                                                 \
    X(test_broker_configs)                                                                                                                 \
    X(test_budgets)                                                                                                                        \
    X(test_nodes)                                                                                                                          \
    X(test_producer_ids)                                                                                                                   \
    X(test_cursor)                                                                                                                         \
    X(test_what_moves_the_index)                                                                                                           \
    X(test_snapshot_under_change)                                                                                                          \
    X(test_any_history_applies)                                                                                                            \
    X(test_members)                                                                                                                        \
    X(test_member_quorums)                                                                                                                 \
    X(test_member_limits)                                                                                                                  \
    X(test_registering_members)                                                                                                            \
    X(test_founding_level)                                                                                                                 \
    X(test_founding_level_of_the_lowest)                                                                                                   \
    X(test_founding_without_one)                                                                                                           \
    X(test_upgrade)                                                                                                                        \
    X(test_newer_records)                                                                                                                  \
    X(test_newer_snapshot)                                                                                                                 \
    X(test_every_rule_was_hit)

#define X(name) void name(void **state);
CATALOG_TESTS(X)
#undef X

#endif
