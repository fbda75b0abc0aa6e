/* configs.h: the configs this cluster knows, private to src/group/catalog.
 *
 * Names, types, defaults and bounds of topic and group configs are those Kafka 4.4.0 answers with. Topic configs are kept and described for those
 * who ask (there is no data they could govern); group configs are read by group logic; of brokers only what is marked dynamic can be altered. */
#ifndef MUSTER_GROUP_CATALOG_CONFIGS_H
#define MUSTER_GROUP_CATALOG_CONFIGS_H

#include "state.h"

/* Numbers of the protocol (DescribeConfigs, ConfigType). */
enum config_type {
    CONFIG_BOOLEAN = 1,
    CONFIG_STRING = 2,
    CONFIG_INT = 3,
    CONFIG_LONG = 5,
    CONFIG_DOUBLE = 6,
    CONFIG_LIST = 7,
    CONFIG_CLASS = 8
};
/* ConfigSource of the protocol. */
enum {
    SOURCE_TOPIC = 1,
    SOURCE_DYNAMIC_BROKER = 2,
    SOURCE_DYNAMIC_DEFAULT_BROKER = 3,
    SOURCE_STATIC_BROKER = 4,
    SOURCE_DEFAULT = 5,
    SOURCE_GROUP = 8
};

/* What a value must be beyond its type. */
enum config_check {
    CHECK_NONE,
    CHECK_RANGE,         /* min..max */
    CHECK_RANGE_OR_NONE, /* min..max, or -1 */
    CHECK_CHOICE,        /* one of `choices` */
    CHECK_CHOICES,       /* a list of `choices`; the same one twice counts once */
    CHECK_REPLICAS,      /* "*" or partition:node pairs */
    CHECK_TAGS,          /* a list without repetitions */
    CHECK_ASSIGNOR,      /* a name out of `choices` */
    CHECK_RESET,         /* earliest, latest, by_duration:PnDTnHnMn.nS */
    CHECK_DLQ_TOPIC      /* not a topic of the system's own */
};

/* Whose bounds a node's settings say. */
enum config_limits {
    LIMITS_FIXED, /* low and high stand in the table */
    LIMITS_CONSUMER_SESSION,
    LIMITS_CONSUMER_HEARTBEAT,
    LIMITS_CONSUMER_ASSIGNMENT,
    LIMITS_STREAMS_SESSION,
    LIMITS_STREAMS_HEARTBEAT,
    LIMITS_STREAMS_ASSIGNMENT,
    LIMITS_STREAMS_STANDBYS,
    LIMITS_STREAMS_WARMUPS,
    LIMITS_STREAMS_TASK_OFFSETS
};

struct config_definition {
    const char *name;
    uint8_t type;         /* enum config_type */
    uint8_t check;        /* enum config_check */
    bool hidden;          /* settable, but not described */
    bool on_demand;       /* group configs of our own: described where they are set, or asked for by name */
    bool dynamic;         /* broker configs: may be altered */
    const char *fallback; /* the default, as text */
    int64_t min, max;     /* of CHECK_RANGE and DOUBLE */
    bool bounded;         /* group configs: what the brokers allow on top of it */
    int64_t low, high;
    uint8_t limits;      /* enum config_limits */
    int8_t level;        /* the feature level from which on it may be set; 0: any */
    const char *choices; /* comma-separated */
    const char *synonym; /* the broker config it falls back to; NULL: none */
    bool synonym_has_default;
    const char *help;
};

extern const struct config_definition topic_configs[]; /* all three in order of names */
extern const size_t topic_config_count;
extern const struct config_definition group_configs[];
extern const size_t group_config_count;
extern const struct config_definition broker_configs[];
extern const size_t broker_config_count;

/* The definition, or NULL. Resource types as in the protocol; unknown types have none. */
const struct config_definition *config_definition_find(int8_t resource_type, struct str name);
/* The topic config that falls back to that broker config; NULL: none. */
const struct config_definition *config_definition_of_synonym(struct str broker_config);

/* Checks a value and gives its canonical form (" TRUE " -> "true", "+5" -> "5"). False with *ret_problem set, in Kafka's words. */
bool config_value_check(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                        struct str *ret_problem);
/* The elements of a list value, trimmed; v is in the arena. An empty text has none. */
struct str_array config_list(struct str text, struct arena *arena);
struct str config_join(struct str_array list, struct str separator, struct arena *arena);
struct str config_trim(struct str text);
bool config_number(struct str text, int64_t *ret); /* a whole number; false when it is none or does not fit */

/* Changes of one resource's configs that are being decided, before they are written. value null: the key is taken away. */
struct config_change {
    const struct config_definition *def;
    struct str name, value;
};
struct config_changes {
    struct config_change *v;
    int32_t len;
};
/* The definition with the bounds that this node's settings give. */
struct config_definition config_within_limits(const struct config_definition *def, const struct group_settings *settings);
/* The number, or the bound that it is beyond: a node's bounds may have become narrower since the value was accepted. */
int64_t config_kept_within(const struct config_definition *def, const struct group_settings *settings, int64_t number);
/* Checks every new value, then those that must fit together. Null when all is well, otherwise the problem. */
struct str config_changes_problem(const struct catalog *c, const struct group_settings *settings, int8_t resource_type, struct str resource,
                                  const struct config_changes *changes, struct arena *arena);

/* ---- read.c: what a group has set for itself ------------------------------------------------------------------------------------- */

struct config_field { /* a whole number, and where it goes */
    const char *name;
    bool wide; /* int64_t, else int32_t */
    size_t offset;
};
struct config_reader {
    struct str prefix; /* of the names that are read */
    const struct config_field *numbers;
    size_t number_count;
    void *to;
    void (*word)(void *to, struct str name, struct str value,
                 struct arena *arena); /* of the others: checked, in canonical form, in the arena */
};
/* Puts the group's own configs over what `to` holds. A stored value that is none (written by a later release, say) is as if it were not there. */
void config_read_group(const struct group_set *catalog, const struct group_settings *settings, struct str group_id,
                       const struct config_reader *reader, struct arena *arena);

/* The value in force for a topic, and the source it has. */
struct str config_effective(const struct catalog *c, const struct config_definition *def, struct str topic_value, struct arena *arena,
                            int8_t *ret_source);

#endif
