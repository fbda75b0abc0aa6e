/* properties.h: the text format of Kafka's configuration files, which is that of Java's properties.
 *
 * `key=value`, `key: value` or `key value`, one a line; lines that start with # or ! are comments; a backslash at the end of a line continues
 * it; \t \n \r \f \uXXXX and a backslash before any other character are escapes. White space around keys and values is dropped. */
#ifndef MUSTER_PROPERTIES_H
#define MUSTER_PROPERTIES_H

#include <muster/base.h>

/* Called for each entry, in order. line counts from 1 and is where the entry begins. The views lie in the arena. */
typedef void properties_fn(void *ctx, int line, struct str key, struct str value);

/* 0, or MALFORMED with *ret_line set: a NUL byte, or \u without four hexadecimal digits. */
int properties_parse(struct str text, struct arena *arena, properties_fn *each, void *ctx, int *ret_line);

#endif
