#include "tests.h"

int main(void)
{
    int failed = run_apply_tests();
    failed += run_classic_tests();
    failed += run_random_tests();
    failed += run_snapshot_tests();
    failed += run_streams_errands_tests();
    failed += run_streams_life_tests();
    failed += run_consumer_records_tests();
    failed += run_modern_store_tests();
    failed += run_modern_tests();
    failed += run_mixed_tests();
    failed += run_embedded_tests();
    failed += run_history_tests();
    failed += run_office_tests();
    return failed;
}
