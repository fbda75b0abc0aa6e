#include "tests.h"

int main(int argc, char **argv)
{
    int failed = run_active_tests();
    failed += run_standby_tests();
    failed += run_warmup_tests();
    failed += run_nonsense_tests();
    failed += run_job_tests();
    failed += run_kafka_tests(argc > 1 ? argv[1] : "kafka_steps.txt");
    return failed;
}
