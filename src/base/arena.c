/* arena.c: memory that is given back all at once.
 *
 * Chunks form a list, newest first; only the newest is handed out from. A chunk doubles its predecessor up to a megabyte, and an
 * allocation that is larger gets a chunk of its own size. Under AddressSanitizer what is not handed out is poisoned, so a view that
 * outlives its request is found. */
#include <muster/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(ptr, size)   ((void)(ptr), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(ptr, size) ((void)(ptr), (void)(size))
#endif

enum {
    ARENA_ALIGN = 16,
    ARENA_FIRST_BYTES = 4096,
    ARENA_LARGEST_BYTES = 1 << 20,
    ARENA_KEPT_BYTES = 1 << 16 /* a first chunk above this is not kept by a clear */
};

struct arena_chunk {
    struct arena_chunk *older;
    size_t size, used; /* of data */
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

static void chunk_free(struct arena_chunk *chunk)
{
    ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->size);
    free(chunk);
}

/* What was never handed out is poisoned already. */
static void chunk_shorten(struct arena_chunk *chunk, size_t used)
{
    ASAN_POISON_MEMORY_REGION(chunk->data + used, chunk->used - used);
    chunk->used = used;
}

void arena_init(struct arena *a, size_t limit_bytes)
{
    *a = (struct arena){.limit_bytes = limit_bytes};
}

static void spare_free(struct arena *a)
{
    if (a->spare != NULL) {
        chunk_free(a->spare);
    }
    a->spare = NULL;
}

void arena_fini(struct arena *a)
{
    spare_free(a);
    while (a->head != NULL) {
        struct arena_chunk *older = a->head->older;
        chunk_free(a->head);
        a->head = older;
    }
    a->used_bytes = 0;
}

void arena_clear(struct arena *a)
{
    spare_free(a);
    a->used_bytes = 0;
    if (a->head == NULL) {
        return;
    }
    while (a->head->older != NULL) {
        struct arena_chunk *older = a->head->older;
        chunk_free(a->head);
        a->head = older;
    }
    if (a->head->size > ARENA_KEPT_BYTES) {
        arena_fini(a);
        return;
    }
    chunk_shorten(a->head, 0);
}

struct arena_mark arena_here(const struct arena *a)
{
    return (struct arena_mark){.head = a->head, .head_used = a->head != NULL ? a->head->used : 0, .used_bytes = a->used_bytes};
}

/* One of the chunks that become empty is kept: who goes back again and again to the end of a full one needs another each time. */
void arena_rewind(struct arena *a, struct arena_mark mark)
{
    while (a->head != mark.head) {
        struct arena_chunk *empty = a->head;
        a->head = empty->older;
        if (a->spare != NULL) {
            chunk_free(empty);
        } else {
            chunk_shorten(empty, 0);
            a->spare = empty;
        }
    }
    if (a->head != NULL) {
        chunk_shorten(a->head, mark.head_used);
    }
    a->used_bytes = mark.used_bytes;
}

/* A new chunk with room for need bytes in front of the list; false when the machine has no memory. */
static bool arena_grow(struct arena *a, size_t need)
{
    size_t size = a->head != NULL ? a->head->size * 2 : ARENA_FIRST_BYTES;
    if (size > ARENA_LARGEST_BYTES) {
        size = ARENA_LARGEST_BYTES;
    }
    if (size < need) {
        size = need;
    }
    if (a->spare != NULL && a->spare->size >= need) {
        a->spare->older = a->head;
        a->head = a->spare;
        a->spare = NULL;
        return true;
    }
    struct arena_chunk *chunk = malloc(sizeof(*chunk) + size);
    if (chunk == NULL) {
        return false;
    }
    chunk->older = a->head;
    chunk->size = size;
    chunk->used = 0;
    ASAN_POISON_MEMORY_REGION(chunk->data, size);
    a->head = chunk;
    return true;
}

void *arena_try(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    size_t need = size == 0 ? ARENA_ALIGN : (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (a->limit_bytes != 0 && (a->used_bytes > a->limit_bytes || need > a->limit_bytes - a->used_bytes)) {
        return NULL;
    }
    if (a->head == NULL || a->head->size - a->head->used < need) {
        if (!arena_grow(a, need)) {
            return NULL;
        }
    }
    uint8_t *ptr = a->head->data + a->head->used;
    a->head->used += need;
    a->used_bytes += need;
    ASAN_UNPOISON_MEMORY_REGION(ptr, size);
    memset(ptr, 0, size);
    return ptr;
}

void *arena_get(struct arena *a, size_t size)
{
    void *ptr = arena_try(a, size);
    MUSTER_CHECK(ptr != NULL);
    return ptr;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t total;
    MUSTER_CHECK(!__builtin_mul_overflow(count, size, &total));
    return arena_get(a, total);
}

struct str arena_str(struct arena *a, struct str s)
{
    struct bytes copy = arena_bytes(a, bytes_of_str(s));
    return (struct str){(const char *)copy.ptr, copy.len};
}

struct bytes arena_bytes(struct arena *a, struct bytes b)
{
    if (b.len < 0) {
        return BYTES_NULL;
    }
    uint8_t *ptr = arena_get(a, (size_t)b.len);
    if (b.len > 0) {
        memcpy(ptr, b.ptr, (size_t)b.len);
    }
    return (struct bytes){ptr, b.len};
}

struct str arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    MUSTER_CHECK(len >= 0);
    char *text = arena_get(a, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return (struct str){text, len};
}
