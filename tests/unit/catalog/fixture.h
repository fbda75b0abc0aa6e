/* fixture.h: a world whose set has a catalogue and three registered nodes; answers come back as lines of "name error message". */
#ifndef MUSTER_TESTS_CATALOG_FIXTURE_H
#define MUSTER_TESTS_CATALOG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group_world.h"

struct fixture {
    struct world world;
    struct arena arena; /* of what tests build; cleared at the end */
    char answer[65536];
    char rule[128];
    int64_t records;
    int32_t reachable[64]; /* by the leader, for changes of members */
    int32_t reachable_count;
    bool founders_awaited; /* members are founded once all have registered; else as they are */
};

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Decides and applies; the answer as text. The request must lie in memory that lives on. */
const char *ask(struct fixture *f, enum group_op_kind kind, int16_t version, const void *request);

typedef struct create_topics_request_creatable_topic new_topic;
/* The topics named in a request of version 4; partitions/replicas are shown when it worked. */
const char *create(struct fixture *f, const new_topic *topics, int32_t count);
const char *create_one(struct fixture *f, const char *name, int32_t partitions, int16_t replication_factor);
/* One config, operation 0 set, 1 delete, 2 append, 3 subtract; value NULL is null. */
const char *alter(struct fixture *f, int8_t type, const char *resource, const char *name, int8_t operation, const char *value);
/* "name=value(source) name=...": the configs asked for, synonyms in brackets; keys NULL: all. */
const char *describe(struct fixture *f, int8_t type, const char *resource, const char *keys, bool synonyms);
const char *describe_on_node(struct fixture *f, const char *resource, const char *keys);

bool rule_was_hit(const char *rule);
void note_rule(const char *rule); /* of what a test decides by itself */

#endif
