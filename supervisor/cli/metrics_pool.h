/* The families of metrics that each pool has. Layer: cli, private to metrics.c. */
#ifndef CLI_METRICS_POOL_H
#define CLI_METRICS_POOL_H

#include "cli/overview.h"

struct metric;
struct metric_pool;

struct metric_family {
	const char *name, *type, *help;
	/* Either of them. */
	void (*write)(const struct metric *);
	void (*write_pool)(const struct metric_pool *);
};

/* One family while it is written. */
struct metric {
	const struct metric_family *family;
	const struct overview *overview;
	struct buf *out;
};

extern const struct metric_family metric_pool_families[];
extern const size_t metric_pool_family_count;

/* One sample; labels: with their quotes, or empty. */
void metric_sample(const struct metric *, const char *labels, uint64_t value);
/* In seconds. */
void metric_span(const struct metric *, const char *labels, mtime span);
/* Of one pool, all that the family has. */
void metric_write_pool(const struct metric *, const struct station *);

#endif
