/* base.h: what every layer stands on. Nothing below it but libc (and xxHash for hash.c).
 *
 * Ownership words used in all headers of the project:
 *   x_init / x_fini    on memory the caller gives;
 *   x_new  / x_free    on memory the module makes; x_free accepts NULL;
 *   borrow             the value is a view, valid as long as the owner says;
 *   take               the callee owns the argument from then on.
 * Times are int64_t milliseconds or microseconds of a monotonic clock and end in _ms or _us; they are always arguments. */
#ifndef MUSTER_BASE_H
#define MUSTER_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- we are wrong: stop ------------------------------------------------------------------------------------- */

/* Stops the process after writing file, line and the text to standard error. Tests replace the handler to expect it. */
_Noreturn void muster_panic(const char *file, int line, const char *text);
typedef void muster_panic_fn(const char *file, int line, const char *text);
void muster_set_panic(muster_panic_fn *handler);        /* NULL: the default; a handler that returns is followed by abort() */

/* On in every build: a broken invariant must never go on to answer a client. */
#define MUSTER_CHECK(cond) ((cond) ? (void)0 : muster_panic(__FILE__, __LINE__, #cond))

/* ---- the world failed: negative codes ------------------------------------------------------------------------ */

#define MUSTER_ERRORS(X)                                                  \
    X(OK,           0, "ok")                                              \
    X(TRUNCATED,   -2, "input ends before the value does")                \
    X(LIMIT,       -3, "input exceeds a configured limit")                \
    X(NOT_LEADER,  -4, "this node does not lead the shard")               \
    X(MALFORMED,   -5, "input is not of the expected form")               \
    X(VERSION,     -6, "version is not supported")                        \
    X(CORRUPT,     -7, "stored data fails its checksum")                  \
    X(IO,          -8, "reading or writing failed")                       \
    X(FULL,        -9, "no space is left")                                \
    X(BUSY,       -10, "too much is in flight already")                   \
    X(NOT_FOUND,  -11, "no such thing")                                   \
    X(EXISTS,     -12, "it exists already")                               \
    X(CLOSED,     -13, "the other side has gone")                         \
    X(REFUSED,    -14, "the other side refused")                          \
    X(INVALID,    -15, "an argument is out of range")                     \
    X(NO_FILE,    -16, "it is a link, a folder or a device, not a file")  \
    X(DIVERGED,   -17, "nodes have different states")

enum muster_error {
#define X(name, code, text) MUSTER_E_##name = (code),
    MUSTER_ERRORS(X)
#undef X
};
const char *muster_strerror(int code);                   /* static text; unknown codes give "unknown error" */

/* ---- views ----------------------------------------------------------------------------------------------------- */

struct str   { const char *ptr; int32_t len; };          /* len -1 is null; not NUL-terminated */
struct bytes { const uint8_t *ptr; int32_t len; };       /* len -1 is null */
struct uuid  { uint8_t b[16]; };

#define STR(literal)   ((struct str){ (literal), (int32_t)(sizeof(literal) - 1) })
#define STR_NULL       ((struct str){ NULL, -1 })
#define BYTES_NULL     ((struct bytes){ NULL, -1 })

struct str   str_of(const char *c_string);               /* NULL gives null */
bool         str_is_null(struct str s);
bool         str_is_empty(struct str s);                 /* null or no bytes */
bool         str_is_blank(struct str s);                 /* no bytes but white space; null is not */
bool         str_eq(struct str a, struct str b);         /* null equals only null */
int          str_cmp(struct str a, struct str b);        /* byte order, null first */
/* What a terminal would obey (C0, DEL, C1) becomes question marks: for lines with parts that came from elsewhere. */
void         text_tame(char *text, size_t len);
bool         bytes_eq(struct bytes a, struct bytes b);
struct bytes bytes_of_str(struct str s);
bool         uuid_eq(struct uuid a, struct uuid b);
int          uuid_cmp(struct uuid a, struct uuid b);
bool         uuid_is_zero(struct uuid id);
/* Kafka's form of a UUID: 22 characters of URL-safe base64 without padding. dst has room for 23 bytes, NUL included. */
void         uuid_text(struct uuid id, char dst[23]);
int          uuid_parse(struct str text, struct uuid *ret);      /* MALFORMED unless 22 characters of that alphabet */
/* The dashed form (8-4-4-4-12 hexadecimal) that member ids carry. dst has room for 37 bytes. */
void         uuid_dashed(struct uuid id, char dst[37]);

/* ---- arena: memory of one request or one turn ------------------------------------------------------------------- */

