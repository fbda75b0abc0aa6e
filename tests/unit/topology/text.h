/* text.h: topologies and topics as a line of text, for the tests of this folder.
 *
 * Subtopologies are separated by " ; ". Each is its id ("" for the empty one) and then any of
 *     src=a,b  rx=a.*,b.*  sink=r,s  cl=c,d  rep=r,s:3  cop=SOURCES/REGEXES/REPARTITIONS (indexes, separated by points; repeatable)
 * A topic of cl and rep may go on as NAME:PARTITIONS:REPLICATION:KEY=VALUE&KEY=VALUE. */
#ifndef MUSTER_TESTS_UNIT_TOPOLOGY_TEXT_H
#define MUSTER_TESTS_UNIT_TOPOLOGY_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "streams/streams.h"

struct streams_group_heartbeat_request *heartbeat_of_text(const char *text, struct arena *arena);
const topology *topology_of_text(const char *text, struct arena *arena); /* epoch 0 */
struct str part_of(struct str *rest, const char *separator);             /* up to the separator, which is skipped; null at the end */
int32_t number_of(struct str text);

/* A handful of topics in the order of their names. */
enum { TEXT_TOPICS = 256 };
struct text_topics {
    struct topic_view v[TEXT_TOPICS];
    int32_t len;
    uint16_t ids; /* made so far */
    struct topics topics;
};
void topics_init(struct text_topics *t);
void topics_of_text(struct text_topics *t, struct str text);                      /* "a=4,b=2" */
void topics_put(struct text_topics *t, struct str name, int32_t partitions);      /* made, grown; 0: deleted; the name is borrowed */
void topics_create(struct text_topics *t, const struct create_topics_request *r); /* as the catalogue would */

int run_check_tests(void);
int run_configs_tests(void);
int run_form_tests(void);
int run_kafka_tests(const char *path);
int run_random_tests(void);
int run_resolve_tests(void);

#endif
