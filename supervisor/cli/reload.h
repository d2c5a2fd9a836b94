/* A configuration that is read again while work goes on, from the sources of the start: checked
 * whole, held against the one in force, and taken over, or nothing is. Layer: cli.
 * What takes its time (a pool that drains, workers that are replaced) goes on afterwards; another
 * reload may come meanwhile. */
#ifndef CLI_RELOAD_H
#define CLI_RELOAD_H

#include "cli/overview.h"
#include "cli/service.h"

#include <jansson.h>

/* All borrowed. */
struct reload {
	const struct config_flags *flags;
	struct config *config; /* in force, but for its pools */
	struct fleet *fleet;
	struct links *links;
	const struct station_tools *tools;
	const enum phase *phase;
	struct service *service;
};

/* by: who asks, for the log. is_dry: says what would be done, and does nothing. Returns a status of
 * HTTP: 200 it is done, 409 refused, 422 the configuration is wrong, 503 out of memory; *ret_answer
 * is the document that docs/control.md has of each, owned by the caller, and NULL with 503 alone.
 * The log is told, too, unless it is dry. */
unsigned reload_run(struct reload *, const char *by, bool is_dry, json_t **ret_answer);
/* In each turn: stations whose successors are ready leave, those of which nothing is left are
 * freed. */
void reload_sweep(struct reload *);

#endif
