/* rules.c: the texts of the rules. */
#include "rules.h"

const char *const catalog_rules[CATALOG_RULE_COUNT] = {
#define X(name, text) text,
    CATALOG_RULES(X)
#undef X
};
