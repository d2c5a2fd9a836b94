/* What `wpool top` knows of a supervisor, and which pool is chosen. Layer: cli, without I/O. */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include "cli/top_table.h"

/* Asked one after the other, once a second. */
enum top_question { TOP_ASK_STATUS, TOP_ASK_POOLS, TOP_ASK_WORKERS };

#define TOP_WORDS_MAX   256
#define TOP_MESSAGE_MAX 1024 /* with the name of a pool */

struct top_model {
	json_t *status;                /* owned; NULL: none yet */
	struct top_table pools;        /* all of them */
	struct top_table workers;      /* of the chosen one */
	char *chosen;                  /* owned; NULL: there is none */
	char trouble[TOP_WORDS_MAX];   /* why there is no answer; empty: there is */
	mtime answered_at;             /* the last time that there was */
	char message[TOP_MESSAGE_MAX]; /* what came of a key; empty: nothing to be said */
	bool knows_pools;              /* the list was answered once */
	bool is_help, is_confirming;   /* what is shown instead: the keys; restart? */
};

void top_model_init(struct top_model *, mtime now);
void top_model_release(struct top_model *);
/* An answer to that question; borrowed. RC_MEMORY. */
enum rc top_model_take(struct top_model *, enum top_question, json_t *, mtime now) MUST_CHECK;
/* Another supervisor answers, or a list is of another pool. */
void top_model_forget_workers(struct top_model *);
/* The chosen pool's row; count of rows: there is none. */
size_t top_model_chosen_row(const struct top_model *);
/* The next pool, or the one before, as shown. True: it is another one now. */
bool top_model_move(struct top_model *, int by);
/* What an order answered: the workers of these pools are known anew. */
void top_model_correct(struct top_model *, const json_t *answer);
/* Of the list of pools as it is now; NULL: no such pool. */
const json_t *top_model_pool(const struct top_model *, const char *name);

#endif
