/* tests.h: the tests of this binary, file by file. */
#ifndef MUSTER_TESTS_UNIT_ASSIGN_TESTS_H
#define MUSTER_TESTS_UNIT_ASSIGN_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

int run_active_tests(void);
int run_standby_tests(void);
int run_warmup_tests(void);
int run_nonsense_tests(void);
int run_job_tests(void);
int run_kafka_tests(const char *steps);

#endif
