/* The table of pools. Layer: client. */
#ifndef CLIENT_POOLS_H
#define CLIENT_POOLS_H

#include "client/json_table.h"

/* Make the columns of `wpool pools`, or those of `wpool top`: name and state, and what
 * api/figures.def lists. Returns their number. */
size_t pools_columns(bool is_top, struct json_column ret[TEXT_TABLE_COLUMNS_MAX]);
/* Print a list of pools, and below it the last stderr line of workers that failed; with_reasons:
 * also the reasons and warnings of each pool. Return an exit code. The caller flushes stdout. */
int pools_print(const char *command, const json_t *pools, bool with_reasons);

#endif
