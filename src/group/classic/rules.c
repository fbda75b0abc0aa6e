/* rules.c: the texts of the rules. */
#include "rules.h"

const char *const classic_rules[CLASSIC_RULE_COUNT] = {
#define X(name, text) text,
    CLASSIC_RULES(X)
#undef X
};
