/* What can be asked of a supervisor: methods, paths, and who answers. Layer: cli. */
#ifndef CLI_CONTROL_ROUTES_H
#define CLI_CONTROL_ROUTES_H

#include "cli/overview.h"
#include "io/http.h"

void control_answer(const struct overview *, const struct http_request *);

/* The answers, each in a file of its own. */
void control_answer_live(const struct overview *, const struct http_request *);
void control_answer_ready(const struct overview *, const struct http_request *);
void control_answer_page(const struct overview *, const struct http_request *);
void control_answer_metrics(const struct overview *, const struct http_request *);
void control_answer_status(const struct overview *, const struct http_request *);
void control_answer_pools(const struct overview *, const struct http_request *);
/* only: the serial of one; 0: all. */
void control_answer_pools_only(const struct overview *, const struct http_request *, uint32_t only);
void control_answer_workers(const struct overview *, const struct http_request *);
void control_answer_reload(const struct overview *, const struct http_request *);
void control_answer_steer(const struct overview *, const struct http_request *);
void control_answer_logs(const struct overview *, const struct http_request *);
void control_answer_log_level(const struct overview *, const struct http_request *);
void control_answer_stop(const struct overview *, const struct http_request *);
/* Of the places for connections so many may be kept by those who follow the log; and some more by
 * those who wait for our end. */
#define CONTROL_FOLLOWERS 8
#define CONTROL_WAITERS   16
/* For 503. */
#define CONTROL_CROWDED "too many wait or follow already"
/* ?NAME=true */
bool control_is_true(const struct http_request *, const char *name);
/* Static. */
const char *control_phase_words(enum phase);
/* There is no pool of that name; some of those that there are are named. */
void control_refuse_pool(const struct overview *, const struct http_request *, struct text name);
/* {"error": what}. allow: of 405. */
void control_refuse(
	const struct http_request *, unsigned status, const char *what, const char *allow);

#endif
