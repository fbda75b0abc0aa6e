/* feature_level.c: the highest feature level that this program knows, alone in its file so that a test can build a program of another level.
 *
 *   1  everything up to and with changes of members
 *   2  the history of rebalances (records 0x4008 to 0x400a); the group config muster.protected
 *   3  when a shard's coordinator moved (record 0x400b) */
#include <muster/group.h>

#ifndef MUSTER_FEATURE_LEVEL
#define MUSTER_FEATURE_LEVEL 3
#endif

const int16_t group_feature_level = MUSTER_FEATURE_LEVEL;
