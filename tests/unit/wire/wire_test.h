/* wire_test.h: the groups of tests of this program, and what they share. */
#ifndef MUSTER_TEST_WIRE_H
#define MUSTER_TEST_WIRE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <muster/messages.h>

int run_codec_tests(void);
int run_dump_tests(void);
int run_frame_tests(void);
int run_golden_tests(void);
int run_record_tests(void);
int run_roundtrip_tests(void);

/* Every message of the tables: number i of all_message_count(). */
size_t all_message_count(void);
const struct wire_msg *all_message(size_t i);

/* Bytes of a literal, NUL not counted. */
#define LITERAL(text) ((struct bytes){(const uint8_t *)(text), (int32_t)(sizeof(text) - 1)})

/* Checks that no proper prefix of a body decodes; each prefix is tried in memory of exactly its size. */
void check_truncations(const struct wire_msg *msg, int16_t version, struct bytes body);

#endif
