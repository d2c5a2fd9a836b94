/* The verbs of a session, such as drain. Layer: api, plain data. session_verbs.def is the only list
 * of them. It feeds `wpool session`, the paths of the control API and docs/control.md. */
#ifndef API_SESSION_VERBS_H
#define API_SESSION_VERBS_H

#include "base/text.h"

enum api_session_verb_id {
#define SESSION_VERB(ID, ...) API_SESSION_##ID,
#include "api/session_verbs.def"
	API_SESSION_VERB_COUNT
};

struct api_session_verb {
	const char *name;     /* the last part of its path */
	const char *summary;  /* its line in `wpool session --help` */
	const char *effect;   /* its cell in docs/control.md */
	const char *done;     /* printed when it has begun */
	const char *wait;     /* how long its request can wait; NULL: it takes effect at once */
	bool takes_queued;    /* needs the place where the queued tasks go: api_session_queued */
	bool is_about_queued; /* its answer has their number */
	bool begins;          /* takes a key that has no session yet */
};

/* Indexed by enum api_session_verb_id. */
extern const struct api_session_verb api_session_verbs[API_SESSION_VERB_COUNT];
/* What takes_queued takes, NULL-terminated, in the order of enum session_queued (core/event.h). */
extern const char *const api_session_queued[];

/* Return the verb of this name, or NULL. */
const struct api_session_verb *api_session_verb_find(struct text name);

#endif
