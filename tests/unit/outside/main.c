#include "fixture.h"

int main(void)
{
    int failed = run_commit_tests();
    failed += run_describe_tests();
    failed += run_initialize_tests();
    failed += run_random_tests();
    return failed;
}
