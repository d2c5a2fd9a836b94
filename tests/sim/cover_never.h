/* The cells of the tables in cover.h that are rare or impossible, and why. */
#ifndef SIM_COVER_NEVER_H
#define SIM_COVER_NEVER_H

enum cover_hope {
	HOPE_EXPECTED, /* a run of ten thousand seeds must see it */
	HOPE_RARE,     /* it is possible, but such a run may not see it */
	HOPE_NEVER,    /* impossible: if it was seen, the code or this table is wrong */
};

/* *ret_why: the reason, unless it is expected. */
enum cover_hope cover_hope(
	const char *table, const char *row, const char *column, const char **ret_why);

#endif
