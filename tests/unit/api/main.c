#include "world.h"

int main(void)
{
    int failed = 0;
    failed += _cmocka_run_group_tests("protocol", protocol_tests, protocol_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("group", group_tests, group_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("topic", topic_tests, topic_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("data", data_tests, data_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("forward", forward_tests, forward_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("members", members_tests, members_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("streams", streams_tests, streams_test_count, NULL, NULL);
    failed += _cmocka_run_group_tests("consumer", consumer_tests, consumer_test_count, NULL, NULL);
    return failed;
}
