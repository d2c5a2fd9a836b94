/* Who may ask what: the control socket is for operators, and so is TCP with the token of
 * http.token_file. Layer: control. */
#ifndef CONTROL_ACCESS_H
#define CONTROL_ACCESS_H

#include "http/http.h"
#include "runtime/supervisor_view.h"

/* Of a path. */
enum access {
	ACCESS_OPEN,     /* changes nothing, and shows pools, workers and the broker, no messages */
	ACCESS_OPERATOR, /* at the control socket, or with the token */
	ACCESS_SOCKET,   /* at the control socket only */
};

/* Log what is wrong with the token's file, if one is configured. At the start. */
void access_check_token_file(const struct config *);
/* Whether the client is an operator. Over TCP this reads the token's file, but only for a request
 * that has a token. */
bool access_is_operator(const struct supervisor_view *, const struct http_request *);
/* NULL, or why the request is refused, with *ret_status. */
const char *access_refusal(const struct supervisor_view *, const struct http_request *, enum access,
	unsigned *ret_status);
/* False: it comes from a page of another origin, which a browser names in each POST. */
bool access_is_own_origin(const struct http_request *);
/* "operator"; "token": would be with the token; "read": cannot be one. */
const char *access_name(const struct supervisor_view *, bool is_operator);

#endif
