/* What the files of the url module share. Layer: config; for url*.c and listen.c alone. */
#ifndef CONFIG_URL_PARTS_H
#define CONFIG_URL_PARTS_H

#include "config/url.h"

/* One parse on its way. */
struct url_parse {
	struct broker_url url;
	char *problem; /* borrowed */
	size_t room;
};

/* Notes the words and returns RC_MALFORMED. */
enum rc url_wrong(struct url_parse *, const char *format, ...) PRINTF_LIKE(2, 3) MUST_CHECK;
/* A copy of t with its percent-encoding undone, of at most `most` bytes and no NUL. what names the
 * part for people. On RC_OK *ret, freed first, owns it. */
enum rc url_decode(
	struct url_parse *, struct text t, const char *what, size_t most, char **ret) MUST_CHECK;
/* A decimal number from least to most and nothing else. */
bool url_number(struct text t, long least, long most, long *ret) MUST_CHECK;
/* The part of t before the first c; *ret_rest is what follows it, and ptr is NULL without a c. */
struct text url_split(struct text t, char c, struct text *ret_rest);
/* The query: "name=value&name=value". */
enum rc url_parse_options(struct url_parse *, struct text query) MUST_CHECK;

#endif
