/* config_value.c: reading a config's text, checking it, and giving it the form in which it is described. No floating point: the one config with
 * a fraction is compared digit by digit. */
#include "configs.h"

#include <inttypes.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------------------------------------ */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct str config_trim(struct str text)
{
    while (text.len > 0 && is_space(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.ptr[text.len - 1])) {
        text.len--;
    }
    return text;
}

struct str_array config_list(struct str text, struct arena *arena)
{
    struct str_array list = {0};
    text = config_trim(text);
    if (text.len <= 0) {
        return list;
    }
    int32_t commas = 0;
    for (int32_t i = 0; i < text.len; i++) {
        commas += text.ptr[i] == ',' ? 1 : 0;
    }
    list.v = ARENA_NEW(arena, struct str, commas + 1);
    int32_t from = 0;
    for (int32_t i = 0; i <= text.len; i++) {
        if (i == text.len || text.ptr[i] == ',') {
            list.v[list.len++] = config_trim((struct str){text.ptr + from, i - from});
            from = i + 1;
        }
    }
    return list;
}

struct str config_join(struct str_array list, struct str separator, struct arena *arena)
{
    size_t size = 0;
    for (int32_t i = 0; i < list.len; i++) {
        size += (size_t)list.v[i].len + (size_t)separator.len;
    }
    MUSTER_CHECK(size <= INT32_MAX);
    char *dst = arena_get(arena, size);
    size_t at = 0;
    for (int32_t i = 0; i < list.len; i++) {
        if (i > 0) {
            memcpy(dst + at, separator.ptr, (size_t)separator.len);
            at += (size_t)separator.len;
        }
        if (list.v[i].len > 0) {
            memcpy(dst + at, list.v[i].ptr, (size_t)list.v[i].len);
            at += (size_t)list.v[i].len;
        }
    }
    return (struct str){dst, (int32_t)at};
}

