/* What the API can read of a running supervisor, and request from it. Layer: runtime, plain data.
 * The parts are borrowed while it runs; they are read for each request, and nothing of them is
 * kept. */
#ifndef RUNTIME_SUPERVISOR_VIEW_H
#define RUNTIME_SUPERVISOR_VIEW_H

#include "os/pulse.h"
#include "process/own_commands.h"
#include "runtime/broker_links.h"
#include "runtime/phase.h"
#include "runtime/throttles/throttles.h"

struct reload_outcome; /* reload.h */
struct api_publisher;  /* control/api_publisher.h */

struct supervisor_view {
	const struct config *config; /* without its pools, which are in the pool set */
	const struct pool_set *pool_set;
	const struct broker_links *broker_links;
	struct throttles *throttles; /* to read; an operator may set figures (throttles_set) */
	struct own_commands *own_commands;   /* for the dead letters */
	struct api_publisher *api_publisher; /* for POST /v1/publish */
	const struct pulse *pulse;
	const enum phase *phase;
	mtime started;
	uint64_t started_wall_s;   /* seconds since 1970 */
	const char *configuration; /* the file's path; NULL: there is none */
	bool is_settled;           /* STOPPED: nothing was cut short */
	/* Requests: a stop, graceful or at once, which may have begun already; and a reload, whose
	 * outcome the caller releases. */
	void (*stop)(void *ctx, bool at_once);
	void (*reload)(
		void *ctx, const char *requested_by, bool is_dry, struct reload_outcome *ret);
	void *ctx;
};

#endif
