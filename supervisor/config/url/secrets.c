#include "config/url/secrets.h"

#include "config/url/url.h"
#include "config/value/environment.h"
#include "config/value/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { EXPANDED_MAX = 64 * 1024 };

/* Around the value of the variable in question. No address may contain these bytes. */
enum { VALUE_BEGINS = '\1', VALUE_ENDS = '\2' };

bool secrets_has(char *const *names, const char *entry)
{
	for (; names && *names; names++) {
		size_t len = strlen(*names);
		if (strncmp(*names, entry, len) == 0 && (entry[len] == '=' || entry[len] == '\0'))
			return true;
	}
	return false;
}

/* In upper or lower case, anywhere in the name. */
static bool has_secret_word(struct text name)
{
	static const char *const words[] = {"PASS", "PWD", "SECRET", "TOKEN", "KEY", "CREDENTIAL"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t len = strlen(words[i]);
		for (size_t at = 0; at + len <= name.len; at++)
			if (strncasecmp(name.ptr + at, words[i], len) == 0)
				return true;
	}
	return false;
}

bool secrets_are_in(char *const *names, struct text written)
{
	struct text name;
	while (environment_next_name(&written, &name)) {
		if (has_secret_word(name))
			return true;
		for (char *const *known = names; known && *known; known++)
			if (text_is(name, text_from(*known)))
				return true;
	}
	return false;
}

static enum rc add_name(char ***names, struct text name)
{
	char *const *known = *names;
	for (; known && *known; known++)
		if (text_is(name, text_from(*known)))
			return RC_OK;
	return words_append(names, name);
}

enum rc secrets_add_all(char ***names, char *const *more)
{
	enum rc rc = RC_OK;
	for (; more && *more && rc == RC_OK; more++)
		rc = add_name(names, text_from(*more));
	return rc;
}

enum rc secrets_add_named(char ***names, char *const *environment)
{
	enum rc rc = add_name(names, TEXT("AMQP_URL"));
	if (rc == RC_OK)
		rc = add_name(names, TEXT("RABBITMQ_PASSWORD"));
	if (rc == RC_OK && environment_value(environment, "RABBITMQ_HOSTNAME"))
		rc = add_name(names, TEXT("PASSWORD"));
	return rc;
}

/* ---------- what the file expands ---------- */

/* True if a marked value reaches into the password. address: without commas. *is_inside: whether
 * its first byte is of a marked value, and then the byte behind it. */
static bool reaches_password(struct text address, bool *is_inside)
{
	struct text password = broker_url_password(address);
	bool found = false;
	for (const char *at = address.ptr; at < address.ptr + address.len; at++) {
		if (*at == VALUE_BEGINS)
			*is_inside = true;
		else if (*at == VALUE_ENDS)
			*is_inside = false;
		else if (*is_inside && password.len > 0 && at >= password.ptr &&
			 at < password.ptr + password.len)
			found = true;
	}
	return found;
}

static bool is_marked_secret(struct text expanded)
{
	bool is_inside = false, found = false;
	do
		found |= reaches_password(url_split(expanded, ',', &expanded), &is_inside);
	while (expanded.ptr);
	return found;
}

/* Expand with marks around the value of this entry. environment: a copy that has it at `at`. */
static enum rc check_entry(struct text written, char **environment, size_t at, bool *ret_is_secret)
{
	char *entry = environment[at], *marked;
	struct text value, name = url_split(text_from(entry), '=', &value), unset;
	struct buf expanded;
	int len = asprintf(&marked, "%.*s=%c%.*s%c", TEXT_ARGS(name), VALUE_BEGINS,
		TEXT_ARGS(value), VALUE_ENDS);
	if (len < 0)
		return RC_MEMORY;
	environment[at] = marked;
	buf_init(&expanded, EXPANDED_MAX);
	enum rc rc = environment_expand(written, environment, &expanded, &unset);
	struct text text = buf_text(&expanded);
	bool is_used = rc == RC_OK && text.len > 0 && memchr(text.ptr, VALUE_BEGINS, text.len);
	/* "://" in a value: it has whole addresses. */
	*ret_is_secret =
		is_used && (memmem(value.ptr, value.len, "://", 3) || is_marked_secret(text));
	buf_release(&expanded);
	environment[at] = entry;
	free(marked);
	return rc == RC_MEMORY ? RC_MEMORY
			       : RC_OK; /* others were reported when the file was read */
}

enum rc secrets_add_expanded(char ***names, struct text written, char *const *environment)
{
	size_t count = words_count(environment);
	char **copy = calloc(count + 1, sizeof *copy);
	enum rc rc = copy ? RC_OK : RC_MEMORY;
	for (size_t i = 0; copy && i < count; i++)
		copy[i] = environment[i];
	for (size_t i = 0; i < count && rc == RC_OK; i++) {
		struct text value, name = url_split(text_from(copy[i]), '=', &value);
		bool is_secret = false;
		if (name.len == 0 || value.len == 0 ||
			!memmem(written.ptr, written.len, name.ptr, name.len))
			continue;
		rc = check_entry(written, copy, i, &is_secret);
		if (rc == RC_OK && is_secret)
			rc = add_name(names, name);
	}
	free(copy);
	return rc;
}

/* ---------- what contains a password ---------- */

/* In place. What is no encoding stays. */
static size_t decode(char *bytes, size_t len)
{
	size_t out = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned byte;
		char digits[3] = {
			i + 2 < len ? bytes[i + 1] : ' ', i + 2 < len ? bytes[i + 2] : ' '};
		bool is_encoded = bytes[i] == '%' && isxdigit((unsigned char)digits[0]) &&
				  isxdigit((unsigned char)digits[1]) &&
				  sscanf(digits, "%2x", &byte) == 1;
		bytes[out++] = is_encoded ? (char)byte : bytes[i];
		i += is_encoded ? 2 : 0;
	}
	return out;
}

static bool contains(struct text value, struct text decoded, const char *sought)
{
	size_t len = strlen(sought);
	return memmem(value.ptr, value.len, sought, len) ||
	       memmem(decoded.ptr, decoded.len, sought, len);
}

static enum rc add_those_with(char ***names, const char *sought, char *const *environment)
{
	enum rc rc = RC_OK;
	for (; environment && *environment && rc == RC_OK; environment++) {
		struct text value, name = url_split(text_from(*environment), '=', &value);
		if (name.len == 0 || value.len == 0)
			continue;
		char *decoded = strndup(value.ptr, value.len);
		if (!decoded)
			return RC_MEMORY;
		if (contains(value, text_of(decoded, decode(decoded, value.len)), sought))
			rc = add_name(names, name);
		explicit_bzero(decoded, value.len);
		free(decoded);
	}
	return rc;
}

enum rc secrets_add_containing(
	char ***names, const struct broker_url *urls, size_t count, char *const *environment)
{
	char sought[1024 + 3];
	enum rc rc = RC_OK;
	for (; count > 0 && rc == RC_OK; count--, urls++) {
		size_t len = strlen(urls->password);
		bool is_long = len >= SECRETS_LENGTH_MIN;
		if (len == 0 || urls->password_file || strcmp(urls->password, "guest") == 0)
			continue;
		snprintf(sought, sizeof sought, "%s%s%s", is_long ? "" : ":", urls->password,
			is_long ? "" : "@");
		rc = add_those_with(names, sought, environment);
	}
	explicit_bzero(sought, sizeof sought);
	return rc;
}
