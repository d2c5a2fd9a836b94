/* Requests to the control socket of the fixture's supervisor, by the tests' own HTTP client. Errors
 * fail the test. */
#ifndef HARNESS_CONTROL_H
#define HARNESS_CONTROL_H

#include <jansson.h>

/* The fixture's control socket; valid until the test ends, like everything returned here. */
const char *control_socket(void);
/* The body of a GET that must have this status. */
char *control_get(const char *path, int status);
/* Parse JSON; frees the text. */
json_t *control_parse(char *text);
json_t *control_get_json(const char *path);
/* Poll until the response has this status, or fail at the deadline. */
void control_await(const char *path, int status);

/* Member i of a list, an integer two levels deep, a text: each must exist. */
const json_t *control_member(const json_t *, const char *list, size_t i);
json_int_t control_number(const json_t *, const char *first, const char *second);
const char *control_text(const json_t *, const char *key);
void control_expect_text(const char *text, const char *needle);

/* A figure of the only pool. */
json_int_t control_figure(const char *first, const char *second);
/* Poll until it has this value, or fail at the deadline. */
void control_await_figure(const char *first, const char *second, json_int_t value);

/* Publish tasks with ids from `from` to below `to` to the fixture's queue. */
void control_post_many(int from, int to);
/* All tasks are settled, and so many were done, each once. */
void control_expect_done(int count);

#endif
