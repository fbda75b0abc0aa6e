/* The properties format, case by case: what stands in a file and what must be read from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "properties.h"

static void print_entry(void *ctx, int line, struct str key, struct str value)
{
    char text[256];
    int len = snprintf(text, sizeof(text), "%d|%.*s|%.*s;", line, STR_ARG(key), STR_ARG(value));
    assert_int_equal(buf_put(ctx, text, (size_t)len), 0);
}

static int read_text(struct str text, struct buf *out, int *line)
{
    struct arena arena;
    arena_init(&arena, 0);
    int rc = properties_parse(text, &arena, print_entry, out, line);
    arena_fini(&arena);
    return rc;
}

static void every_form_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *entries;
    } cases[] = {
        {"", ""},
        {"\n\n", ""},
        {"a=b", "1|a|b;"},
        {"a=b\n", "1|a|b;"},
        {"a=b\r\nc=d\r\n", "1|a|b;2|c|d;"},
        {"a:b", "1|a|b;"},
        {"a b", "1|a|b;"},
        {"  a  =  b  ", "1|a|b;"},
        {"a = = b", "1|a|= b;"},
        {"a", "1|a|;"},
        {"a=", "1|a|;"},
        {"=b", "1||b;"},
        {"a=b=c", "1|a|b=c;"},
        {"a=PLAINTEXT://:9092", "1|a|PLAINTEXT://:9092;"},
        {"# a=b\n! c=d\n  # e=f\n\t\n g=h", "5|g|h;"},
        {"a=b # not a comment", "1|a|b # not a comment;"},
        {"a=1,\\\n   2,\\\n   3\nb=4", "1|a|1,2,3;4|b|4;"},
        {"a=b\\\\\nc=d", "1|a|b\\;2|c|d;"},
        {"a=b\\", "1|a|b;"},
        {"a\\=b=c", "1|a=b|c;"},
        {"a\\ b=c", "1|a b|c;"},
        {"a=x\\ty\\nz\\q", "1|a|x\ty\nzq;"},
        {"a=\\u0041\\u00e9\\u20ac", "1|a|A\xc3\xa9\xe2\x82\xac;"},
        {"a=1\na=2", "1|a|1;2|a|2;"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out;
        int line = 0;
        buf_init(&out, 0);
        assert_int_equal(read_text(str_of(cases[i].text), &out, &line), 0);
        assert_int_equal(buf_put(&out, "", 1), 0);
        assert_string_equal((const char *)out.ptr, cases[i].entries);
        buf_fini(&out);
    }
}

static void malformed_text_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        struct str text;
        int line;
    } cases[] = {
        {{"a=\\u12", 6}, 1},
        {{"a=b\nc=\\u12g4", 12}, 2},
        {{"a=b\nc=d\ne\0=f", 12}, 3},
        {{"a=x\0y", 5}, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out;
        int line = 0;
        buf_init(&out, 0);
        assert_int_equal(read_text(cases[i].text, &out, &line), MUSTER_E_MALFORMED);
        assert_int_equal(line, cases[i].line);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(malformed_text_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
