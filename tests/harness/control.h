/* Questions to the control socket of the site's supervisor, by our own HTTP client. Fails the test
 * rather than returning an error. */
#ifndef HARNESS_CONTROL_H
#define HARNESS_CONTROL_H

#include <jansson.h>

/* The path of the site's: valid until the test ends, like all that is returned here. */
const char *control_socket(void);
/* The body of a GET, which must be answered by this status. */
char *control_get(const char *path, int status);
/* Frees the text. */
json_t *control_parse(char *text);
json_t *control_get_json(const char *path);
/* Asks until the answer has this status, or fails at the deadline. */
void control_await(const char *path, int status);

/* Member i of a list, an integer two levels deep, a text: each must be there. */
const json_t *control_member(const json_t *, const char *list, size_t i);
json_int_t control_number(const json_t *, const char *first, const char *second);
const char *control_words(const json_t *, const char *key);
void control_expect_words(const char *text, const char *needle);

/* Tasks with the ids from `from` to below `to`, to the site's queue. */
void control_post_many(int from, int to);
/* One that works for ten minutes; it is on its way when this returns. */
void control_post_slow(const char *id);
/* All tasks are settled, and so many were done, each once. */
void control_expect_done(int count);

#endif
