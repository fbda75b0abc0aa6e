#include "when.h"

#include <stdlib.h>

enum { DAY_MS = 24 * 3600 * 1000 };

static bool mark(const char **at, char wanted)
{
    bool there = **at == wanted;
    *at += there;
    return there;
}

/* "12H" adds 12 times unit_ms. */
static bool part(const char **at, char letter, int64_t unit_ms, int64_t *sum, int *parts)
{
    char *end;
    if (**at < '0' || **at > '9') {
        return true;
    }
    double value = strtod(*at, &end);
    if (*end != letter) {
        return true; /* of another unit */
    }
    *at = end + 1;
    *sum += (int64_t)(value * (double)unit_ms);
    (*parts)++;
    return value < 1e9;
}

bool when_parse_duration(const char *text, int64_t *ret_ms)
{
    const char *at = text;
    int parts = 0;
    int64_t sum = 0;
    if (!mark(&at, 'P') || !part(&at, 'D', DAY_MS, &sum, &parts)) {
        return false;
    }
    if (mark(&at, 'T')) {
        int before = parts;
        if (!part(&at, 'H', 3600000, &sum, &parts) || !part(&at, 'M', 60000, &sum, &parts) || !part(&at, 'S', 1000, &sum, &parts) ||
            parts == before) {
            return false;
        }
    }
    *ret_ms = sum;
    return parts > 0 && *at == '\0';
}
