/* A folder for one test: its files, its private nodes, what its programs printed.
 * Made below $WPOOL_TEST_SCRATCH (the runner's, removed at its end) or /tmp. Fails the test rather
 * than returning an error. */
#ifndef HARNESS_SCRATCH_H
#define HARNESS_SCRATCH_H

#include <stddef.h>

/* The folder's path: owned by the caller, free. */
char *scratch_make(void);
/* Removes it with all that is in it, and frees the path. NULL is legal. */
void scratch_remove(char *folder);

/* "folder/name": owned by the caller. */
char *scratch_path(const char *folder, const char *name);
void scratch_write(const char *path, const char *text);
/* The whole file, NUL-terminated, owned by the caller; NULL where there is none. ret_size may be
 * NULL. */
char *scratch_read(const char *path, size_t *ret_size);
/* printf into new memory, owned by the caller. */
char *scratch_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
