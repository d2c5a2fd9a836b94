/* A headless Chromium with one page, controlled by its devtools protocol over a pipe. It
 * connects to this machine only. Errors fail the test; every wait has a deadline. It dies with
 * the test. */
#ifndef HARNESS_BROWSER_H
#define HARNESS_BROWSER_H

#include <jansson.h>
#include <stdbool.h>

/* A name of somebody else's, which it resolves to 127.0.0.1. */
#define BROWSER_REBOUND "evil.example"

struct browser;

/* Start it with its profile in folder. */
struct browser *browser_start(const char *folder);
/* Stop it. NULL is allowed. */
void browser_free(struct browser *);

/* Send a command and return its result, which moves out. params moves in, or is NULL. */
json_t *browser_command(struct browser *, const char *method, json_t *params);
/* Open a URL and wait until it is loaded. */
void browser_open(struct browser *, const char *url);
/* Set the size of the window in CSS pixels; is_phone: also emulate touch and a mobile viewport. */
void browser_resize(struct browser *, int width, int height, bool is_phone);
/* Emulate a setting of the user: "prefers-color-scheme", "dark". */
void browser_emulate(struct browser *, const char *feature, const char *value);
/* Press a key: "Tab", "Enter". */
void browser_press(struct browser *, const char *key);

/* The value of a JavaScript expression; of a promise, its result. */
json_t *browser_value(struct browser *, const char *expression);
/* The same for a text; moves out. */
char *browser_text(struct browser *, const char *expression);
/* Poll until the expression is true, or fail at the deadline. */
void browser_await(struct browser *, const char *expression);

/* The URLs that the page has requested since it was opened; borrowed. */
const json_t *browser_requests(const struct browser *);
/* Warnings and errors on the console: an array of texts, borrowed. */
const json_t *browser_warnings(const struct browser *);
/* Save the whole page as a PNG file. */
void browser_picture(struct browser *, const char *path);

#endif
