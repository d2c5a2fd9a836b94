#include "broker/detour.h"

void detour_plan(struct detour *detour, const struct publisher_config *config,
	struct patience *patience, mtime delay, struct copy_options *options)
{
	mtime most_ms = topology_jitter(delay, config->retry.jitter) / MTIME_MS;
	mtime span_ms = delay / MTIME_MS + patience_any(patience, most_ms + 1);

	options->expiration = text_decimal((uint64_t)span_ms, detour->expiration);
	options->retry_queue =
		retry_queue_name(config->queue, delay, detour->name, sizeof detour->name);
}
