/* regex.h: regular expressions over topic names, in RE2's syntax (the one that Kafka's protocol names), matched against whole names. Their characters
 * are bytes, for the names of topics are ASCII.
 *
 * Time is linear in pattern and name, memory is bounded, and the answer depends on nothing but the two: a node, the simulator and a replay find the
 * same. The library that does the work stays behind these two functions. */
#ifndef MUSTER_REGEX_H
#define MUSTER_REGEX_H

#include <muster/base.h>

enum {
    REGEX_MAX_BYTES = 4096,    /* of a pattern */
    REGEX_MAX_PROGRAM = 1000, /* instructions it may compile to: a counted repetition can make a short pattern long, and the time for a name grows with it */
    REGEX_WHY_BYTES = 160
};

/* The instructions that the pattern compiles to, or why it cannot be used, in words: INVALID when it is none, LIMIT when it is too long or too large.
 * ret_why may be NULL. */
int regex_check(struct str pattern, char ret_why[REGEX_WHY_BYTES]);

/* Says of each name whether the pattern matches all of it. 0, or what regex_check() would say against the pattern; then nothing matches. */
int regex_match(struct str pattern, const struct str *names, size_t count, bool *ret_matches);

#endif
