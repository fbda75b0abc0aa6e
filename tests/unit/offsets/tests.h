/* tests.h: all tests of offsets; main.c runs them in this order, and the last one looks at what the others have seen. */
#ifndef MUSTER_TESTS_OFFSETS_TESTS_H
#define MUSTER_TESTS_OFFSETS_TESTS_H

#define OFFSETS_TESTS(X)                                                                                                                   \
    X(test_bad_partition_alone)                                                                                                            \
    X(test_metadata_limit)                                                                                                                 \
    X(test_order_of_answers)                                                                                                               \
    X(test_by_id)                                                                                                                          \
    X(test_nothing_to_commit)                                                                                                              \
    X(test_unknown_group)                                                                                                                  \
    X(test_instance_without_generation)                                                                                                    \
    X(test_members)                                                                                                                        \
    X(test_commit_keeps_session)                                                                                                           \
    X(test_owned_only)                                                                                                                     \
    X(test_budgets)                                                                                                                        \
    X(test_kept_through_snapshot)                                                                                                          \
    X(test_versions)                                                                                                                       \
    X(test_memory)                                                                                                                         \
    X(test_page)                                                                                                                           \
    X(test_page_changes)                                                                                                                   \
    X(test_pages)                                                                                                                          \
    X(test_fetch_forms)                                                                                                                    \
    X(test_fetch_unknown_group)                                                                                                            \
    X(test_fetch_recreated)                                                                                                                \
    X(test_fetch_of_another_topic)                                                                                                         \
    X(test_offset_delete)                                                                                                                  \
    X(test_offset_delete_active)                                                                                                           \
    X(test_group_delete)                                                                                                                   \
    X(test_made_and_deleted_again)                                                                                                         \
    X(test_group_delete_in_slices)                                                                                                         \
    X(test_group_delete_overtaken)                                                                                                         \
    X(test_retention_in_slices)                                                                                                            \
    X(test_topics_changed_in_slices)                                                                                                       \
    X(test_retention_stable)                                                                                                               \
    X(test_retention_simple)                                                                                                               \
    X(test_retention_rebalancing)                                                                                                          \
    X(test_retention_empty)                                                                                                                \
    X(test_retention_other_protocol)                                                                                                       \
    X(test_retention_pending_id)                                                                                                           \
    X(test_retention_unreadable)                                                                                                           \
    X(test_retention_explicit)                                                                                                             \
    X(test_retention_shard_clock)                                                                                                          \
    X(test_topics_changed)                                                                                                                 \
    X(test_alter)                                                                                                                          \
    X(test_alter_all_or_nothing)                                                                                                           \
    X(test_alter_moves)                                                                                                                    \
    X(test_alter_creates)                                                                                                                  \
    X(test_alter_fences)                                                                                                                   \
    X(test_alter_budget)                                                                                                                   \
    X(test_protected)                                                                                                                      \
    X(test_twin)                                                                                                                           \
    X(test_every_rule_was_hit)

#define X(name) void name(void **state);
OFFSETS_TESTS(X)
#undef X

#endif
