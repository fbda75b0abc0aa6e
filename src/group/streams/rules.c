/* rules.c: the texts of the rules. */
#include "rules.h"

const char *const streams_rules[STREAMS_RULE_COUNT] = {
#define X(name, text) text,
    STREAMS_RULES(X)
#undef X
};
