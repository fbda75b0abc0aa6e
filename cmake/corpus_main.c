/* corpus_main.c: runs a fuzz target once over every file of its corpus folders, for builds without libFuzzer. An empty corpus fails: a
 * test that read nothing has shown nothing. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    int rc = -1;
    if (file != NULL && data != NULL && fread(data, 1, size, file) == size) {
        rc = LLVMFuzzerTestOneInput(data, size);
    }
    if (file != NULL) {
        fclose(file);
    }
    free(data);
    if (rc < 0) {
        fprintf(stderr, "cannot run %s\n", path);
    }
    return rc;
}

/* Returns how many files ran, or -1 after the first that failed. */
static long run_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    long count = 0;
    if (dir == NULL) {
        fprintf(stderr, "cannot open %s\n", folder);
        return -1;
    }
    while (count >= 0 && (entry = readdir(dir)) != NULL) {
        char path[4096];
        struct stat st;
        if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path)) {
            fprintf(stderr, "the name of a file in %s is too long\n", folder);
            count = -1;
        } else if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            count = run_file(path, (size_t)st.st_size) < 0 ? -1 : count + 1;
        }
    }
    closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    long total = 0;
    for (int i = 1; i < argc; i++) {
        long count = run_folder(argv[i]);
        if (count < 0) {
            return 1;
        }
        total += count;
    }
    printf("%ld inputs\n", total);
    return total > 0 ? 0 : 1;
}
