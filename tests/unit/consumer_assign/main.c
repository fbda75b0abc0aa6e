#include "tests.h"

int main(int argc, char **argv)
{
    int failed = run_alike_tests();
    failed += run_mixed_tests();
    failed += run_range_tests();
    failed += run_racks_tests();
    failed += run_nonsense_tests();
    failed += run_kafka_tests(argc > 1 ? argv[1] : "kafka-4.4.0.txt");
    return failed;
}
