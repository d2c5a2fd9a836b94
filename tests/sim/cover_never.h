/* What the tables of cover.h do not expect to see, and why. */
#ifndef SIM_COVER_NEVER_H
#define SIM_COVER_NEVER_H

enum cover_hope {
	HOPE_EXPECTED, /* a run of ten thousand seeds that never saw it has failed */
	HOPE_RARE,     /* it may be, but takes more luck than such a run has */
	HOPE_NEVER, /* something is wrong if it was seen: with us, or with what is written here */
};

/* *ret_why: in words, unless it is expected. */
enum cover_hope cover_hope(
	const char *table, const char *row, const char *column, const char **ret_why);

#endif
