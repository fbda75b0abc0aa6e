/* temp_dir.h: a real folder for a test, removed with all that is in it. */
#ifndef TESTS_STORAGE_TEMP_DIR_H
#define TESTS_STORAGE_TEMP_DIR_H

enum { TEMP_DIR_BYTES = 256 };

void temp_dir_make(char dst[TEMP_DIR_BYTES]); /* under $TMPDIR or /tmp */
void temp_dir_remove(const char *dir);

#endif
