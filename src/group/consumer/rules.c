/* rules.c: the texts of the rules. */
#include "rules.h"

const char *const consumer_rules[CONSUMER_RULE_COUNT] = {
#define X(name, text) text,
    CONSUMER_RULES(X)
#undef X
};
