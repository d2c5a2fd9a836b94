/* The problems and warnings of a configuration. Layer: config. All are collected, so that they
 * can be fixed at once. */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include "base/buf.h"

/* Where a value was given. name is borrowed. */
struct place {
	const char *name; /* NULL: no place, the value is missing */
	size_t line;      /* in a file, from 1; 0: none */
	bool is_in_file;
	bool is_typed;       /* on the command line */
	bool is_of_defaults; /* in the file's defaults for all pools */
};

/* "wpool.yaml:12"; line 0: the whole file. */
static inline struct place place_line(const char *file, size_t line)
{
	return (struct place){.name = file, .line = line, .is_in_file = true};
}

/* An environment variable. */
static inline struct place place_named(const char *name)
{
	return (struct place){.name = name};
}

/* A flag; NULL: something missing from the command line. */
static inline struct place place_typed(const char *flag)
{
	return (struct place){.name = flag, .is_typed = true};
}

struct problem {
	char *message; /* owned; one line: "wpool.yaml:12: what is wrong; what would be right" */
	bool is_in_file;
	size_t line; /* of a warning: of what it is about in the file; 0: of nothing */
};

/* Zero is empty. */
struct problems {
	struct problem *list; /* owned; in the order in which they were found, warnings last */
	size_t count;
	size_t found;       /* problems, with those too many for the list, without warnings */
	size_t found_typed; /* those of them on the command line */
	bool memory;        /* out of memory: the list is incomplete */
};

/* Add a problem, unless the same message is there: pools may share the setting that is wrong. */
void problems_add(struct problems *, struct place, const char *format, ...) PRINTF_LIKE(3, 4);
/* line: of the setting that it is about, or where its pool or throttle begins, which the message
 * names, too; 0: none. */
void problems_add_warning(struct problems *, size_t line, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Return RC_OK (there may be warnings), RC_MEMORY, RC_REFUSED (all problems are on the command
 * line) or RC_MALFORMED. */
enum rc problems_verdict(const struct problems *) MUST_CHECK;
void problems_release(struct problems *);

enum { PROBLEMS_QUOTED_SIZE = 72 };

/* Write t into buffer and return it: in quotes, shortened, safe for a terminal, and as *** if it
 * looks like an address with a password. */
const char *problems_quote(struct text t, char buffer[PROBLEMS_QUOTED_SIZE]);

#endif