static bool list_has(struct str_array list, struct str what)
{
    for (int32_t i = 0; i < list.len; i++) {
        if (str_eq(list.v[i], what)) {
            return true;
        }
    }
    return false;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------------- */

bool config_number(struct str text, int64_t *ret)
{
    text = config_trim(text);
    bool negative = text.len > 0 && text.ptr[0] == '-';
    int32_t at = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
    int64_t value = 0;
    if (at >= text.len) {
        return false;
    }
    for (; at < text.len; at++) {
        int digit = text.ptr[at] - '0';
        if (!is_digit(text.ptr[at]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value)) {
            return false;
        }
    }
    *ret = value;
    return true;
}

/* A decimal number as sign, digits before the point and digits behind it; leading and trailing zeros are gone. */
struct decimal {
    bool negative;
    struct str whole, fraction;
};

static bool read_decimal(struct str text, struct decimal *ret)
{
    int32_t at = 0;
    *ret = (struct decimal){.negative = text.len > 0 && text.ptr[0] == '-'};
    at += text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
    int32_t digits_from = at;
    int32_t point = -1;
    for (int32_t i = at; i < text.len; i++) {
        if (text.ptr[i] == '.' && point < 0) {
            point = i;
        } else if (!is_digit(text.ptr[i])) {
            return false;
        }
    }
    int32_t digits = text.len - digits_from - (point >= 0 ? 1 : 0);
    if (digits <= 0) {
        return false;
    }
    int32_t whole_end = point >= 0 ? point : text.len;
    while (digits_from < whole_end && text.ptr[digits_from] == '0') {
        digits_from++;
    }
    ret->whole = (struct str){text.ptr + digits_from, whole_end - digits_from};
    ret->fraction = point >= 0 ? (struct str){text.ptr + point + 1, text.len - point - 1} : STR("");
    while (ret->fraction.len > 0 && ret->fraction.ptr[ret->fraction.len - 1] == '0') {
        ret->fraction.len--;
    }
    return true;
}

static struct str decimal_text(const struct decimal *d, struct arena *arena)
{
    struct str whole = d->whole.len > 0 ? d->whole : STR("0");
    struct str fraction = d->fraction.len > 0 ? d->fraction : STR("0");
    return arena_printf(arena, "%s%.*s.%.*s", d->negative ? "-" : "", STR_ARG(whole), STR_ARG(fraction));
}

/* ---- problems, in Kafka's words ------------------------------------------------------------------------------------------------ */

static struct str invalid(const struct config_definition *def, struct str value, struct arena *arena, const char *why)
{
    return arena_printf(arena, "Invalid value %.*s for configuration %s: %s", STR_ARG(value), def->name, why);
}

static struct str below(const struct config_definition *def, struct str value, struct arena *arena)
{
    return arena_printf(arena, "Invalid value %.*s for configuration %s: Value must be at least %" PRId64, STR_ARG(value), def->name,
                        def->min);
}

static struct str above(const struct config_definition *def, struct str value, struct arena *arena)
{
    return arena_printf(arena, "Invalid value %.*s for configuration %s: Value must be no more than %" PRId64, STR_ARG(value), def->name,
                        def->max);
}

/* What the brokers' own settings allow, beyond the bounds of the config itself. */
static struct str out_of_bounds(const struct config_definition *def, struct arena *arena)
{
    if (def->low == INT64_MIN) {
        return arena_printf(arena, "%s must be less than or equal to %" PRId64, def->name, def->high);
    }
    if (def->high == INT64_MAX) {
        return arena_printf(arena, "%s must be greater than or equal to %" PRId64, def->name, def->low);
    }
    return arena_printf(arena, "%s must be in the range %" PRId64 " to %" PRId64 " inclusive.", def->name, def->low, def->high);
}

/* ---- by type -------------------------------------------------------------------------------------------------------------------- */

static bool check_integer(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                          struct str *ret_problem)
{
    int64_t value;
    bool is_int = def->type == CONFIG_INT;
    if (!config_number(text, &value) || (is_int && (value < INT32_MIN || value > INT32_MAX))) {
        *ret_problem = invalid(def, text, arena, is_int ? "Not a number of type INT" : "Not a number of type LONG");
        return false;
    }
    *ret_value = arena_printf(arena, "%" PRId64, value);
    if (def->check == CHECK_RANGE_OR_NONE && value != -1 && (value < def->min || value > def->max)) {
        *ret_problem =
            arena_printf(arena, "Invalid value %.*s for configuration %s: Value must be between %" PRId64 " and %" PRId64 " or equal to -1",
                         STR_ARG(*ret_value), def->name, def->min, def->max);
        return false;
    }
    if (def->check == CHECK_RANGE && value < def->min) {
        *ret_problem = below(def, *ret_value, arena);
        return false;
    }
    if (def->check == CHECK_RANGE && value > def->max) {
        *ret_problem = above(def, *ret_value, arena);
        return false;
    }
    if (def->bounded && (value < def->low || value > def->high)) {
        *ret_problem = out_of_bounds(def, arena);
        return false;
    }
    return true;
}

static bool check_boolean(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                          struct str *ret_problem)
{
    static const char words[2][6] = {"false", "true"};
    for (int word = 0; word < 2; word++) {
        struct str wanted = str_of(words[word]);
        int32_t same = 0;
        while (same < text.len && same < wanted.len && (text.ptr[same] | 0x20) == wanted.ptr[same]) {
            same++;
        }
        if (same == wanted.len && text.len == wanted.len) {
            *ret_value = wanted;
            return true;
        }
    }
    *ret_problem = invalid(def, text, arena, "Expected value to be either true or false");
    return false;
}

/* The bounds of a fraction are whole numbers, 0 and 1. */
static bool check_double(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                         struct str *ret_problem)
{
    struct decimal d;
    if (!read_decimal(text, &d)) {
        *ret_problem = invalid(def, text, arena, "Not a number of type DOUBLE");
        return false;
    }
    *ret_value = decimal_text(&d, arena);
    bool is_zero = d.whole.len == 0 && d.fraction.len == 0;
    if (d.negative && !is_zero) {
        *ret_problem = below(def, *ret_value, arena);
        return false;
    }
    bool is_one = str_eq(d.whole, STR("1")) && d.fraction.len == 0;
    if (d.whole.len > 0 && !is_one) {
        *ret_problem = above(def, *ret_value, arena);
        return false;
    }
    return true;
}

/* "PT1H30M", "P2D", "PT0.5S": at least one part, parts in order, a T before the first of hours, minutes and seconds. */
static bool is_duration(struct str text)
{
    static const char units[] = "DHMS";
    int32_t at = 1;
    int unit = 0;
    int parts = 0;
    bool in_time = false;
    if (text.len < 3 || text.ptr[0] != 'P') {
        return false;
    }
    while (at < text.len) {
        if (text.ptr[at] == 'T' && !in_time && at + 1 < text.len) {
            in_time = true;
            unit = unit < 1 ? 1 : unit;
            at++;
        }
        int32_t from = at;
        bool fraction = false;
        while (at < text.len && (is_digit(text.ptr[at]) || (text.ptr[at] == '.' && !fraction && at > from))) {
            fraction = fraction || text.ptr[at] == '.';
            at++;
        }
        if (at == from || at >= text.len) {
            return false;
        }
        while (unit < 4 && units[unit] != text.ptr[at]) {
            unit++;
        }
        if (unit >= 4 || (unit > 0) != in_time || (fraction && units[unit] != 'S')) {
            return false;
        }
        unit++;
        parts++;
        at++;
    }
    return parts > 0;
}

static bool starts_with(struct str text, struct str what)
{
    return text.len >= what.len && memcmp(text.ptr, what.ptr, (size_t)what.len) == 0;
}

static bool is_reset(struct str text)
{
    struct str by_duration = STR("by_duration:");
    if (str_eq(text, STR("earliest")) || str_eq(text, STR("latest"))) {
        return true;
    }
    return starts_with(text, by_duration) && is_duration((struct str){text.ptr + by_duration.len, text.len - by_duration.len});
}

static struct str not_a_choice(const struct config_definition *def, struct str value, struct arena *arena)
{
    struct str choices = config_join(config_list(str_of(def->choices), arena), STR(", "), arena);
    return arena_printf(arena, "Invalid value %.*s for configuration %s: String must be one of: %.*s", STR_ARG(value), def->name,
                        STR_ARG(choices));
}

static bool check_string(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                         struct str *ret_problem)
{
    *ret_value = text;
    if (def->check == CHECK_CHOICE && !list_has(config_list(str_of(def->choices), arena), text)) {
        *ret_problem = not_a_choice(def, text, arena);
        return false;
    }
    if (def->check == CHECK_ASSIGNOR && !list_has(config_list(str_of(def->choices), arena), text)) {
        *ret_problem = arena_printf(arena, "%s '%.*s' is not a registered task assignor. Registered assignors are: [%s].", def->name,
                                    STR_ARG(text), def->choices);
        return false;
    }
    if (def->check == CHECK_RESET && !is_reset(text)) {
        *ret_problem = arena_printf(arena,
                                    "Invalid value %.*s for configuration %s: Invalid value `%.*s` for configuration %s. The value must be "
                                    "either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
                                    STR_ARG(text), def->name, STR_ARG(text), def->name);
        return false;
    }
    if (def->check == CHECK_DLQ_TOPIC && starts_with(text, STR("__"))) {
        *ret_problem = arena_printf(arena, "%s: DLQ topic name must not start with '__'", def->name);
        return false;
    }
    return true;
}

static bool is_replica_pair(struct str text)
{
    int32_t colon = -1;
    for (int32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ':' && colon < 0) {
            colon = i;
        } else if (!is_digit(text.ptr[i])) {
            return false;
        }
    }
    return colon > 0 && colon < text.len - 1;
}

