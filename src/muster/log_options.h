/* log_options.h: options that several of the log commands have, each said once. */
#ifndef MUSTER_CLI_LOG_OPTIONS_H
#define MUSTER_CLI_LOG_OPTIONS_H

/* clang-format off */
#define OPTION_DATA   {"data", "DIR", "the data folder (muster.data.dir) of a node, stopped or running, or a copy of one; it is only read"}
#define OPTION_DATA_AT {"data", "DIR", "with --at: from the data folder of a node, or a copy of one (default: through a live node)"}
#define OPTION_NODE   {"node", "ID", "without --data: the node whose log is read (default: the first that answers)"}
#define OPTION_DISK   {"disk", NULL, "without --data: what the live node has on its disk, history included, instead of what it has in memory"}
#define OPTION_NODE_DISK {"node", "ID", "the same of that node"}
#define OPTION_GROUP  {"group", "GROUP", "only records of the group, and what requests for it caused"}
#define OPTION_TOPIC  {"topic", "TOPIC", "only records that mention the topic, by its name or by an id that it has had"}
#define OPTION_MEMBER {"member", "ID", "only records that mention the member id or the group instance id"}
#define OPTION_TYPE   {"type", "TYPE", "only records of that type: OffsetCommit, ClassicGroup, Topic, ... in any case"}
#define OPTION_SHARD  {"shard", "N", "only that shard"}
#define OPTION_FROM   {"from", "INDEX", "only entries from that index on"}
#define OPTION_TO     {"to", "INDEX", "only entries up to that index"}
#define OPTION_SINCE  {"since", "TIME", "only entries written then or later: 2026-11-30T20:15:00Z, or 15m, 6h, 2d ago"}
#define OPTION_UNTIL  {"until", "TIME", "only entries written then or before"}
#define OPTION_FOLLOW_TO {"to", "INDEX", "with --shard: ends behind that index"}
#define OPTION_FOLLOW_UNTIL {"until", "TIME", "ends then, as this machine's clock has it; only entries written before: 2026-11-30T20:15:00Z"}
#define OPTION_ALL    {"all", NULL, "also what is no record: barriers, terms and votes, snapshots; and entries that later ones erased"}
#define OPTION_FORMAT {"format", "FORM", "text, json (the same as --json), or kafka: as 'kafka-dump-log --offsets-decoder' prints"}
#define OPTION_AT     {"at", "INDEX|TIME|clock:MS", "as of that entry of the shard's log; of that time: 2026-11-30T20:15:00Z, or 15m, 6h, 2d ago; or of the shard's clock, which is never set back"}
/* clang-format on */

#endif
