/* What the tables of cover.h do not expect to see, and why. */
#ifndef SIM_COVER_NEVER_H
#define SIM_COVER_NEVER_H

/* Why this cell of the table is never seen, or NULL: it is expected. */
const char *cover_never(const char *table, const char *row, const char *column);

#endif
