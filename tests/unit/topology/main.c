#include "text.h"

int main(int argc, char **argv)
{
    assert_int_equal(argc, 2);
    return run_check_tests() + run_configs_tests() + run_form_tests() + run_kafka_tests(argv[1]) + run_random_tests() + run_resolve_tests();
}
