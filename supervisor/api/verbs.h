/* The verbs of a pool, such as pause and scale. Layer: api, plain data. verbs.def is the only list
 * of them. It feeds the commands and their --help, the paths of the control API, the keys of `wpool
 * top` and docs/control.md. */
#ifndef API_VERBS_H
#define API_VERBS_H

#include "base/text.h"

#include <stdbool.h>

enum api_verb_id {
#define POOL_VERB(id, ...) API_VERB_##id,
#include "api/verbs.def"
	API_VERB_COUNT
};

struct api_verb {
	const char *name;     /* of the command, and the last part of its paths */
	const char *summary;  /* its line in `wpool --help` */
	const char *help;     /* lines of `wpool NAME --help` */
	const char *effect;   /* its cell in docs/control.md */
	const char *done;     /* printed after the pool's name when it has begun */
	const char *wait;     /* what ?wait=true and --wait wait for: "until ..."; NULL: nothing */
	bool takes_all;       /* may be used without a pool: then it is for all */
	bool takes_workers;   /* needs a number of workers: "8", "2..32" or "auto" */
	bool takes_task;      /* needs the id of a task: a number from 1 */
	bool takes_slot;      /* needs a slot; the id of a task, and whether that is given up */
	bool covers_replaced; /* also applies to a pool that works until its successor is ready */
	const char *keys;     /* in `wpool top`; takes_workers: one more, one fewer; NULL: none */
	const char *key_help; /* NULL: another verb with the same key has it */
	const char *only_in_state; /* its key applies to pools in this state; NULL: to the others */
	const char *question;      /* `wpool top` asks this before; NULL: nothing */
	const char *question_all;  /* the command without a pool asks this first on a terminal,
				      unless it has --yes; NULL: nothing */
};

/* Indexed by enum api_verb_id. */
extern const struct api_verb api_verbs[API_VERB_COUNT];

/* Return the verb of this name, or NULL. */
const struct api_verb *api_verb_find(struct text name);
/* Return the verb of a key for a pool in this state, or NULL. */
const struct api_verb *api_verb_of_key(char key, struct text state);

#endif
