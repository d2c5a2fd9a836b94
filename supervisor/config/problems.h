/* The problems of a configuration, a line each. Layer: config. All are collected, so that they
 * can be fixed at once. */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include "base/buf.h"

/* Where a value was given. name is borrowed. */
struct place {
	const char *name; /* NULL: no place, the value is missing */
	size_t line;      /* in a file, from 1; 0: none */
	bool is_typed;    /* on the command line */
};

/* "wpool.yaml:12" */
static inline struct place place_line(const char *file, size_t line)
{
	return (struct place){.name = file, .line = line};
}

/* An environment variable, or a whole file. */
static inline struct place place_named(const char *name)
{
	return (struct place){.name = name};
}

/* A flag; NULL: something missing from the command line. */
static inline struct place place_typed(const char *flag)
{
	return (struct place){.name = flag, .is_typed = true};
}

struct problems {
	struct buf *out; /* borrowed */
	size_t count;
	size_t typed_count; /* those of them on the command line */
	bool memory;        /* out of memory: the list is incomplete */
};

void problems_add(struct problems *, struct place, const char *format, ...) PRINTF_LIKE(3, 4);
/* Return RC_OK, RC_MEMORY (added as a problem), RC_REFUSED (all problems are on the command
 * line) or RC_MALFORMED. Call once, at the end. */
enum rc problems_verdict(struct problems *) MUST_CHECK;
/* Append t in quotes, shortened, safe for a terminal, and as *** if it looks like an address
 * with a password. */
void problems_quote(struct buf *out, struct text t);

#endif
