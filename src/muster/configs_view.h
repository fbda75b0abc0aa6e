/* configs_view.h: configs of topics, brokers and groups, as the cluster tells and takes them. */
#ifndef MUSTER_CLI_CONFIGS_VIEW_H
#define MUSTER_CLI_CONFIGS_VIEW_H

#include "client.h"

/* Kafka's numbers of what has configs. */
enum config_resource { CONFIG_OF_TOPIC = 2, CONFIG_OF_BROKER = 4, CONFIG_OF_GROUP = 32 };

/* DescribeConfigs of one resource; name empty: of all brokers; key NULL: of all that are set. 0, NOT_FOUND (no such broker), or as client_any_call. The answer's own error is the caller's. */
int configs_fetch(struct client *c, enum config_resource type, struct str name, const struct str *key, struct arena *arena,
                  const struct describe_configs_response_result **ret);
/* The value of one key; null: it is not told. */
struct str configs_value(const struct describe_configs_response_result *configs, struct str key);

/* IncrementalAlterConfigs of one resource: a null value takes the key's config away. 0, or as configs_fetch; *ret_error is the answer's own. */
struct config_change {
    struct str key, value;
};
int configs_alter(struct client *c, enum config_resource type, struct str name, const struct config_change *v, int count,
                  struct arena *arena, int16_t *ret_error, struct str *ret_message);

#endif
