/* GET /metrics. */
#include "cli/control_routes.h"
#include "cli/metrics.h"

#include <stdlib.h>

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct page {
	const struct overview *overview;
	struct metrics at;
};

static bool on_next(void *ctx, struct buf *out)
{
	struct page *page = ctx;

	return metrics_next(&page->at, page->overview, out);
}

static const struct http_pieces pieces = {.next = on_next, .end = free};

void control_answer_metrics(const struct overview *overview, const struct http_request *request)
{
	struct page *page = malloc(sizeof *page);

	if (!page) {
		control_refuse(request, 503, "out of memory", NULL);
		return;
	}
	*page = (struct page){.overview = overview};
	http_answer_in_pieces(request, METRICS_TYPE, &pieces, page);
}
