/* Regular expressions: what is refused, what matches, and that no pattern takes long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <muster/regex.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool matches(const char *pattern, const char *name)
{
    bool result = true;
    struct str one = str_of(name);
    assert_int_equal(regex_match(str_of(pattern), &one, 1, &result), 0);
    return result;
}

static void whole_names(void **state)
{
    (void)state;
    assert_true(matches("in", "in"));
    assert_false(matches("in", "input"));
    assert_false(matches("in", "begin"));
    assert_false(matches("put", "input"));
    assert_true(matches("in.*", "input"));
    assert_true(matches("^in$", "in"));
    assert_false(matches("^in$", "inn"));
    assert_true(matches("a|bc", "bc"));
    assert_false(matches("a|bc", "ac")); /* the alternatives as a whole, not the first that begins well */
    assert_true(matches("a|ab", "ab"));
    assert_true(matches("(?i)IN-[0-9]+", "in-42"));
    assert_false(matches("in\\.x", "in-x"));
    assert_true(matches("in\\.x", "in.x"));
    assert_true(matches("(a)(b)", "ab"));
}

static void empty_ones(void **state)
{
    (void)state;
    assert_true(regex_check(STR(""), NULL) > 0);
    assert_true(regex_check(STR_NULL, NULL) > 0);
    assert_true(matches("", ""));
    assert_false(matches("", "a"));
    assert_true(matches("a*", ""));
    bool result = true;
    struct str null = STR_NULL;
    assert_int_equal(regex_match(STR("a*"), &null, 1, &result), 0);
    assert_true(result);
    assert_int_equal(regex_match(STR("a"), NULL, 0, NULL), 0);
}

static void many_names(void **state)
{
    (void)state;
    const struct str names[] = {STR("orders"), STR("orders-eu"), STR("payments"), STR("orders-us"), STR("x-orders-us")};
    bool result[5];
    assert_int_equal(regex_match(STR("orders-(eu|us)"), names, 5, result), 0);
    assert_true(!result[0] && result[1] && !result[2] && result[3] && !result[4]);
}

/* Names of topics are ASCII; what is not is compared byte by byte. */
static void other_bytes(void **state)
{
    (void)state;
    assert_true(matches("\\pL+", "abc"));
    assert_false(matches("\\pL+", "ab1"));
    assert_true(matches("[^\xC3\xA4]+", "abc"));
    assert_true(matches("\xC3\xA4", "\xC3\xA4"));
    assert_false(matches(".", "\xC3\xA4"));
    assert_true(matches("..", "\xC3\xA4"));
    assert_true(matches("a\xC3", "a\xC3"));
    assert_true(regex_check((struct str){"a\0b", 3}, NULL) > 0);
    bool result = false;
    struct str with_nul = {"a\0b", 3};
    assert_int_equal(regex_match(with_nul, &with_nul, 1, &result), 0);
    assert_true(result);
    assert_false(matches("a", "ab"));
}

static void invalid_ones(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *why;
    } cases[] = {
        {"x(", "missing closing )"},
        {"x)", "unexpected )"},
        {"[a", "missing closing ]"},
        {"a**", "invalid nested repetition operator"},
        {"*a", "missing argument to repetition operator"},
        {"(a)\\1", "invalid escape sequence"},
        {"(?=a)", "invalid or unsupported Perl syntax"},
        {"a{1001}", "invalid repeat count"},
        {"a\\", "trailing backslash at end of expression"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char why[REGEX_WHY_BYTES] = "";
        bool result = true;
        struct str name = STR("a");
        assert_int_equal(regex_check(str_of(cases[i].pattern), why), MUSTER_E_INVALID);
        assert_string_equal(why, cases[i].why);
        assert_int_equal(regex_check(str_of(cases[i].pattern), NULL), MUSTER_E_INVALID);
        assert_int_equal(regex_match(str_of(cases[i].pattern), &name, 1, &result), MUSTER_E_INVALID);
        assert_false(result);
    }
}

static void too_long_or_too_large(void **state)
{
    (void)state;
    static char pattern[REGEX_MAX_BYTES + 1];
    char why[REGEX_WHY_BYTES] = "";
    memset(pattern, 'a', sizeof(pattern));
    for (size_t i = 30; i < sizeof(pattern); i += 31) {
        pattern[i] = '|';
    }
    assert_int_equal(regex_check((struct str){pattern, REGEX_MAX_BYTES + 1}, why), MUSTER_E_LIMIT);
    assert_string_equal(why, "pattern too long");
    assert_true(regex_check((struct str){pattern, REGEX_MAX_BYTES}, why) > 0); /* RE2 has them begin together */
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = (char)('a' + i * 7 % 26);
    }
    assert_int_equal(regex_check((struct str){pattern, REGEX_MAX_BYTES}, why), MUSTER_E_LIMIT);
    assert_string_equal(why, "pattern too large");
    assert_true(regex_check((struct str){pattern, REGEX_MAX_PROGRAM / 2}, why) > REGEX_MAX_PROGRAM / 2);
    assert_int_equal(regex_check(STR("(?:a?b?){500}"), why), MUSTER_E_LIMIT);
    assert_int_equal(regex_check(STR("(([a-c]x[d-f]){20}){20}"), why), MUSTER_E_LIMIT);
    /* Words of the library stay within bounds, whatever they quote. */
    memset(pattern, '(', 3000);
    assert_true(regex_check((struct str){pattern, 3000}, why) < 0);
    assert_true(strlen(why) < REGEX_WHY_BYTES);
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* others on the machine do not count */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Those that take an engine that backtracks longer than the universe, and those that make an automaton large. */
static void no_pattern_takes_long(void **state)
{
    (void)state;
    static const char *const patterns[] = {"(a+)+$",   "(a|aa)+$",          "(a|a?)+$", "(.*a){20}",
                                           "(x+x+)+y", "(?:a?){200}a{200}", ".*a.{80}", "[ab]*a[ab]{200}[ab]*"};
    char text[249];
    struct prng random;
    prng_seed(&random, 7);
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        for (int kind = 0; kind < 3; kind++) {
            bool result;
            for (size_t k = 0; k < sizeof(text); k++) {
                text[k] = kind == 0 ? 'a' : kind == 1 ? 'x' : (char)('a' + prng_below(&random, 2));
            }
            text[sizeof(text) - 1] = '!';
            struct str name = {text, sizeof(text)};
            int64_t start = now_us();
            assert_int_equal(regex_match(str_of(patterns[i]), &name, 1, &result), 0);
            assert_false(result && i < 3);
            assert_true(now_us() - start < 1000000);
        }
    }
}

/* Twice the name takes about twice the time. */
static void time_is_linear(void **state)
{
    (void)state;
    static char text[1 << 20];
    int64_t took[2];
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = text[sizeof(text) / 8 - 1] = '!';
    for (int i = 0; i < 2; i++) {
        bool result = true;
        struct str name = {text, (int32_t)(i == 0 ? sizeof(text) / 8 : sizeof(text))};
        int64_t start = now_us();
        assert_int_equal(regex_match(STR("(a+)+(a|aa)*"), &name, 1, &result), 0);
        took[i] = now_us() - start;
        assert_false(result);
    }
    assert_true(took[1] < 8 * 6 * (took[0] + 1000)); /* quadratic would be 64 times */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_names),           cmocka_unit_test(empty_ones),     cmocka_unit_test(many_names),
        cmocka_unit_test(other_bytes),           cmocka_unit_test(invalid_ones),   cmocka_unit_test(too_long_or_too_large),
        cmocka_unit_test(no_pattern_takes_long), cmocka_unit_test(time_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
