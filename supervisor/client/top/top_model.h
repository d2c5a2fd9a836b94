/* The state of `wpool top`: the latest answers of a supervisor, and which pool is chosen. Layer:
 * client, without I/O. */
#ifndef CLIENT_TOP_TOP_MODEL_H
#define CLIENT_TOP_TOP_MODEL_H

#include "api/verbs.h"
#include "client/top/top_table.h"

/* The requests, sent one after the other once a second. The status comes with the pools. */
enum top_question { TOP_ASK_POOLS, TOP_ASK_WORKERS };

#define TOP_TEXT_MAX    256
#define TOP_SLOT_SIZE   6    /* "65535" */
#define TOP_MESSAGE_MAX 1024 /* with the name of a pool */

struct top_model {
	json_t *status; /* owned; NULL: none yet */
	struct json_column pool_columns[TEXT_TABLE_COLUMNS_MAX];
	struct top_table pools;        /* all of them */
	struct top_table workers;      /* of the chosen one */
	char *chosen;                  /* owned; NULL: there is none */
	char trouble[TOP_TEXT_MAX];    /* why there is no answer; empty: there is one */
	mtime answered_at;             /* when the last answer came */
	char message[TOP_MESSAGE_MAX]; /* the result of a key; empty: none */
	bool knows_pools;              /* the list was answered once */
	bool is_help;                  /* the keys are shown instead */
	const struct api_verb *asks;   /* the verb whose question is shown; NULL: none */
	char slot[TOP_SLOT_SIZE];      /* if that verb takes one: the digits typed so far */
	double task;                   /* the worker in this slot had it then; -1: none */
};

void top_model_init(struct top_model *, mtime now);
void top_model_release(struct top_model *);
/* Store the answer to a question; the JSON is borrowed. RC_MEMORY. */
enum rc top_model_take(struct top_model *, enum top_question, json_t *, mtime now) MUST_CHECK;
/* Remove the workers: another supervisor answers, or another pool is chosen. */
void top_model_forget_workers(struct top_model *);
/* Return the chosen pool's row, or the number of rows if there is none. */
size_t top_model_chosen_row(const struct top_model *);
/* Choose the next pool in the order of the page, or the one before. True: the choice has
 * changed. */
bool top_model_move(struct top_model *, int by);
/* Update the workers of pools from the answer to an order. */
void top_model_correct(struct top_model *, const json_t *answer);
/* Return the worker of the chosen pool in this slot, or NULL. */
const json_t *top_model_worker(const struct top_model *, const char *slot);
/* Forget the slot. */
void top_model_clear_slot(struct top_model *);
/* Add a digit to the slot, and keep the task that is shown for it. False: it has enough. */
bool top_model_type_slot(struct top_model *, char digit) MUST_CHECK;
/* Return the pool of this name in the current list, or NULL. */
const json_t *top_model_pool(const struct top_model *, const char *name);

#endif
