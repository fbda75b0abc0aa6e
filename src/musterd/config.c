#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config_internal.h"

#define NONE     CONFIG_NONE
#define REQUIRED CONFIG_REQUIRED
#define DYNAMIC  CONFIG_DYNAMIC
#define FORMED   CONFIG_FORMED
#define ANY      NULL

#define AT(field)                    offsetof(struct config, field)
#define UNLESS_REQUIRED(flags, text) (((flags)&CONFIG_REQUIRED) != 0 ? NULL : (text))
#define NUMBER(kind, field, key, default, min, max, flags, help)                                                                           \
    {key, kind, flags, AT(field), UNLESS_REQUIRED(flags, #default), min, max, NULL, help},

const struct config_row config_keys[] = {
#define BOOL(field, key, default, flags, help)            {key, CONFIG_BOOL, flags, AT(field), #default, 0, 1, "true|false", help},
#define INT16(field, key, default, min, max, flags, help) NUMBER(CONFIG_INT16, field, key, default, min, max, flags, help)
#define INT32(field, key, default, min, max, flags, help) NUMBER(CONFIG_INT32, field, key, default, min, max, flags, help)
#define INT64(field, key, default, min, max, flags, help) NUMBER(CONFIG_INT64, field, key, default, min, max, flags, help)
#define STRING(field, key, default, flags, help)          {key, CONFIG_STRING, flags, AT(field), UNLESS_REQUIRED(flags, default), 0, 0, NULL, help},
#define LIST(field, key, default, choices, flags, help)                                                                                    \
    {key, CONFIG_LIST, flags, AT(field), UNLESS_REQUIRED(flags, default), 0, 0, choices, help},
#define ENUM(field, key, default, choices, flags, help) {key, CONFIG_ENUM, flags, AT(field), default, 0, 0, choices, help},
#include "config_table.h"
};
const size_t config_key_count = COUNT_OF(config_keys);

/* A section's name counts as the number of the key that follows it: KEY_x go on from one below. */
enum {
#define SECTION(name, title)                              SECTION_##name, BEFORE_##name = SECTION_##name - 1,
#define BOOL(field, key, default, flags, help)            KEY_##field,
#define INT16(field, key, default, min, max, flags, help) KEY_##field,
#define INT32(field, key, default, min, max, flags, help) KEY_##field,
#define INT64(field, key, default, min, max, flags, help) KEY_##field,
#define STRING(field, key, default, flags, help)          KEY_##field,
#define LIST(field, key, default, choices, flags, help)   KEY_##field,
#define ENUM(field, key, default, choices, flags, help)   KEY_##field,
#include "config_table.h"
};

const struct config_section config_sections[] = {
#define SECTION(name, title) {title, SECTION_##name},
#include "config_table.h"
};
const size_t config_section_count = COUNT_OF(config_sections);

const struct config_row *config_row_find(struct str name)
{
    for (size_t i = 0; i < config_key_count; i++) {
        if (str_eq(name, str_of(config_keys[i].name))) {
            return &config_keys[i];
        }
    }
    return NULL;
}

void config_complain(struct buf *errors, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    if (len < 0) {
        len = 0;
    } else if ((size_t)len > sizeof(line) - 2) {
        len = (int)sizeof(line) - 2;
    }
    text_tame(line, (size_t)len);
    line[len] = '\n';
    (void)buf_put(errors, line, (size_t)len + 1); /* a full buffer has said enough */
}

struct str config_trim_text(struct str s)
{
    while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

struct str config_choice(const char *choices, int32_t index)
{
    const char *start = choices;
    for (int32_t i = 0; i < index && start != NULL; i++) {
        const char *bar = strchr(start, '|');
        start = bar != NULL ? bar + 1 : NULL;
    }
    if (start == NULL) {
        return STR_NULL;
    }
    return (struct str){start, (int32_t)strcspn(start, "|")};
}

/* The number of the choice, or -1. */
static int32_t choice_index(const char *choices, struct str text)
{
    for (int32_t i = 0;; i++) {
        struct str choice = config_choice(choices, i);
        if (choice.len < 0) {
            return -1;
        }
        if (choice.len == text.len && strncasecmp(choice.ptr, text.ptr, (size_t)text.len) == 0) {
            return i;
        }
    }
}

void config_each_entry(const char *list, void (*each)(void *ctx, struct str entry), void *ctx)
{
    const char *p = list;
    while (p != NULL && *p != '\0') {
        size_t len = strcspn(p, ",");
        struct str entry = config_trim_text((struct str){p, (int32_t)len});
        if (entry.len > 0) {
            each(ctx, entry);
        }
        p = p[len] == ',' ? p + len + 1 : NULL;
    }
}

static int refuse_choice(const struct config_row *key, struct str text, struct buf *errors)
{
    config_complain(errors, "%s: '%.*s' is not one of %s", key->name, STR_ARG(text), key->choices);
    return MUSTER_E_INVALID;
}

static int parse_number(const struct config_row *key, struct str text, int64_t *ret, struct buf *errors)
{
    char digits[32];
    char *end = digits;
    int64_t value = 0;
    errno = 0;
    if (text.len > 0 && (size_t)text.len < sizeof(digits)) {
        memcpy(digits, text.ptr, (size_t)text.len);
        digits[text.len] = '\0';
        value = strtoll(digits, &end, 10);
    }
    if (end == digits || *end != '\0') {
        config_complain(errors, "%s: '%.*s' is not a number", key->name, STR_ARG(text));
        return MUSTER_E_INVALID;
    }
    if (errno == ERANGE || value < key->min || value > key->max) {
        config_complain(errors, "%s: %.*s is out of range, which is %" PRId64 " to %" PRId64, key->name, STR_ARG(text), key->min, key->max);
        return MUSTER_E_INVALID;
    }
    *ret = value;
    return 0;
}

/* What a list may hold, checked entry by entry. */
struct list_check {
    const struct config_row *key;
    struct buf *errors;
    int rc;
};

/* An entry is kept as the choice is spelt: whoever looks for it later need not care for its case. */
static void check_entry(void *ctx, struct str entry)
{
    struct list_check *check = ctx;
    int32_t index = choice_index(check->key->choices, entry);
    if (index < 0) {
        check->rc = refuse_choice(check->key, entry, check->errors);
        return;
    }
    memcpy((char *)(uintptr_t)entry.ptr, config_choice(check->key->choices, index).ptr, (size_t)entry.len); /* of the config's own copy */
}

static int set_text(struct config *c, const struct config_row *key, struct str text, struct buf *errors)
{
    char *copy = arena_get(&c->memory, (size_t)text.len + 1); /* zeroed, so it ends by itself */
    memcpy(copy, text.ptr, (size_t)text.len);
    if (key->kind == CONFIG_LIST && key->choices != NULL) {
        struct list_check check = {key, errors, 0};
        config_each_entry(copy, check_entry, &check);
        if (check.rc < 0) {
            return check.rc;
        }
    }
    memcpy((char *)c + key->offset, &copy, sizeof(copy));
    return 0;
}

static int set_choice(struct config *c, const struct config_row *key, struct str text, struct buf *errors)
{
    int32_t index = choice_index(key->choices, text);
    if (index < 0) {
        return refuse_choice(key, text, errors);
    }
    if (key->kind == CONFIG_BOOL) {
        *(bool *)((char *)c + key->offset) = index == 0;
    } else {
        *(int32_t *)(void *)((char *)c + key->offset) = index;
    }
    return 0;
}

static int set_number(struct config *c, const struct config_row *key, struct str text, struct buf *errors)
{
    void *field = (char *)c + key->offset;
    int64_t value = 0;
    int rc = parse_number(key, text, &value, errors);
    if (rc < 0) {
        return rc;
    }
    if (key->kind == CONFIG_INT16) {
        *(int16_t *)field = (int16_t)value;
    } else if (key->kind == CONFIG_INT32) {
        *(int32_t *)field = (int32_t)value;
    } else {
        *(int64_t *)field = value;
    }
    return 0;
}

static int set_key(struct config *c, const struct config_row *key, struct str text, struct buf *errors)
{
    text = config_trim_text(text);
    switch (key->kind) {
    case CONFIG_BOOL:
    case CONFIG_ENUM:
        return set_choice(c, key, text, errors);
    case CONFIG_STRING:
    case CONFIG_LIST:
        return set_text(c, key, text, errors);
    default:
        return set_number(c, key, text, errors);
    }
}

int config_set(struct config *c, struct str name, struct str text, struct buf *errors)
{
    const struct config_row *key = config_row_find(name);
    if (key == NULL) {
        struct arena scratch;
        arena_init(&scratch, 0);
        struct str hint = config_hint(name, &scratch);
        config_complain(errors, "unknown key '%.*s'%s%.*s", STR_ARG(name), hint.len > 0 ? ": " : "", STR_ARG(hint));
        arena_fini(&scratch);
        return MUSTER_E_INVALID;
    }
    return set_key(c, key, text, errors);
}

void config_init(struct config *c)
{
    struct buf errors;
    memset(c, 0, sizeof(*c));
    arena_init(&c->memory, 0);
    buf_init(&errors, 0);
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_row *key = &config_keys[i];
        bool is_text = key->kind == CONFIG_STRING || key->kind == CONFIG_LIST;
        if (key->default_text != NULL || is_text) {
            MUSTER_CHECK(set_key(c, key, str_of(key->default_text != NULL ? key->default_text : ""), &errors) == 0);
        }
    }
    buf_fini(&errors);
}

void config_fini(struct config *c)
{
    arena_fini(&c->memory);
}

struct str config_text(const struct config *c, const struct config_row *key, struct arena *arena)
{
    const void *field = (const char *)c + key->offset;
    const char *text;
    switch (key->kind) {
    case CONFIG_BOOL:
        return *(const bool *)field ? STR("true") : STR("false");
    case CONFIG_INT16:
        return arena_printf(arena, "%" PRId16, *(const int16_t *)field);
    case CONFIG_INT32:
        return arena_printf(arena, "%" PRId32, *(const int32_t *)field);
    case CONFIG_INT64:
        return arena_printf(arena, "%" PRId64, *(const int64_t *)field);
    case CONFIG_ENUM:
        return config_choice(key->choices, *(const int32_t *)field);
    case CONFIG_STRING:
    case CONFIG_LIST:
        break;
    }
    memcpy(&text, field, sizeof(text));
    return str_of(text);
}

bool config_is_default(const struct config *c, const struct config_row *key)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    bool same = key->default_text != NULL && str_eq(config_text(c, key, &scratch), str_of(key->default_text));
    arena_fini(&scratch);
    return same;
}

void config_dump(const struct config *c, struct buf *out)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    for (size_t i = 0; i < config_key_count; i++) {
        struct str line = arena_printf(&scratch, "%s=%.*s\n", config_keys[i].name, STR_ARG(config_text(c, &config_keys[i], &scratch)));
        (void)buf_put(out, line.ptr, (size_t)line.len);
    }
    arena_fini(&scratch);
}
