/* Who may ask what: the control socket is for operators, and so is TCP with the token of
 * http.token_file. Layer: control. */
#ifndef CONTROL_ACCESS_H
#define CONTROL_ACCESS_H

#include "http/http.h"
#include "net/password_file.h"
#include "runtime/supervisor_view.h"

/* Of a path. */
enum access {
	ACCESS_OPEN,     /* changes nothing, and shows pools, workers and the broker, no messages */
	ACCESS_OPERATOR, /* at the control socket, or with the token */
	ACCESS_SOCKET,   /* at the control socket only */
};

/* Of http.token_file. It is kept in memory, so that no request makes the loop wait for a disk. */
struct access_token {
	char secret[PASSWORD_SIZE]; /* empty: there is none */
};

/* At the start and after a reload: the file may have another one. If there is a file but no token
 * in it, the reason is logged. */
void access_read_token(struct access_token *, const struct config *);
void access_forget_token(struct access_token *);
/* Why that would find no token; NULL: it would, or none is configured. */
const char *access_token_problem(const struct config *);
/* Whether the client is an operator. */
bool access_is_operator(const struct access_token *, const struct http_request *);
/* NULL, or why the request is refused, with *ret_status. */
const char *access_refusal(const struct supervisor_view *, const struct http_request *, enum access,
	unsigned *ret_status);
/* It comes from a page of another origin in a browser: by Origin or Sec-Fetch-Site. */
bool access_is_foreign(const struct http_request *);
/* "operator"; "token": would be with the token; "read": cannot be one. */
const char *access_name(const struct supervisor_view *, bool is_operator);

#endif
