/* A headless Chromium with one page, steered by its devtools protocol over a pipe. Talks to nobody
 * but this machine. Fails the test rather than returning an error; every wait has a deadline. It
 * dies with the test. */
#ifndef HARNESS_BROWSER_H
#define HARNESS_BROWSER_H

#include <jansson.h>
#include <stdbool.h>

struct browser;

/* Its profile is kept in folder. */
struct browser *browser_start(const char *folder);
/* Ends it. NULL is legal. */
void browser_free(struct browser *);

/* params moves in, or NULL; the result, owned by the caller. */
json_t *browser_command(struct browser *, const char *method, json_t *params);
/* Waits until it is loaded. */
void browser_open(struct browser *, const char *url);
/* The window, in pixels of CSS; with a phone's, what is touched and how wide a page may be, too. */
void browser_resize(struct browser *, int width, int height, bool is_phone);
/* What the user has set: "prefers-color-scheme", "dark". */
void browser_prefer(struct browser *, const char *feature, const char *value);
/* A key: "Tab", "Enter". */
void browser_press(struct browser *, const char *key);

/* The value of a JavaScript expression; of a promise, what comes of it. */
json_t *browser_value(struct browser *, const char *expression);
/* One that is a text; owned by the caller. */
char *browser_text(struct browser *, const char *expression);
/* Asks until the expression is true, or fails at the deadline. */
void browser_await(struct browser *, const char *expression);

/* What the page asked for since it was opened: an array of URLs, borrowed. */
const json_t *browser_requests(const struct browser *);
/* What the console says that is no mere information; an array of texts, borrowed. */
const json_t *browser_complaints(const struct browser *);
/* All of the page as a PNG file. */
void browser_picture(struct browser *, const char *path);

#endif
