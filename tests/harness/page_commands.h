/* The code blocks of a page, run as they are printed, in order, in the test's folder. A comment
 * "prints X" is what the command must print. Errors fail the test. */
#ifndef HARNESS_PAGE_COMMANDS_H
#define HARNESS_PAGE_COMMANDS_H

#include "harness/proc.h"

#include <stddef.h>

#define PAGE_BLOCKS_MAX 24

struct page_block {
	char language[16];
	const char *text; /* borrowed from the page */
	size_t len;
};

struct page_commands {
	const char *path;
	const char *language, *file; /* blocks of this language are written to that file; or NULL */
	const char *queue;           /* whose consumer a server is */
	const char *const *environment; /* more variables, NULL-terminated; or NULL */
};

/* Run the page and return the number of its blocks of commands. A command that serves a queue runs
 * until the next one, or until `wpool stop`; blocks of YAML are written to wpool.yaml. */
int page_commands_run(const struct page_commands *);

/* Find the blocks of a text and return their number. */
size_t page_commands_blocks(const char *text, struct page_block ret_blocks[PAGE_BLOCKS_MAX]);
/* Write a block to a file of the test's folder. */
void page_commands_write_block(const struct page_block *, const char *name);
/* Run a command that ends with 0. */
void page_commands_run_line(const struct page_commands *, const char *line);
/* End the previous server, if it is not NULL, and start the next one; wait until it is ready. */
struct proc *page_commands_serve(
	const struct page_commands *, const char *line, struct proc *previous);
/* End it. No reply that a worker of a page sends is unasked for. */
void page_commands_stop(struct proc *serve);
/* Give the test's folder a name that the commands use. */
void page_commands_link(const char *name, const char *to);

#endif
