/* kafka_names.c: options of kafka-consumer-groups, kafka-streams-groups, kafka-topics and kafka-configs that there are not here, and what is there instead. */
#include "help.h"

#include <string.h>

/* noun NULL: of all. */
const struct cli_left_out cli_left_out[] = {
    {NULL, "list", "it is a verb, as in 'muster groups list'"},
    {NULL, "describe", "it is a verb, as in 'muster groups describe GROUP'; 'muster configs list' for configs"},
    {NULL, "create", "it is a verb: muster topics create TOPIC"},
    {NULL, "delete", "it is a verb, as in 'muster groups delete GROUP'"},
    {NULL, "reset-offsets", "it is a command of its own: muster offsets reset GROUP"},
    {NULL, "delete-offsets", "it is a command of its own: muster offsets delete GROUP --topic TOPIC"},
    {NULL, "version", "muster --version"},
    {NULL, "command-config",
     "there is nothing in a file of client properties that muster could use, its connections are plain; "
     "clusters have names in its own file (muster config list --help)"},
    {NULL, "input-topic", "--topic TOPIC[:P,P]"},
    {NULL, "all-input-topics", "--all-topics, of 'muster offsets reset'"},
    {NULL, "delete-internal-topic", "muster topics delete TOPIC"},
    {NULL, "delete-all-internal-topics", "muster topics delete TOPIC...; 'muster streams topology GROUP' names them"},
    {"groups", "validate-regex", "a regular expression is checked by the cluster when a member subscribes with it"},
    {"topics", "alter", "partitions are added by kafka-topics.sh --alter, configs are set by 'muster configs set topics TOPIC KEY=VALUE'"},
    {"topics", "topic-id", "topics are named here; 'muster topics list' shows their ids"},
    {"topics", "delete-config", "muster configs unset topics TOPIC KEY"},
    {"topics", "replica-assignment", "topics have no replicas here: there are no messages in them"},
    {"topics", "under-replicated-partitions", "topics have no replicas here: there are no messages in them"},
    {"topics", "under-min-isr-partitions", "topics have no replicas here: there are no messages in them"},
    {"topics", "at-min-isr-partitions", "topics have no replicas here: there are no messages in them"},
    {"topics", "unavailable-partitions", "'muster cluster status' shows what has no leader"},
    {"topics", "topics-with-overrides", "'muster topics describe' shows the configs that are set"},
    {"topics", "partition-size-limit-per-response", "all partitions come in one answer"},
    {"configs", "alter", "it is two verbs: muster configs set, muster configs unset"},
    {"configs", "add-config", "muster configs set topics|brokers|groups NAME KEY=VALUE..."},
    {"configs", "add-config-file", "muster configs set topics|brokers|groups NAME KEY=VALUE..."},
    {"configs", "delete-config", "muster configs unset topics|brokers|groups NAME KEY..."},
    {"configs", "entity-default", "the name 'default' are all nodes: muster configs list brokers default"},
    {"configs", "topic", "two operands name it: topics TOPIC"},
    {"configs", "group", "two operands name it: groups GROUP"},
    {"configs", "broker", "two operands name it: brokers ID"},
    {"configs", "broker-defaults", "two operands name it: brokers default"},
    {"configs", "broker-logger", "nodes have no loggers that can be set"},
    {"configs", "client", "there are no quotas here"},
    {"configs", "client-defaults", "there are no quotas here"},
    {"configs", "user", "there are no users and no quotas here"},
    {"configs", "user-defaults", "there are no users and no quotas here"},
    {"configs", "ip", "there are no quotas here"},
    {"configs", "ip-defaults", "there are no quotas here"},
    {"configs", "client-metrics", "there are no subscriptions of client metrics here"},
    {"configs", "bootstrap-controller", "every node is both: --bootstrap-server"},
};
const size_t cli_left_out_count = COUNT_OF(cli_left_out);

const char *kafka_option_instead(const char *noun, struct str name)
{
    for (size_t i = 0; i < COUNT_OF(cli_left_out); i++) {
        const struct cli_left_out *one = &cli_left_out[i];
        if (str_eq(str_of(one->name), name) && (one->noun == NULL || strcmp(one->noun, noun) == 0)) {
            return one->instead;
        }
    }
    return NULL;
}

/* Verbs that are looked for where they are not. */
const char *kafka_verb_instead(const char *noun, const char *verb)
{
    static const struct {
        const char *noun, *verb, *instead;
    } verbs[] = {
        {"groups", "reset-offsets", "offsets reset"},
        {"groups", "delete-offsets", "offsets delete"},
        {"groups", "lag", "groups describe"},
        {"config", "set", "configs set"},
        {"config", "get", "configs get"},
        {"config", "unset", "configs unset"},
    };
    for (size_t i = 0; i < COUNT_OF(verbs) && noun != NULL; i++) {
        if (strcmp(verbs[i].noun, noun) == 0 && strcmp(verbs[i].verb, verb) == 0) {
            return verbs[i].instead;
        }
    }
    return NULL;
}