struct arena_chunk;
struct arena {
    struct arena_chunk *head;
    size_t used_bytes;                                   /* handed out since the last clear */
    struct arena_chunk *spare;                           /* empty, or NULL */
    size_t limit_bytes;                                  /* 0: none */
};
void  arena_init(struct arena *a, size_t limit_bytes);
void  arena_fini(struct arena *a);
void  arena_clear(struct arena *a);                      /* keeps the first chunk for the next request */
/* What was taken since the mark is given back; nothing of it may be referred to any more. */
struct arena_mark { struct arena_chunk *head; size_t head_used, used_bytes; };
struct arena_mark arena_here(const struct arena *a);
void  arena_rewind(struct arena *a, struct arena_mark mark);
/* Zeroed memory aligned for any type, valid until clear or fini. NULL when the limit would be passed. size 0 gives a valid pointer. */
void *arena_try(struct arena *a, size_t size);
/* The same for callers whose sizes are already bounded: panics instead of NULL. */
void *arena_get(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t size);   /* multiplication checked; panics */
#define ARENA_NEW(a, type, count) ((type *)arena_array((a), (size_t)(count), sizeof(type)))
struct str   arena_str(struct arena *a, struct str s);           /* a copy; null stays null */
struct bytes arena_bytes(struct arena *a, struct bytes b);
__attribute__((format(printf, 2, 3)))
struct str   arena_printf(struct arena *a, const char *format, ...);

/* ---- pool: memory of replicated state, counted -------------------------------------------------------------------- */

struct pool { size_t bytes; size_t objects; };           /* what is in use: a metric, and the base of budgets */
void *pool_get(struct pool *p, size_t size);             /* zeroed; panics when the machine has no memory: budgets come first */
void *pool_resize(struct pool *p, void *ptr, size_t old_size, size_t new_size);  /* the new part is zeroed */
void  pool_put(struct pool *p, void *ptr, size_t size);  /* NULL is fine with any size */
struct str   pool_str(struct pool *p, struct str s);     /* a copy owned by the pool; null stays null */
void         pool_put_str(struct pool *p, struct str s);
struct bytes pool_bytes(struct pool *p, struct bytes b);
void         pool_put_bytes(struct pool *p, struct bytes b);

/* ---- buf: bytes that grow, for output and files --------------------------------------------------------------------- */

struct buf { uint8_t *ptr; size_t len; size_t cap; size_t limit; };      /* limit 0: none */
void  buf_init(struct buf *b, size_t limit_bytes);
void  buf_fini(struct buf *b);
void  buf_clear(struct buf *b);                          /* keeps the memory */
void *buf_add(struct buf *b, size_t size);               /* room for size bytes at the end, uninitialised; NULL past the limit */
int   buf_put(struct buf *b, const void *data, size_t size);     /* 0 or LIMIT */
void  buf_drop_front(struct buf *b, size_t size);

/* Big-endian (the wire and the records) and little-endian (our files) numbers; the caller has checked the room. */
void     put_be16(uint8_t *p, uint16_t v);
void     put_be32(uint8_t *p, uint32_t v);
void     put_be64(uint8_t *p, uint64_t v);
uint16_t get_be16(const uint8_t *p);
uint32_t get_be32(const uint8_t *p);
uint64_t get_be64(const uint8_t *p);
void     put_le16(uint8_t *p, uint16_t v);
void     put_le32(uint8_t *p, uint32_t v);
void     put_le64(uint8_t *p, uint64_t v);
uint16_t get_le16(const uint8_t *p);
uint32_t get_le32(const uint8_t *p);
uint64_t get_le64(const uint8_t *p);

/* ---- hash and pseudo-random numbers --------------------------------------------------------------------------------- */

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);        /* XXH3, 64 bits; the same on every machine */

struct prng { uint64_t s[4]; };                          /* xoshiro256**; for simulation and jitter, never for secrets */
void     prng_seed(struct prng *p, uint64_t seed);
uint64_t prng_next(struct prng *p);
uint64_t prng_below(struct prng *p, uint64_t bound);     /* uniform in [0, bound); bound > 0 */
bool     prng_chance(struct prng *p, uint32_t per_million);

/* ---- log lines: key=value, the event first ---------------------------------------------------------------------------- */

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
typedef void log_sink_fn(void *ctx, enum log_level level, const char *line);    /* one line without its newline */
void log_set(log_sink_fn *sink, void *ctx, enum log_level least);               /* sink NULL: standard error with a timestamp */
/* log_event(LOG_INFO, "member_fenced", "group=%.*s epoch=%d", ...): prints evt=member_fenced group=... epoch=... */
__attribute__((format(printf, 3, 4)))
void log_event(enum log_level level, const char *event, const char *format, ...);

/* A line whose cause others can repeat at will is written at most once a second. Zeroed memory is a gate. */
struct log_gate { int64_t shut_until_us; uint64_t kept_back; };
/* Whether the line may be written; *ret_kept_back: how many were not since the last one. */
bool log_gate_pass(struct log_gate *gate, int64_t now_us, uint64_t *ret_kept_back);

/* printf helper for views: printf("%.*s", STR_ARG(s)) */
#define STR_ARG(s) ((s).len > 0 ? (int)(s).len : 0), ((s).ptr != NULL ? (s).ptr : "")

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

#endif
