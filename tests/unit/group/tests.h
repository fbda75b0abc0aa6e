/* tests.h: the tests of this binary, file by file. */
#ifndef MUSTER_TESTS_UNIT_GROUP_TESTS_H
#define MUSTER_TESTS_UNIT_GROUP_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int run_apply_tests(void);
int run_random_tests(void);
int run_snapshot_tests(void);
int run_streams_errands_tests(void);
int run_streams_life_tests(void);
int run_consumer_records_tests(void);
int run_modern_store_tests(void);
int run_modern_tests(void);
int run_mixed_tests(void);
int run_embedded_tests(void);
int run_classic_tests(void);
int run_history_tests(void);
int run_office_tests(void);

#endif
