/* The figures of a pool. Layer: api, plain data.
 * figures.def is the only list of them. It feeds the members of GET /v1/pools, the metrics, the
 * columns of `wpool pools` and `wpool top`, and docs/control.md. */
#ifndef API_FIGURES_H
#define API_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

enum api_unit {
	API_COUNT,
	API_BYTES,
	API_SECONDS,  /* microseconds here, seconds in the API */
	API_FLAG,     /* true, false; 1, 0 */
	API_BY_LABEL, /* a count for each value of a label */
	API_TIMES,    /* a histogram of durations */
};

enum api_figure_id {
#define FIGURE(id, ...) API_FIGURE_##id,
#include "api/figures.def"
	API_FIGURE_COUNT
};

struct api_figure {
	const char *path; /* of the member, "workers.busy"; NULL: none */
	enum api_unit unit;
	const char *help;
	const char *metric;      /* without wpool_; NULL: none. Its samples are adjacent */
	const char *label;       /* of the sample, beside that of the pool: state="busy"; NULL */
	const char *metric_help; /* of the first sample of several; NULL: help */
	const char *column;      /* title in `wpool pools`; NULL: none */
	const char *rate;        /* title in `wpool top` of its growth per second; NULL: none */
	const char *of;          /* path of the whole: the column shows "3/4" */
	const char *to;          /* path of the end of a range: "2..32" */
	const char *age;         /* path of its age: the column shows "12 (4 s)" */
	uint8_t spare;      /* the column is left out of a narrow `wpool top`, the highest first;
			       0: never */
	bool of_sessions;   /* only pools with sessions have it */
	bool of_throttles;  /* only pools with throttles */
	bool is_not_in_top; /* the column; if there is a rate, `wpool top` shows that instead */
};

/* Indexed by enum api_figure_id. */
extern const struct api_figure api_figures[API_FIGURE_COUNT];

#endif
