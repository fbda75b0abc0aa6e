/* probe.c: /livez and /readyz, asked and answered as those of Kubernetes and of etcd: one word when all is well, one line for each check when something is
 * not or "verbose" is asked for; "exclude=NAME" leaves a check out, and a path behind the probe's asks one check alone. */
#include <muster/ops.h>

#include <stdio.h>
#include <string.h>

enum { WHY_BYTES = 512, PROBE_OK = 200, PROBE_NOT_FOUND = 404, PROBE_FAILED = 503 };

struct probe {
    const struct ops_handler *handler;
    const char *name; /* "readyz" */
    bool live;
    struct str query;
};

static void put(struct buf *out, struct str text)
{
    if (text.len > 0) {
        buf_put(out, text.ptr, (size_t)text.len);
    }
}

static void put_all(struct buf *out, const char *first, const char *second, const char *third)
{
    put(out, str_of(first));
    put(out, str_of(second));
    put(out, str_of(third));
}

static bool asks(const struct probe *p, const struct ops_check *check)
{
    return check->live || !p->live;
}

/* The next of the query's parts; null at the end. */
static struct str next_part(struct str *query)
{
    if (query->len <= 0) {
        return STR_NULL;
    }
    const char *end = memchr(query->ptr, '&', (size_t)query->len);
    struct str part = {query->ptr, end != NULL ? (int32_t)(end - query->ptr) : query->len};
    int32_t used = part.len + (end != NULL ? 1 : 0);
    *query = (struct str){query->ptr + used, query->len - used};
    return part;
}

/* "name" or "name=..." is the part's; *ret_value what stands behind. */
static bool part_is(struct str part, const char *name, struct str *ret_value)
{
    size_t len = strlen(name);
    if (part.len < (int32_t)len || memcmp(part.ptr, name, len) != 0) {
        return false;
    }
    if (part.len == (int32_t)len) {
        *ret_value = STR("");
        return true;
    }
    *ret_value = (struct str){part.ptr + len + 1, part.len - (int32_t)len - 1};
    return part.ptr[len] == '=';
}

static bool is_verbose(const struct probe *p)
{
    struct str query = p->query, value;
    for (struct str part = next_part(&query); !str_is_null(part); part = next_part(&query)) {
        if (part_is(part, "verbose", &value)) {
            return true;
        }
    }
    return false;
}

static bool is_excluded(const struct probe *p, const char *name)
{
    struct str query = p->query, value;
    for (struct str part = next_part(&query); !str_is_null(part); part = next_part(&query)) {
        if (part_is(part, "exclude", &value) && str_eq(value, str_of(name))) {
            return true;
        }
    }
    return false;
}

static bool is_known(const struct probe *p, struct str name)
{
    for (size_t i = 0; i < p->handler->check_count; i++) {
        if (asks(p, &p->handler->checks[i]) && str_eq(name, str_of(p->handler->checks[i].name))) {
            return true;
        }
    }
    return false;
}

/* An exclusion that excludes nothing is most likely a misspelt one, and then the probe asks what it was not to ask. */
static void warn_of_unknown(const struct probe *p, struct buf *out)
{
    struct str query = p->query, value;
    for (struct str part = next_part(&query); !str_is_null(part); part = next_part(&query)) {
        if (part_is(part, "exclude", &value) && !is_known(p, value)) {
            put(out, STR("[warn]some health checks cannot be excluded: no matches for \""));
            put(out, value);
            put(out, STR("\"\n"));
        }
    }
}

static bool run_check(const struct probe *p, const struct ops_check *check, struct buf *out)
{
    struct buf why;
    buf_init(&why, WHY_BYTES);
    bool good = check->good(p->handler->ctx, &why);
    put_all(out, good ? "[+]" : "[-]", check->name, good ? " ok\n" : " failed: ");
    if (!good) {
        put(out, (struct str){(const char *)why.ptr, (int32_t)why.len});
        put(out, STR("\n"));
    }
    buf_fini(&why);
    return good;
}

static int run_all(const struct probe *p, struct buf *out)
{
    bool good = true;
    size_t begin = out->len;
    for (size_t i = 0; i < p->handler->check_count; i++) {
        const struct ops_check *check = &p->handler->checks[i];
        if (!asks(p, check)) {
            continue;
        }
        if (is_excluded(p, check->name)) {
            put_all(out, "[+]", check->name, " excluded: ok\n");
        } else {
            good = run_check(p, check, out) && good;
        }
    }
    warn_of_unknown(p, out);
    if (good && !is_verbose(p)) {
        out->len = begin;
        put(out, STR("ok\n"));
        return PROBE_OK;
    }
    put_all(out, p->name, good ? " check passed\n" : " check failed\n", "");
    return good ? PROBE_OK : PROBE_FAILED;
}

static int run_one(const struct probe *p, struct str name, struct buf *out)
{
    for (size_t i = 0; i < p->handler->check_count; i++) {
        const struct ops_check *check = &p->handler->checks[i];
        if (asks(p, check) && str_eq(name, str_of(check->name))) {
            return run_check(p, check, out) ? PROBE_OK : PROBE_FAILED;
        }
    }
    put_all(out, p->name, " has no such check\n", "");
    return PROBE_NOT_FOUND;
}

int ops_probe(const struct ops_handler *handler, struct str target, struct buf *out)
{
    static const char *const names[] = {"livez", "readyz"};
    const char *mark = target.len > 0 ? memchr(target.ptr, '?', (size_t)target.len) : NULL;
    struct str path = {target.ptr, mark != NULL ? (int32_t)(mark - target.ptr) : target.len};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        int32_t len = (int32_t)strlen(names[i]) + 1;
        if (path.len < len || path.ptr[0] != '/' || memcmp(path.ptr + 1, names[i], (size_t)len - 1) != 0) {
            continue;
        }
        struct probe p = {.handler = handler, .name = names[i], .live = i == 0, .query = STR("")};
        if (mark != NULL) {
            p.query = (struct str){mark + 1, target.len - path.len - 1};
        }
        if (path.len == len || (path.len == len + 1 && path.ptr[len] == '/')) {
            return run_all(&p, out);
        }
        if (path.ptr[len] == '/') {
            return run_one(&p, (struct str){path.ptr + len + 1, path.len - len - 1}, out);
        }
    }
    return 0;
}
