/* A folder for one test: its files, private nodes, and the output of its programs. Created below
 * $TEST_SCRATCH (the runner's, removed at its end) or /tmp. Errors fail the test. */
#ifndef HARNESS_SCRATCH_H
#define HARNESS_SCRATCH_H

#include <stddef.h>

/* Create a folder; its path moves out. */
char *scratch_make(void);
/* Remove the folder with its contents, and free the path. NULL is allowed. */
void scratch_remove(char *folder);

/* "folder/name": owned by the caller. */
char *scratch_path(const char *folder, const char *name);
void scratch_write(const char *path, const char *text);
/* The whole file, NUL-terminated; moves out; NULL if there is none. ret_size may be NULL. */
char *scratch_read(const char *path, size_t *ret_size);
/* printf into new memory, which moves out. */
char *scratch_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
