#include "control/access.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TOKEN_MIN     16 /* characters */
#define SCHEME        "Bearer "
#define PATH_MAX_SIZE 8192

/* ---------- the token ---------- */

/* NULL, or why there is no token. */
static const char *read_token(const char *file, char ret_token[PASSWORD_SIZE])
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY"), *problem;
	bool is_below = *file != '/' && folder;
	char path[PATH_MAX_SIZE];

	snprintf(path, sizeof path, "%s%s%s", is_below ? folder : "", is_below ? "/" : "", file);
	if (!password_file_read(path, ret_token, &problem))
		return problem;
	if (strlen(ret_token) < TOKEN_MIN)
		return "it is shorter than 16 characters";
	return NULL;
}

void access_read_token(struct access_token *token, const struct config *config)
{
	const char *file = config->http_token_file, *problem;

	access_forget_token(token);
	problem = file ? read_token(file, token->secret) : NULL;
	if (!problem)
		return;
	log_warn("http.token_file %s: %s; no request over TCP is an operator's until it is "
		 "corrected and wpool reloads",
		file, problem);
	access_forget_token(token);
}

const char *access_token_problem(const struct config *config)
{
	struct access_token token = {.secret = ""};
	const char *file = config->http_token_file;
	const char *problem = file ? read_token(file, token.secret) : NULL;

	access_forget_token(&token);
	return problem;
}

void access_forget_token(struct access_token *token)
{
	explicit_bzero(token, sizeof *token);
}

/* The time that it takes depends on the length of what was given only. */
static bool is_same_secret(const char *secret, const char *given)
{
	size_t len = strlen(secret), given_len = strlen(given);
	unsigned differences = len != given_len;

	for (size_t i = 0; i < given_len; i++)
		differences |= (unsigned)(secret[i < len ? i : len] ^ given[i]);
	return differences == 0;
}

static bool has_token(const struct access_token *token, const struct http_request *request)
{
	const char *given = http_header(request, "Authorization");

	return *token->secret && given && strncasecmp(given, SCHEME, strlen(SCHEME)) == 0 &&
	       is_same_secret(token->secret, given + strlen(SCHEME));
}

/* ---------- who may ask ---------- */

bool access_is_operator(const struct access_token *token, const struct http_request *request)
{
	return request->is_local || has_token(token, request);
}

const char *access_refusal(const struct supervisor_view *view, const struct http_request *request,
	enum access access, unsigned *ret_status)
{
	if (access == ACCESS_OPEN || request->is_local ||
		(access == ACCESS_OPERATOR && request->is_operator))
		return NULL;
	*ret_status = 403;
	if (access == ACCESS_SOCKET)
		return "only the control socket answers this, not TCP (docs/control.md)";
	if (!view->config->http_token_file)
		return "only the control socket answers this, or TCP with http.token_file "
		       "(docs/control.md)";
	*ret_status = 401;
	return "the token is missing or wrong: Authorization: Bearer, and what is in "
	       "http.token_file (docs/control.md)";
}

const char *access_name(const struct supervisor_view *view, bool is_operator)
{
	return is_operator ? "operator" : view->config->http_token_file ? "token" : "read";
}

/* ---------- pages of others ---------- */

static bool has_foreign_origin(const struct http_request *request)
{
	const char *origin = http_header(request, "Origin"), *host = http_header(request, "Host");
	unsigned count = http_header_count(request, "Origin");

	if (count == 0)
		return false;
	if (count > 1 || !origin || !host)
		return true;
	if (strncasecmp(origin, "http://", 7) == 0)
		return strcasecmp(origin + 7, host) != 0;
	return strncasecmp(origin, "https://", 8) != 0 || strcasecmp(origin + 8, host) != 0;
}

/* Fetch Metadata (W3C). A site has all ports of its host, so same-site is foreign as well. */
static bool has_foreign_site(const struct http_request *request)
{
	const char *site = http_header(request, "Sec-Fetch-Site");

	return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* A browser may reach the socket through a tunnel, and any page in it may send a POST, with its
 * Origin, or a GET, which need not have one. */
bool access_is_foreign(const struct http_request *request)
{
	return has_foreign_origin(request) || has_foreign_site(request);
}
