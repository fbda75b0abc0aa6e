#include "base_test.h"

jmp_buf base_test_panicked;

void base_test_jump_out(const char *file, int line, const char *text)
{
    (void)file;
    (void)line;
    (void)text;
    longjmp(base_test_panicked, 1);
}

int main(void)
{
    int failed = 0;
    failed += run_memory_tests();
    failed += run_number_tests();
    failed += run_report_tests();
    failed += run_str_tests();
    return failed;
}