static bool check_replicas(const struct config_definition *def, struct str_array list, struct arena *arena, struct str *ret_problem)
{
    if (list.len == 1 && str_eq(list.v[0], STR("*"))) {
        return true;
    }
    for (int32_t i = 0; i < list.len; i++) {
        if (!is_replica_pair(list.v[i])) {
            struct str shown = config_join(list, STR(","), arena);
            *ret_problem =
                arena_printf(arena,
                             "Invalid value [%.*s] for configuration %s: %s must be the literal '*' or a list of replicas in the "
                             "following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
                             STR_ARG(shown), def->name, def->name);
            return false;
        }
    }
    return true;
}

static bool check_list(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                       struct str *ret_problem)
{
    struct str_array list = config_list(text, arena);
    struct str_array once = {.v = ARENA_NEW(arena, struct str, list.len)};
    struct str_array choices = def->check == CHECK_CHOICES ? config_list(str_of(def->choices), arena) : (struct str_array){0};
    struct names seen;
    names_init(&seen, arena, list.len);
    for (int32_t i = 0; i < list.len; i++) {
        if (list.v[i].len == 0) {
            *ret_problem = arena_printf(arena, "Configuration '%s' values must not be empty.", def->name);
            return false;
        }
        if (def->check == CHECK_CHOICES && !list_has(choices, list.v[i])) {
            *ret_problem = not_a_choice(def, list.v[i], arena);
            return false;
        }
        if (names_add(&seen, bytes_of_str(list.v[i]), i) < 0) {
            once.v[once.len++] = list.v[i];
        } else if (def->check == CHECK_TAGS) {
            *ret_problem = arena_printf(arena, "%s must not contain duplicate tag keys.", def->name);
            return false;
        }
    }
    *ret_value = config_join(once, STR(","), arena);
    return def->check != CHECK_REPLICAS || check_replicas(def, once, arena, ret_problem);
}

