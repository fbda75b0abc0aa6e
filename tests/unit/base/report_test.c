/* Error texts, panic, log lines. */
#include "base_test.h"

#include <muster/roff.h>

#include <stdio.h>

static void error_texts(void **state)
{
    (void)state;
    assert_string_equal(muster_strerror(0), "ok");
    assert_string_equal(muster_strerror(MUSTER_E_TRUNCATED), "input ends before the value does");
    assert_string_equal(muster_strerror(-1), "unknown error");
    assert_string_equal(muster_strerror(1), "unknown error");
}

static struct {
    const char *text;
    int line;
} panic_seen;

static void note_panic(const char *file, int line, const char *text)
{
    (void)file;
    panic_seen.text = text;
    panic_seen.line = line;
    longjmp(base_test_panicked, 1);
}

static void checks_name_their_condition(void **state)
{
    (void)state;
    MUSTER_CHECK(1 + 1 == 2);
    muster_set_panic(note_panic);
    if (setjmp(base_test_panicked) == 0) {
        MUSTER_CHECK(1 + 1 == 3);
        fail();
    }
    muster_set_panic(NULL);
    assert_string_equal(panic_seen.text, "1 + 1 == 3");
    assert_true(panic_seen.line > 0);
}

static struct {
    int lines;
    enum log_level level;
    char last[8192];
} heard;

static void hear(void *ctx, enum log_level level, const char *line)
{
    assert_ptr_equal(ctx, &heard);
    heard.lines++;
    heard.level = level;
    snprintf(heard.last, sizeof(heard.last), "%s", line);
}

static void log_lines(void **state)
{
    (void)state;
    log_set(hear, &heard, LOG_INFO);
    log_event(LOG_DEBUG, "quiet", "a=%d", 1);
    assert_int_equal(heard.lines, 0);
    struct str group = STR("orders");
    log_event(LOG_WARN, "member_fenced", "group=%.*s epoch=%d", STR_ARG(group), 6);
    assert_int_equal(heard.lines, 1);
    assert_int_equal(heard.level, LOG_WARN);
    assert_string_equal(heard.last, "evt=member_fenced group=orders epoch=6");
    log_event(LOG_INFO, "null", "group=%.*s.", STR_ARG(STR_NULL));
    assert_string_equal(heard.last, "evt=null group=.");
    log_event(LOG_INFO, "bare", "%s", "");
    assert_string_equal(heard.last, "evt=bare");
    log_event(LOG_ERROR, "forged", "reason=%s", "a\nevt=other\x7f");
    assert_string_equal(heard.last, "evt=forged reason=a?evt=other?");
    log_set(NULL, NULL, LOG_INFO);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    static char text[6000];
    memset(text, 'x', sizeof(text) - 1);
    log_set(hear, &heard, LOG_INFO);
    log_event(LOG_INFO, "long", "text=%s", text);
    size_t len = strlen(heard.last);
    assert_true(len < sizeof(text));
    assert_string_equal(heard.last + len - 4, "x...");
    log_set(NULL, NULL, LOG_INFO);
}

/* One line a second, and it says how many there were. */
static void repeated_lines_are_kept_back(void **state)
{
    (void)state;
    struct log_gate gate = {0};
    uint64_t kept_back = 99;
    assert_true(log_gate_pass(&gate, 5000000, &kept_back));
    assert_int_equal(kept_back, 0);
    for (int i = 0; i < 7; i++) {
        assert_false(log_gate_pass(&gate, 5000000 + i * 142857, &kept_back));
    }
    assert_true(log_gate_pass(&gate, 6000000, &kept_back));
    assert_int_equal(kept_back, 7);
    assert_false(log_gate_pass(&gate, 6999999, &kept_back));
    assert_true(log_gate_pass(&gate, 7000000, &kept_back));
    assert_int_equal(kept_back, 1);
}

static void text_for_roff(void **state)
{
    static const struct {
        const char *text, *roff;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {".config", "\\&.config"},
        {"a.b\n.c\n'd' e'", "a.b\n\\&.c\n\\&'d' e'"},
        {"--to-index\\n", "\\-\\-to\\-index\\en"},
        {"\\.", "\\e."},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf out;
        buf_init(&out, 0);
        assert_int_equal(roff_put(&out, str_of(cases[i].text)), 0);
        assert_int_equal(out.len, strlen(cases[i].roff));
        assert_true(out.len == 0 || memcmp(out.ptr, cases[i].roff, out.len) == 0);
        buf_fini(&out);
    }
    struct buf full;
    buf_init(&full, 3);
    assert_true(roff_put(&full, STR("a-b")) < 0);
    buf_fini(&full);
}

int run_report_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_texts),        cmocka_unit_test(checks_name_their_condition),  cmocka_unit_test(log_lines),
        cmocka_unit_test(long_lines_are_cut), cmocka_unit_test(repeated_lines_are_kept_back), cmocka_unit_test(text_for_roff),
    };
    return cmocka_run_group_tests_name("reports", tests, NULL, NULL);
}
