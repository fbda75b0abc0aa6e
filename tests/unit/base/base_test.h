/* base_test.h: the groups of tests of this program. */
#ifndef MUSTER_TEST_BASE_H
#define MUSTER_TEST_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <muster/base.h>

int run_memory_tests(void);
int run_number_tests(void);
int run_report_tests(void);
int run_str_tests(void);

/* Runs `statement` and checks that it panics: a handler jumps out of it. */
extern jmp_buf base_test_panicked;
void base_test_jump_out(const char *file, int line, const char *text);
#define CHECK_PANICS(statement)                                                                                                            \
    do {                                                                                                                                   \
        muster_set_panic(base_test_jump_out);                                                                                              \
        if (setjmp(base_test_panicked) == 0) {                                                                                             \
            statement;                                                                                                                     \
            muster_set_panic(NULL);                                                                                                        \
            fail_msg("no panic: %s", #statement);                                                                                          \
        }                                                                                                                                  \
        muster_set_panic(NULL);                                                                                                            \
    } while (0)

#endif
