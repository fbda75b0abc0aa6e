/* tests.h: the tests of this binary, file by file. */
#ifndef MUSTER_TESTS_UNIT_CONSUMER_ASSIGN_TESTS_H
#define MUSTER_TESTS_UNIT_CONSUMER_ASSIGN_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int run_kafka_tests(const char *cases);
int run_alike_tests(void);
int run_mixed_tests(void);
int run_range_tests(void);
int run_racks_tests(void);
int run_nonsense_tests(void);

#endif