bool config_value_check(const struct config_definition *def, struct str text, struct arena *arena, struct str *ret_value,
                        struct str *ret_problem)
{
    text = config_trim(text);
    switch (def->type) {
    case CONFIG_BOOLEAN:
        return check_boolean(def, text, arena, ret_value, ret_problem);
    case CONFIG_INT:
    case CONFIG_LONG:
        return check_integer(def, text, arena, ret_value, ret_problem);
    case CONFIG_DOUBLE:
        return check_double(def, text, arena, ret_value, ret_problem);
    case CONFIG_LIST:
        return check_list(def, text, arena, ret_value, ret_problem);
    default:
        return check_string(def, text, arena, ret_value, ret_problem);
    }
}

/* ---- the values of one resource together --------------------------------------------------------------------------------------------- */

static struct str value_after(const struct catalog *c, int8_t resource_type, struct str resource, const struct config_changes *changes,
                              struct str name, struct arena *arena)
{
    const struct config_definition *def = config_definition_find(resource_type, name);
    const struct config *stored = config_find(c, resource_type, resource, name);
    struct str text = stored != NULL ? stored->value : STR_NULL;
    for (int32_t i = 0; i < changes->len; i++) {
        if (str_eq(changes->v[i].name, name)) {
            text = changes->v[i].value;
        }
    }
    struct str value = str_of(def->fallback);
    struct str problem;
    return str_is_null(text) || config_value_check(def, text, arena, &value, &problem) ? value : str_of(def->fallback);
}

static struct str topic_together(const struct catalog *c, struct str topic, const struct config_changes *changes, struct arena *arena)
{
    struct str least = value_after(c, RESOURCE_TOPIC, topic, changes, STR("min.compaction.lag.ms"), arena);
    struct str most = value_after(c, RESOURCE_TOPIC, topic, changes, STR("max.compaction.lag.ms"), arena);
    int64_t least_ms = 0;
    int64_t most_ms = 0;
    if (config_number(least, &least_ms) && config_number(most, &most_ms) && least_ms > most_ms) {
        return arena_printf(arena,
                            "conflict topic config setting min.compaction.lag.ms (%" PRId64 ") > max.compaction.lag.ms (%" PRId64 ")",
                            least_ms, most_ms);
    }
    if (str_eq(value_after(c, RESOURCE_TOPIC, topic, changes, STR("remote.storage.enable"), arena), STR("true"))) {
        return STR("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.");
    }
    return STR_NULL;
}

