/* Answers of the control API: JSON documents, lists that are made while they are sent, refusals.
 * Layer: control. jansson makes the objects; out of memory they are NULL, and the answer is 503.
 * json_pack's `s` refuses what is not UTF-8: texts that are not ours go through json_text. */
#ifndef CONTROL_ANSWER_H
#define CONTROL_ANSWER_H

#include "base/buf.h"
#include "base/mtime.h"
#include "http/http.h"
#include "runtime/health.h"
#include "tty/json_print.h"

#include <jansson.h>

#define CONTROL_JSON_TYPE "application/json"
/* One JSON document on each line. */
#define CONTROL_LINES_TYPE "application/x-ndjson"

/* Seconds; null for MTIME_NEVER. */
json_t *control_json_span(mtime);
/* Seconds from now until then, or from then until now; at least 0; null for MTIME_NEVER. */
json_t *control_json_until(mtime then);
json_t *control_json_since(mtime then);
/* A connection to the broker: up, reconnects, last_failure; only its kind if the client is no
 * operator. */
json_t *control_json_link(struct link_facts, bool is_operator);
/* Append to array, which moves in, a text for each cause in the set. */
json_t *control_json_add_causes(
	json_t *array, const struct health *, unsigned set, bool with_pool_name);

/* A parameter that is true or false, and false where it is not given. Zeroed: not given yet. */
struct control_bool {
	bool value, is_given;
};

/* Take the value of a parameter of the query. False: it is neither, or was given before. */
bool control_bool_take(struct control_bool *, struct text value) MUST_CHECK;
/* Read NAME=true or NAME=false of the query, false where there is none. False: there is another
 * value or several, and the request was refused. */
bool control_read_bool(const struct http_request *, const char *name, bool *ret) MUST_CHECK;
/* Answer with a document, which moves in. */
void control_answer_json(const struct http_request *, unsigned status, json_t *);
/* Answer {"error": what}. allow: the methods of a 405, else NULL. */
void control_refuse(
	const struct http_request *, unsigned status, const char *what, const char *allow);
/* 503, out of memory. */
void control_refuse_memory(const struct http_request *);
/* The same for an answer that comes later, with a status that is true of what has happened. */
void control_refuse_memory_later(struct http_exchange *, unsigned status);
/* 404 with the names of some pools that exist. */
void control_refuse_pool(
	const struct supervisor_view *, const struct http_request *, struct text name);
/* Find the pool of /v1/pools/NAME/...: NULL for a path without one. False: there is no such pool,
 * and the request was refused. */
bool control_find_pool(
	const struct supervisor_view *, const struct http_request *, struct pool_runtime **ret);

/* Find the pool of ?pool=NAME; serial 0: the query has none. False: there is no such pool, and the
 * request was refused. */
bool control_find_pool_of_query(
	const struct supervisor_view *, const struct http_request *, uint32_t *ret_serial);

/* A document {"NAME":[...]}, one member a line. */
struct control_list {
	const struct supervisor_view *view;
	const char *name; /* static */
	/* Append the next member, or none, and advance; false: no more members. */
	bool (*append_next)(struct control_list *, struct buf *out);
	/* True: the answer waits, and the list is not begun; NULL: it does not */
	bool (*waits)(const struct control_list *);
	json_t *first;          /* owned: a member before the list; NULL: none */
	const char *first_name; /* static */
	uint32_t only;          /* serial of a pool runtime; 0: all */
	bool is_operator;       /* the client may see texts of messages */
	size_t place;           /* position: of the pool, and in it */
	uint16_t slot;
	bool has_begun, has_members, has_ended;
};

/* Answer with the list. list: name, append_next, waits, first, first_name and only are set; copied.
 */
void control_answer_list(
	const struct supervisor_view *, const struct http_request *, struct control_list list);
/* The same; ?pool=NAME in the query sets only. */
void control_answer_list_of_query(
	const struct supervisor_view *, const struct http_request *, struct control_list list);
bool control_list_wants(const struct control_list *, const struct pool_runtime *);
/* The member moves in. */
void control_list_append(struct control_list *, struct buf *out, json_t *member);

#endif
