/* words.h: reading a command, for the files that have commands. */
#ifndef MUSTER_TESTS_GOLDEN_WORDS_H
#define MUSTER_TESTS_GOLDEN_WORDS_H

#include "commands.h"

enum { MAX_WORDS = 64 };

struct words {
    struct arena *arena;
    char *word[MAX_WORDS];
    int count;
    char client[32];
};

_Noreturn void bad_command(const char *what, const char *word);
const char *value_of(const struct words *w, const char *key); /* NULL: it is not there */
struct str str_value(const struct words *w, const char *key, const char *otherwise);
int64_t number_value(const struct words *w, const char *key, int64_t otherwise);
int64_t ms_of(const char *text); /* 5, 5ms, 5s ... */
int64_t ms_value(const struct words *w, const char *key, const char *otherwise);
/* Its own copy, to be taken apart. */
char *copy_value(const struct words *w, const char *key, const char *otherwise, struct arena *arena);
/* The next part of a list; parts are separated by the character. NULL at the end. */
char *next_part(char **rest, const char *by);
int32_t count_parts(const char *list, char by);
/* "name:content"; the content may hold colons itself. */
char *cut_name(char *part);
/* A copy in which a-#12 has become a-00000000-0000-0000-0000-00000000000c. */
char *expand_ids(struct arena *arena, const char *text);
struct str own(struct world_request *r, struct str s); /* a copy in the request's arena */
/* A request of the command's client, to be filled in. */
struct world_request *request_new(const struct words *w, enum group_op_kind kind, const struct wire_msg *answer, int16_t version);
void request_hold(struct world_request *r, const struct words *w); /* whether its answer may be held: told=, held= */

/* catalog.c */
void command_create_topics(struct golden *g, const struct words *w);
void command_create_partitions(struct golden *g, const struct words *w);
void command_delete_topics(struct golden *g, const struct words *w);
void command_alter_configs(struct golden *g, const struct words *w);
void command_producer_id(struct golden *g, const struct words *w);
/* members.c */
void command_change_member(struct golden *g, const struct words *w);
void command_member_step(struct golden *g, const struct words *w);
void command_register_node(struct golden *g, const struct words *w);
void command_upgrade(struct golden *g, const struct words *w);
/* settings.c */
void command_set(struct golden *g, const struct words *w);
/* streams.c */
void command_streams(struct golden *g, const struct words *w);
void command_config(struct golden *g, const struct words *w);
void command_begin(struct golden *g, const struct words *w);
void command_finish(struct golden *g, const struct words *w);
void command_created(struct golden *g, const struct words *w);
struct streams_group_heartbeat_request_topology *words_topology(char *text, struct arena *arena); /* in that file's language */

/* consumer.c */
void command_consumer(struct golden *g, const struct words *w);
void command_consumer_describe(struct golden *g, const struct words *w);

/* streams_out.c */
void command_initialize(struct golden *g, const struct words *w);
void command_made(struct golden *g, const struct words *w);
void command_streams_describe(struct golden *g, const struct words *w);
void command_streams_topology(struct golden *g, const struct words *w);
void command_description(struct golden *g, const struct words *w);

/* history.c */
void command_level(struct golden *g, const struct words *w);
void command_cursor(struct golden *g, const struct words *w);
void command_history(struct golden *g, const struct words *w);

#endif
