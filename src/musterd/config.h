/* config.h: the configuration of a node, from a properties file as Kafka users know it.
 *
 * config_table.h lists every key once; from it come the fields of struct config, the parser, the checks, the manual (--help-config), the
 * effective configuration in the log at start, and the values that DescribeConfigs shows for a broker.
 *
 * Nothing is guessed: an unknown key, a key given twice and a value out of its range are errors, all of them reported with file and line. */
#ifndef MUSTER_CONFIG_H
#define MUSTER_CONFIG_H

#include <stdio.h>

#include <muster/base.h>

enum config_kind { CONFIG_BOOL, CONFIG_INT16, CONFIG_INT32, CONFIG_INT64, CONFIG_STRING, CONFIG_LIST, CONFIG_ENUM };

enum config_flag {
    CONFIG_NONE = 0,
    CONFIG_REQUIRED = 1, /* has no default */
    CONFIG_DYNAMIC = 2,  /* takes effect while the node runs */
    CONFIG_FORMED = 4,   /* read when the cluster is formed, later only compared with what was formed */
};

/* ENUM fields hold these. */
enum config_rebalance_signal { CONFIG_SIGNAL_HEARTBEAT, CONFIG_SIGNAL_CLOSE };
enum config_migration_policy {
    CONFIG_MIGRATION_DISABLED,
    CONFIG_MIGRATION_DOWNGRADE,
    CONFIG_MIGRATION_UPGRADE,
    CONFIG_MIGRATION_BIDIRECTIONAL
};
/* log_level holds enum log_level of base.h. */

/* One field per key. Strings and lists are NUL-terminated texts owned by the config (a list still with its commas), never NULL. */
struct config {
#define BOOL(field, key, default, flags, help)            bool field;
#define INT16(field, key, default, min, max, flags, help) int16_t field;
#define INT32(field, key, default, min, max, flags, help) int32_t field;
#define INT64(field, key, default, min, max, flags, help) int64_t field;
#define STRING(field, key, default, flags, help)          const char *field;
#define LIST(field, key, default, choices, flags, help)   const char *field;
#define ENUM(field, key, default, choices, flags, help)   int32_t field;
#include "config_table.h"
    struct arena memory; /* of the texts */
};

struct config_row {
    const char *name;
    enum config_kind kind;
    int flags;
    size_t offset;            /* in struct config */
    const char *default_text; /* NULL: required */
    int64_t min, max;         /* of numbers; inclusive */
    const char *choices;      /* separated by |; NULL: any text */
    const char *help;
};

extern const struct config_row config_keys[]; /* in the order of the manual */
extern const size_t config_key_count;
const struct config_row *config_row_find(struct str name); /* NULL when there is no such key */

void config_init(struct config *c); /* every key at its default */
void config_fini(struct config *c);

/* Every function below that takes `errors` appends one line, ended by a newline, per thing that is wrong, and then returns INVALID (or IO when
 * the file cannot be read). */

/* Sets one key from its text. The text is trimmed. */
int config_set(struct config *c, struct str name, struct str text, struct buf *errors);
/* Reads the text of a properties file; `path` is only for the messages. Does not judge keys against each other: see config_validate. */
int config_parse(struct config *c, const char *path, struct str text, struct buf *errors);
/* Reads a file, then validates. */
int config_load(struct config *c, const char *path, struct buf *errors);
/* What no key can say alone: required keys, addresses, orders between values. */
int config_validate(const struct config *c, struct buf *errors);

/* ---- addresses; of a config that passed config_validate --------------------------------------------------------------------- */

struct config_endpoint {
    char host[256]; /* without brackets; empty: all addresses */
    uint16_t port;
};
struct config_peer {
    int32_t id;
    struct config_endpoint at;
};
enum { CONFIG_MAX_PEERS = 32 }; /* as many as a cluster can have members */

struct config_endpoint config_listener(const struct config *c);      /* where clients connect to */
struct config_endpoint config_advertised(const struct config *c);    /* what clients are told */
struct config_endpoint config_peer_listener(const struct config *c); /* where peers connect to */
/* In ascending order of their ids; returns their number. */
size_t config_peers(const struct config *c, struct config_peer ret[CONFIG_MAX_PEERS]);
/* HOST:PORT or [V6]:PORT. False when it is not of that form; *ret is untouched then. An empty host is allowed. */
bool config_parse_endpoint(struct str text, struct config_endpoint *ret);

/* ---- for people ----------------------------------------------------------------------------------------------------------------- */

/* The effective value as text, as it would stand in a file. */
struct str config_text(const struct config *c, const struct config_row *key, struct arena *arena);
bool config_is_default(const struct config *c, const struct config_row *key);
/* The whole effective configuration, a line `key=value` each, in the order of the manual. */
void config_dump(const struct config *c, struct buf *out);
/* --help-config: the manual. */
void config_help(FILE *out);
/* --check-config FILE: says on `out` that the file is good or on `err` all that is wrong. Returns the exit status of the program, 0 or 1. */
int config_check(const char *path, FILE *out, FILE *err);

#endif
