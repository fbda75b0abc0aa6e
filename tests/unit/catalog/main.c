#include "fixture.h"
#include "tests.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown),
        CATALOG_TESTS(X)
#undef X
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