struct config_definition config_within_limits(const struct config_definition *def, const struct group_settings *settings)
{
    const struct streams_settings *s = &settings->streams;
    const struct consumer_settings *c = &settings->consumer;
    struct config_definition d = *def;
    switch ((enum config_limits)def->limits) {
    case LIMITS_FIXED:
        break;
    case LIMITS_CONSUMER_SESSION:
        d.low = c->min_session_timeout_ms;
        d.high = c->max_session_timeout_ms;
        break;
    case LIMITS_CONSUMER_HEARTBEAT:
        d.low = c->min_heartbeat_interval_ms;
        d.high = c->max_heartbeat_interval_ms;
        break;
    case LIMITS_CONSUMER_ASSIGNMENT:
        d.low = c->min_assignment_interval_ms;
        d.high = c->max_assignment_interval_ms;
        break;
    case LIMITS_STREAMS_SESSION:
        d.low = s->min_session_timeout_ms;
        d.high = s->max_session_timeout_ms;
        break;
    case LIMITS_STREAMS_HEARTBEAT:
        d.low = s->min_heartbeat_interval_ms;
        d.high = s->max_heartbeat_interval_ms;
        break;
    case LIMITS_STREAMS_ASSIGNMENT:
        d.low = s->min_assignment_interval_ms;
        d.high = s->max_assignment_interval_ms;
        break;
    case LIMITS_STREAMS_STANDBYS:
        d.high = s->max_standby_replicas;
        break;
    case LIMITS_STREAMS_WARMUPS:
        d.high = s->max_warmup_replicas;
        break;
    case LIMITS_STREAMS_TASK_OFFSETS:
        d.low = s->min_task_offset_interval_ms;
        break;
    }
    return d;
}

/* Settings without bounds (their largest session timeout is 0) have none. */
int64_t config_kept_within(const struct config_definition *def, const struct group_settings *settings, int64_t number)
{
    struct config_definition d = config_within_limits(def, settings);
    bool of_streams = def->limits >= LIMITS_STREAMS_SESSION;
    int32_t largest = of_streams ? settings->streams.max_session_timeout_ms : settings->consumer.max_session_timeout_ms;
    if (!d.bounded || largest == 0) {
        return number;
    }
    return number < d.low ? d.low : number > d.high ? d.high : number;
}

/* What a group will have: its own value as stored or as changed, else the node's. */
static int64_t group_number(const struct catalog *c, struct str group, const struct config_changes *changes, struct str name, int32_t nodes,
                            bool *ret_changed)
{
    const struct config *stored = config_find(c, RESOURCE_GROUP, group, name);
    struct str text = stored != NULL ? stored->value : STR_NULL;
    int64_t value = nodes;
    for (int32_t i = 0; i < changes->len; i++) {
        if (str_eq(changes->v[i].name, name)) {
            text = changes->v[i].value;
            *ret_changed = true;
        }
    }
    return config_number(text, &value) ? value : nodes;
}

/* Of two configs that a change touches the first has to be greater. */
struct pair {
    const char *greater, *smaller;
    int32_t node_greater, node_smaller; /* what a group has that sets nothing */
};

static struct str group_together(const struct catalog *c, const struct group_settings *settings, struct str group,
                                 const struct config_changes *changes, struct arena *arena)
{
    const struct pair pairs[] = {
        {"consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", settings->consumer.session_timeout_ms,
         settings->consumer.heartbeat_interval_ms},
        {"streams.session.timeout.ms", "streams.heartbeat.interval.ms", settings->streams.session_timeout_ms,
         settings->streams.heartbeat_interval_ms},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        const struct pair *p = &pairs[i];
        bool changed = false;
        int64_t greater = group_number(c, group, changes, str_of(p->greater), p->node_greater, &changed);
        int64_t smaller = group_number(c, group, changes, str_of(p->smaller), p->node_smaller, &changed);
        if (changed && greater <= smaller) {
            return arena_printf(arena, "%s must be greater than %s", p->greater, p->smaller);
        }
    }
    return STR_NULL;
}

struct str config_changes_problem(const struct catalog *c, const struct group_settings *settings, int8_t resource_type, struct str resource,
                                  const struct config_changes *changes, struct arena *arena)
{
    for (int32_t i = 0; i < changes->len; i++) {
        if (changes->v[i].def == NULL && !str_is_null(changes->v[i].value)) {
            return arena_printf(arena, "Unknown %s config name: %.*s", resource_type == RESOURCE_TOPIC ? "topic" : "group",
                                STR_ARG(changes->v[i].name));
        }
    }
    for (int32_t i = 0; i < changes->len; i++) {
        struct str value;
        struct str problem;
        const struct config_change *change = &changes->v[i];
        if (str_is_null(change->value)) {
            continue;
        }
        struct config_definition def = config_within_limits(change->def, settings);
        if (!config_value_check(&def, change->value, arena, &value, &problem)) {
            return problem;
        }
    }
    return resource_type == RESOURCE_TOPIC ? topic_together(c, resource, changes, arena)
                                           : group_together(c, settings, resource, changes, arena);
}
