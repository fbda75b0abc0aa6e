/* rules.c: the texts of the rules. */
#include "rules.h"

const char *const offsets_rules[OFFSETS_RULE_COUNT] = {
#define X(name, text) text,
    OFFSETS_RULES(X)
#undef X
};
