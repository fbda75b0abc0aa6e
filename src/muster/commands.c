/* commands.c: the command table, in the order of the help. */
#include "commands.h"

const struct cli_command *const cli_commands[] = {
    &command_cluster_status,     &command_cluster_members,    &command_cluster_form,       &command_cluster_add,
    &command_cluster_promote,    &command_cluster_remove,     &command_cluster_replace,    &command_cluster_transfer,
    &command_cluster_rebalance,  &command_cluster_upgrade,    &command_cluster_recover,    &command_topics_create,
    &command_topics_list,        &command_topics_describe,    &command_topics_delete,      &command_topics_set_end,
    &command_groups_list,        &command_groups_describe,    &command_groups_coordinator, &command_groups_history,
    &command_groups_why,         &command_groups_protect,     &command_groups_delete,      &command_streams_describe,
    &command_streams_topology,   &command_streams_initialize, &command_offsets_list,       &command_offsets_reset,
    &command_offsets_pre_create, &command_offsets_copy,       &command_offsets_rename,     &command_offsets_delete,
    &command_offsets_export,     &command_offsets_import,     &command_configs_list,       &command_configs_get,
    &command_configs_set,        &command_configs_unset,      &command_log_dump,           &command_log_follow,
    &command_log_grep,           &command_log_stat,           &command_log_diff,           &command_log_state,
    &command_log_verify,         &command_snapshot_save,      &command_snapshot_verify,    &command_snapshot_restore,
    &command_config_list,        &command_completion_bash,    &command_completion_zsh,     &command_manual_write,
};
const size_t cli_command_count = COUNT_OF(cli_commands);
