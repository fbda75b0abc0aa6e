/* log_time.c: moments as people write them. Times are UTC: logs of nodes in several places are read side by side. */
#include "log.h"
#include "out.h"

#include <string.h>
#include <time.h>

enum { CLOCKS_DIFFER_MS = 1000 };

int64_t log_wall_ms(void)
{
    return out_now_ms();
}

/* "15m", "15m ago": so long before now. */
static bool parse_ago(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    int64_t number;
    size_t digits = strspn(text, "0123456789");
    char head[20];
    if (digits == 0 || digits >= sizeof(head)) {
        return false;
    }
    memcpy(head, text, digits);
    head[digits] = '\0';
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t len = strlen(units[i].unit);
        const char *rest = text + digits + len;
        if (strncmp(text + digits, units[i].unit, len) == 0 && (rest[0] == '\0' || strcmp(rest, " ago") == 0)) {
            bool fits = cli_parse_number(head, 0, INT64_C(4000000000000) / units[i].ms, &number);
            *ret_ms = fits ? now_ms - number * units[i].ms : 0;
            return fits;
        }
    }
    return false;
}

/* ".5", ".345": behind the seconds. NULL: no digits. */
static const char *parse_fraction(const char *at, int64_t *ret_ms)
{
    int64_t unit = 100;
    *ret_ms = 0;
    if (*at != '.' && *at != ',') {
        return at;
    }
    size_t digits = strspn(++at, "0123456789");
    for (size_t i = 0; i < digits; i++, unit /= 10) {
        *ret_ms += (at[i] - '0') * unit;
    }
    return digits > 0 ? at + digits : NULL;
}

static bool parse_zone(const char *at, int64_t *ret_ms)
{
    int64_t hours, minutes;
    char h[3] = {0}, m[3] = {0};
    *ret_ms = 0;
    if (*at == '\0' || strcmp(at, "Z") == 0) {
        return true;
    }
    if ((*at != '+' && *at != '-') || strlen(at) != 6 || at[3] != ':') {
        return false;
    }
    memcpy(h, at + 1, 2);
    memcpy(m, at + 4, 2);
    if (!cli_parse_number(h, 0, 23, &hours) || !cli_parse_number(m, 0, 59, &minutes)) {
        return false;
    }
    *ret_ms = (*at == '+' ? 1 : -1) * (hours * 60 + minutes) * 60000;
    return true;
}

static bool parse_date(const char *text, int64_t *ret_ms)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct tm tm = {0};
        int64_t fraction_ms, zone_ms;
        const char *rest = strptime(text, forms[i], &tm);
        if (rest != NULL && (rest = parse_fraction(rest, &fraction_ms)) != NULL && parse_zone(rest, &zone_ms)) {
            *ret_ms = (int64_t)timegm(&tm) * 1000 + fraction_ms - zone_ms;
            return true;
        }
    }
    return false;
}

bool log_time_parse(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    if (strcmp(text, "now") == 0) {
        *ret_ms = now_ms;
        return true;
    }
    return parse_ago(text, now_ms, ret_ms) || parse_date(text, ret_ms);
}

bool log_time_take(struct cli *cli, const char *name, int64_t *ret_ms)
{
    const char *text = cli_text(cli, name);
    if (text == NULL || log_time_parse(text, log_wall_ms(), ret_ms)) {
        return true;
    }
    cli_say(cli, "--%s takes a time, 2026-11-30T20:15:00Z (UTC also without the Z) or 90s, 15m, 6h, 2d ago, not '%s'", name, text);
    return false;
}

bool log_time_to_come(int64_t wall_ms)
{
    return wall_ms > log_wall_ms() + CLOCKS_DIFFER_MS;
}

bool log_moment_take(struct cli *cli, struct log_moment *ret)
{
    const char *text = cli_text(cli, "at");
    *ret = (struct log_moment){.index = INT64_MAX};
    if (text == NULL) {
        return true;
    }
    ret->given = true;
    if (strncmp(text, "clock:", 6) == 0) {
        ret->by_clock = cli_parse_number(text + 6, 0, INT64_MAX, &ret->clock_ms);
        if (!ret->by_clock) {
            cli_say(cli, "--at clock:MS takes milliseconds of the shard's clock, a whole number, not '%s'", text + 6);
        }
        return ret->by_clock;
    }
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0') {
        return cli_number(cli, "at", 1, INT64_MAX, INT64_MAX, &ret->index);
    }
    ret->by_time = true;
    if (!log_time_take(cli, "at", &ret->wall_ms)) {
        return false;
    }
    if (log_time_to_come(ret->wall_ms)) {
        cli_say(cli, "--at: that is in the future; what is shown is the end of the log");
    }
    return true;
}
