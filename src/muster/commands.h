/* commands.h: the rows of the command table, and what their files share. */
#ifndef MUSTER_CLI_COMMANDS_H
#define MUSTER_CLI_COMMANDS_H

#include "cli.h"
#include "group_view.h"

extern const struct cli_command *const cli_commands[];
extern const size_t cli_command_count;

extern const struct cli_command command_cluster_status, command_cluster_form, command_cluster_transfer;
extern const struct cli_command command_cluster_members, command_cluster_add, command_cluster_promote, command_cluster_remove,
    command_cluster_replace, command_cluster_rebalance, command_cluster_upgrade;
extern const struct cli_command command_topics_create, command_topics_list, command_topics_describe, command_topics_delete,
    command_topics_set_end;
extern const struct cli_command command_groups_list, command_groups_describe, command_groups_delete, command_groups_coordinator,
    command_groups_history, command_groups_why;
extern const struct cli_command command_streams_describe, command_streams_topology, command_streams_initialize;
extern const struct cli_command command_groups_protect;
extern const struct cli_command command_configs_list, command_configs_get, command_configs_set, command_configs_unset;
extern const struct cli_command command_config_list, command_completion_bash, command_completion_zsh, command_manual_write;
extern const struct cli_command command_offsets_list, command_offsets_reset, command_offsets_pre_create, command_offsets_copy,
    command_offsets_rename, command_offsets_delete, command_offsets_export, command_offsets_import;
extern const struct cli_command command_snapshot_save, command_snapshot_verify, command_snapshot_restore, command_cluster_recover;
extern const struct cli_command command_log_dump, command_log_follow, command_log_grep, command_log_stat, command_log_diff,
    command_log_verify, command_log_state;

/* What stands as an operand, by Kafka's name for it (named_by). */
/* clang-format off */
#define OPTION_NAMED_GROUP  {"group", "GROUP", "the group, as the operand names it"}
#define OPTION_NAMED_GROUPS {"group", "GROUP", "a group, as operands name it; may be given more than once"}
#define OPTION_NAMED_TOPIC  {"topic", "TOPIC", "the topic, as the operand names it"}
#define OPTION_NAMED_TOPICS {"topic", "TOPIC", "a topic, as operands name it; may be given more than once"}
#define OPTION_ALL_GROUPS   {"all-groups", NULL, "every group of the cluster"}
/* clang-format on */

/* Of shard = hash(group id) % shards, in clusters that this program forms and reads. */
enum { HASH_VERSION = 1 };
/* --peers: "ID@HOST:PORT,...", ascending by id into config->peers. CLI_OK or CLI_USAGE, said. */
struct form_config;
int peers_parse(struct cli *cli, const char *text, struct form_config *config);

struct client;
/* Hands the shard to that node (-1: to whichever is best placed), waits until it serves there, and prints it; as JSON into moves, where that is not NULL.
 * An exit code. */
int cluster_transfer(struct cli *cli, struct client *c, int32_t shard, int32_t to, json_t *moves);

/* CLI_OK, or said: the group is protected. What does not know of protection protects nothing. */
int group_check_protected(struct cli *cli, struct client *c, struct str group);
/* Deletes the group; force: although it is protected. An exit code, what went wrong said. */
int group_delete(struct cli *cli, struct client *c, struct str group, bool force);

/* From the committed offset to the end; -1 when either is not known. */
int64_t offset_lag(const struct offset_view *o);
json_t *offsets_json(const struct offsets_view *offsets);

#endif
