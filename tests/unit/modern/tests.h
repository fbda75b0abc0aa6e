/* tests.h: the tests of this binary, file by file. */
#ifndef MUSTER_TESTS_UNIT_MODERN_TESTS_H
#define MUSTER_TESTS_UNIT_MODERN_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int run_units_tests(void);
int run_reconcile_tests(void);
int run_settle_tests(void);
int run_hostile_tests(void);

#endif
