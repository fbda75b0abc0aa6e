/* Reading a configuration file, and helping those whose file is not right yet. */
#include <muster/closest.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config_internal.h"
#include "properties.h"

enum { FILE_MAX_BYTES = 1 << 20 };

/* ---- hints for unknown keys --------------------------------------------------------------------------------------------------------- */

/* Keys of Kafka's that have another name here, and families of keys that have no meaning or are served later. A name that ends in '*' stands
 * for all that begin so. */
static const struct {
    const char *name;
    const char *hint;
} foreign_keys[] = {
    {"broker.id", "it is node.id here"},
    {"log.dir", "it is muster.data.dir here"},
    {"log.dirs", "it is muster.data.dir here"},
    {"controller.quorum.voters", "it is muster.peers here"},
    {"controller.quorum.bootstrap.servers", "it is muster.peers here"},
    {"group.share.*", "share groups are not served"},
    {"transaction.*", "transactions are not served yet"},
    {"process.roles", "every node here does everything"},
    {"log.*", "topics here hold no data"},
    {"replica.*", "topics here hold no data"},
    {"zookeeper.*", "there is none here"},
};

static bool is_foreign(struct str name, const char *pattern)
{
    size_t len = strlen(pattern);
    if (pattern[len - 1] != '*') {
        return str_eq(name, str_of(pattern));
    }
    return (size_t)name.len >= len - 1 && memcmp(name.ptr, pattern, len - 1) == 0;
}

struct str config_hint(struct str unknown, struct arena *arena)
{
    struct closest c;
    closest_init(&c, unknown, unknown.len < 60 ? unknown.len / 4 : 15);
    for (size_t i = 0; i < config_key_count; i++) {
        closest_offer(&c, str_of(config_keys[i].name));
    }
    if (!str_is_null(c.found) && c.distance <= 2) {
        return arena_printf(arena, "did you mean '%.*s'?", STR_ARG(c.found));
    }
    for (size_t i = 0; i < COUNT_OF(foreign_keys); i++) {
        if (is_foreign(unknown, foreign_keys[i].name)) {
            return str_of(foreign_keys[i].hint);
        }
    }
    if (!str_is_null(c.found)) {
        return arena_printf(arena, "did you mean '%.*s'?", STR_ARG(c.found));
    }
    return STR("");
}

/* ---- files ---------------------------------------------------------------------------------------------------------------------------- */

struct loader {
    struct config *config;
    const char *path;
    struct buf *errors;
    int *lines; /* for each key the line that set it; 0: none yet */
    int rc;
};

/* Errors of the layers below know nothing of files: they are collected aside and get their place put before them. */
static void set_entry(void *ctx, int line, struct str name, struct str value)
{
    struct loader *loader = ctx;
    const struct config_row *key = config_row_find(name);
    struct buf why;
    if (key != NULL && loader->lines[key - config_keys] != 0) {
        config_complain(loader->errors, "%s:%d: %s: was already set in line %d", loader->path, line, key->name,
                        loader->lines[key - config_keys]);
        loader->rc = MUSTER_E_INVALID;
        return;
    }
    if (key != NULL) {
        loader->lines[key - config_keys] = line;
    }
    buf_init(&why, 0);
    if (config_set(loader->config, name, value, &why) < 0) {
        config_complain(loader->errors, "%s:%d: %.*s", loader->path, line, (int)why.len - 1, (const char *)why.ptr);
        loader->rc = MUSTER_E_INVALID;
    }
    buf_fini(&why);
}

int config_parse(struct config *c, const char *path, struct str text, struct buf *errors)
{
    struct arena arena;
    int line = 0;
    arena_init(&arena, 0);
    struct loader loader = {c, path, errors, ARENA_NEW(&arena, int, config_key_count), 0};
    int rc = properties_parse(text, &arena, set_entry, &loader, &line);
    if (rc < 0) {
        config_complain(errors, "%s:%d: not a properties file: a NUL byte, or \\u without four hexadecimal digits", path, line);
        loader.rc = MUSTER_E_INVALID;
    }
    arena_fini(&arena);
    return loader.rc;
}

/* Reads a whole file into `text`. */
static int read_file(const char *path, struct buf *text, struct buf *errors)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        config_complain(errors, "%s: %s", path, strerror(errno));
        return MUSTER_E_IO;
    }
    int rc = 0;
    size_t got = 1;
    while (rc == 0 && got > 0) {
        char piece[4096];
        got = fread(piece, 1, sizeof(piece), file);
        rc = buf_put(text, piece, got);
    }
    if (ferror(file)) {
        config_complain(errors, "%s: %s", path, strerror(errno));
        rc = MUSTER_E_IO;
    } else if (rc < 0) {
        config_complain(errors, "%s: is longer than %d bytes", path, (int)FILE_MAX_BYTES);
        rc = MUSTER_E_INVALID;
    }
    fclose(file);
    return rc;
}

/* Validation speaks of the whole file. */
static int validate_file(const struct config *c, const char *path, struct buf *errors)
{
    struct buf why;
    buf_init(&why, 0);
    int rc = config_validate(c, &why);
    const char *p = (const char *)why.ptr;
    size_t left = why.len;
    while (left > 0) {
        size_t len = (size_t)((const char *)memchr(p, '\n', left) - p);
        config_complain(errors, "%s: %.*s", path, (int)len, p);
        p += len + 1;
        left -= len + 1;
    }
    buf_fini(&why);
    return rc;
}

int config_load(struct config *c, const char *path, struct buf *errors)
{
    struct buf text;
    buf_init(&text, FILE_MAX_BYTES);
    int rc = read_file(path, &text, errors);
    if (rc == 0) {
        struct str view = {text.ptr != NULL ? (const char *)text.ptr : "", (int32_t)text.len};
        rc = config_parse(c, path, view, errors);
    }
    if (rc == 0) {
        rc = validate_file(c, path, errors);
    }
    buf_fini(&text);
    return rc;
}

int config_check(const char *path, FILE *out, FILE *err)
{
    struct config c;
    struct buf errors;
    config_init(&c);
    buf_init(&errors, 0);
    int rc = config_load(&c, path, &errors);
    if (rc == 0) {
        fprintf(out, "%s: good\n", path);
    } else {
        fwrite(errors.ptr, 1, errors.len, err);
    }
    buf_fini(&errors);
    config_fini(&c);
    return rc == 0 ? 0 : 1;
}
