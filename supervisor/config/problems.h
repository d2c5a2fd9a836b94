/* Everything that is wrong with a configuration, one line for each mistake. Layer: config.
 * All mistakes are collected, so that one look mends them all. */
#ifndef CONFIG_PROBLEMS_H
#define CONFIG_PROBLEMS_H

#include "base/buf.h"

/* Where a value came from. name is borrowed. */
struct place {
	const char *name; /* NULL: what is missing is nowhere */
	size_t line;      /* of a file, from 1; 0: none */
	bool is_typed;    /* on the command line */
};

/* "wpool.yaml:12" */
static inline struct place place_line(const char *file, size_t line)
{
	return (struct place){.name = file, .line = line};
}

/* A variable of the environment, or a file as a whole. */
static inline struct place place_named(const char *name)
{
	return (struct place){.name = name};
}

/* A flag; NULL: something that the command line lacks. */
static inline struct place place_typed(const char *flag)
{
	return (struct place){.name = flag, .is_typed = true};
}

struct problems {
	struct buf *out; /* borrowed */
	size_t count;
	size_t typed_count; /* of them: those on the command line */
	bool memory;        /* some memory could not be had: what was found is not all */
};

void problems_add(struct problems *, struct place, const char *format, ...) PRINTF_LIKE(3, 4);
/* RC_MEMORY (which becomes a problem now), RC_REFUSED (all are mistakes on the command line),
 * RC_MALFORMED or RC_OK. Once, at the end. */
enum rc problems_verdict(struct problems *) MUST_CHECK;
/* Appends t in quotes, for a problem: shortened, harmless on a terminal, and as *** where it looks
 * like an address with a password in it. */
void problems_quote(struct buf *out, struct text t);

#endif
