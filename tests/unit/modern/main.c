#include "tests.h"

int main(void)
{
    int failed = run_units_tests();
    failed += run_reconcile_tests();
    failed += run_settle_tests();
    failed += run_hostile_tests();
    return failed;
}
