/* Loads a configuration from text, for the tests of the config layer, and prints it. */
#ifndef UNIT_LOADING_H
#define UNIT_LOADING_H

#include "config/config.h"
#include "unit/unit.h"

/* The file's name, the same in every problem. */
#define LOADING_FILE "wpool.yaml"

enum { LOADING_PROBLEMS_SIZE = 256 * 1024 };

/* The results of the last load; texts are NUL-terminated. */
struct loading {
	enum rc rc;
	struct config *config;                /* NULL unless RC_OK */
	char problems[LOADING_PROBLEMS_SIZE]; /* with RC_OK: warnings */
	char lines[64];                       /* of the warnings, each with a blank before it */
	char printed[LOADING_PROBLEMS_SIZE];  /* by config_print */
};
extern struct loading loaded;

/* A checked fixture: a folder of its own, which is removed after the test. */
void loading_set_up(void);
void loading_tear_down(void);

/* environment: NULL-terminated, or NULL. */
void loading_load(const struct config_flags *, const char *const *environment);
/* Write LOADING_FILE. */
void loading_write(struct text yaml);
/* Write the file and load it, without the checks for this process. */
void loading_load_yaml(struct text yaml, const char *const *environment);
/* Append the messages, one line each, and release them. */
void loading_join(struct problems *, struct buf *out);
/* Copy the bytes as a string, and release from. */
void loading_take(struct buf *from, char to[LOADING_PROBLEMS_SIZE]);

#endif
