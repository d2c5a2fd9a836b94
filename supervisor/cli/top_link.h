/* A connection to a control socket that is kept and never waited for. Layer: cli.
 * One question at a time; while its answer is on its way, descriptors of the caller's are watched,
 * too. What went wrong is told in words, and nothing is printed. */
#ifndef CLI_TOP_LINK_H
#define CLI_TOP_LINK_H

#include "cli/question.h"

#include <jansson.h>

struct top_link {
	struct curl curl;
	CURLM *multi;
	CURL *handle;
	const char *socket; /* borrowed: what the command line says, or NULL */
	struct control_paths paths;
	size_t at; /* of paths: where the last one that answered listens */
	size_t tried;
	struct question question;
	struct buf answer;
	CURLcode begun; /* else why the question could not even begin */
	bool is_asking;
};

struct top_reply {
	long status;     /* of HTTP; 0: there was no answer */
	json_t *json;    /* owned; NULL: there is none */
	char words[256]; /* without JSON: why; with another status than 200: what was said */
};

/* RC_NOT_FOUND, RC_MEMORY: *ret_why says it, static, and there is nothing to release. */
enum rc top_link_init(struct top_link *, const char *socket, const char **ret_why) MUST_CHECK;
void top_link_release(struct top_link *);
/* As struct question has them, borrowed until the reply; none is on its way. */
void top_link_ask(struct top_link *, const char *method, const char *path, const char *pool);
/* Until the reply is there, one of fds is readable, or timeout_ms are over. True: *ret is the
 * reply, which may be that there is none. */
bool top_link_wait(struct top_link *, struct curl_waitfd fds[], unsigned count, int timeout_ms,
	struct top_reply *ret);

#endif
