/* Broker addresses: refused with words, or taken and then printed as what is taken again. Wherever
 * a password stands, nobody is told it. */
#include "config/config.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

const struct fuzz_memory fuzz_memory = {.base = 16 * 1024, .multiple = 128};

#define SECRET "Zq7Xw9"

static bool holds(struct text t, const char *word)
{
	return t.len > 0 && memmem(t.ptr, t.len, word, strlen(word)) != NULL;
}

/* NUL-terminated, in a block of exactly its size. */
static char *string_of(struct text t)
{
	char *string = malloc(t.len + 1);
	FUZZ_REQUIRE(string);
	memcpy(string, t.ptr, t.len);
	string[t.len] = '\0';
	return string;
}

static void check_print(const struct broker_url *url, bool is_secret)
{
	struct broker_url again;
	struct buf out, second;
	char problem[256], shown[600];
	buf_init(&out, SIZE_MAX);
	buf_init(&second, SIZE_MAX);
	broker_url_print(url, &out);
	buf_append_byte(&out, '\0');
	FUZZ_REQUIRE(broker_url_parse((char *)out.bytes + out.head, &again, problem,
			     sizeof problem) == RC_OK);
	broker_url_print(&again, &second);
	buf_append_byte(&second, '\0');
	FUZZ_REQUIRE(text_is(buf_text(&out), buf_text(&second)));
	broker_url_shown(url, shown, sizeof shown);
	FUZZ_REQUIRE(!is_secret || !holds(buf_text(&out), SECRET));
	FUZZ_REQUIRE(!is_secret || !strstr(shown, SECRET));
	broker_url_release(&again);
	buf_release(&out);
	buf_release(&second);
}

static void check_one(char *address, bool is_secret)
{
	struct broker_url url;
	char problem[256] = "";
	enum rc rc = broker_url_parse(address, &url, problem, sizeof problem);
	FUZZ_REQUIRE(rc == RC_OK || (rc == RC_MALFORMED && *problem));
	FUZZ_REQUIRE(!is_secret || !strstr(problem, SECRET));
	if (rc == RC_OK) {
		check_print(&url, is_secret);
		broker_url_release(&url);
	}
	broker_url_hide_password(address);
	FUZZ_REQUIRE(!is_secret || !strstr(address, SECRET));
}

static void check_list(const char *addresses, bool is_secret)
{
	struct broker_url *urls;
	struct problems problems = {0};
	size_t count;
	enum rc rc = config_load_broker(addresses, NULL, &urls, &count, &problems);
	FUZZ_REQUIRE(rc == RC_OK || (rc == RC_REFUSED && problems.count > 0));
	for (size_t i = 0; i < problems.count; i++)
		FUZZ_REQUIRE(!is_secret || !strstr(problems.list[i].message, SECRET));
	if (rc == RC_OK)
		broker_urls_free(urls, count);
	problems_release(&problems);
}

/* The input around a password that stands in the user information, without a doubt. */
static char *with_secret(struct text input)
{
	struct feed feed = {input};
	struct text user = feed_short(&feed), rest = feed.rest;
	static const char before[] = "amqp://", secret[] = ":" SECRET "@";
	struct buf out;
	for (size_t i = 0; i < user.len; i++)
		if (strchr("/?#@,:", user.ptr[i])) /* a NUL, too */
			return NULL;
	if (holds(input, SECRET))
		return NULL;
	buf_init(&out, SIZE_MAX);
	buf_append(&out, before, strlen(before));
	buf_append_text(&out, user);
	buf_append(&out, secret, strlen(secret));
	buf_append_text(&out, rest);
	char *address = string_of(buf_text(&out));
	buf_release(&out);
	return address;
}

void fuzz_one(struct text input)
{
	char *address = string_of(input);
	check_list(address, false);
	check_one(address, false);
	free(address);
	address = with_secret(input);
	if (!address)
		return;
	check_list(address, true);
	check_one(address, true);
	free(address);
}
