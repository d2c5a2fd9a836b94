/* The methods and paths of the control API, and the functions that answer them. Layer: control. */
#ifndef CONTROL_ROUTES_H
#define CONTROL_ROUTES_H

#include "control/access.h"
#include "http/http.h"
#include "runtime/supervisor_view.h"

#include <jansson.h>

struct control_list;

void control_answer(
	const struct supervisor_view *, const struct access_token *, const struct http_request *);

/* The functions that answer, each in the file of its name. */
void control_answer_metrics(const struct supervisor_view *, const struct http_request *);
void control_answer_status(const struct supervisor_view *, const struct http_request *);
void control_answer_pools(const struct supervisor_view *, const struct http_request *);
/* only: the serial of one; 0: all. */
void control_answer_pools_only(const struct supervisor_view *, const struct http_request *,
	uint32_t only, bool (*waits)(const struct control_list *));
void control_answer_workers(const struct supervisor_view *, const struct http_request *);
void control_answer_history(const struct supervisor_view *, const struct http_request *);
void control_answer_reload(const struct supervisor_view *, const struct http_request *);
void control_answer_verb(const struct supervisor_view *, const struct http_request *);
void control_answer_sessions(const struct supervisor_view *, const struct http_request *);
void control_answer_session_verb(const struct supervisor_view *, const struct http_request *);
void control_answer_logs(const struct supervisor_view *, const struct http_request *);
void control_answer_log_level(const struct supervisor_view *, const struct http_request *);
void control_answer_dead_letters(const struct supervisor_view *, const struct http_request *);
void control_answer_publish(const struct supervisor_view *, const struct http_request *);
void control_answer_throttles(const struct supervisor_view *, const struct http_request *);
void control_answer_stop(const struct supervisor_view *, const struct http_request *);

/* The document of GET /v1/status, for an operator or another client; NULL: out of memory. */
json_t *control_json_status(const struct supervisor_view *, bool is_operator);

/* Connections that followers of the log may keep; and followers together with clients that wait for
 * a stop. */
#define CONTROL_FOLLOWERS 8
#define CONTROL_WAITERS   16
/* The error text of a 503. */
#define CONTROL_CROWDED "too many clients wait or follow already"

#endif
