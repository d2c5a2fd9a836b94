#include "config/url_parts.h"

#include "config/nearest.h"

#include <string.h>

enum {
	FILE_NAME_MAX = 1024,
	SERVER_NAME_MAX = 253,
	HEARTBEAT_MAX = 65535,
	TIMEOUT_MAX_MS = 3600000
};

static enum rc set_heartbeat(struct url_parse *parse, struct text value)
{
	long seconds;
	if (!url_number(value, 0, HEARTBEAT_MAX, &seconds))
		return url_wrong(parse, "option heartbeat must be a number of seconds from 0 to %d",
			HEARTBEAT_MAX);
	parse->url.heartbeat_s = (int)seconds;
	return RC_OK;
}

static enum rc set_connection_timeout(struct url_parse *parse, struct text value)
{
	long timeout_ms;
	if (!url_number(value, 1, TIMEOUT_MAX_MS, &timeout_ms))
		return url_wrong(parse,
			"option connection_timeout must be a number of milliseconds from 1 to %d",
			TIMEOUT_MAX_MS);
	parse->url.connection_timeout = timeout_ms * MTIME_MS;
	return RC_OK;
}

static enum rc set_text(
	struct url_parse *parse, struct text value, const char *name, size_t most, char **ret)
{
	if (value.len == 0)
		return url_wrong(parse, "option %s has no value", name);
	return url_decode(parse, value, name, most, ret);
}

static enum rc set_cacertfile(struct url_parse *parse, struct text value)
{
	return set_text(parse, value, "cacertfile", FILE_NAME_MAX, &parse->url.cacertfile);
}

static enum rc set_certfile(struct url_parse *parse, struct text value)
{
	return set_text(parse, value, "certfile", FILE_NAME_MAX, &parse->url.certfile);
}

static enum rc set_keyfile(struct url_parse *parse, struct text value)
{
	return set_text(parse, value, "keyfile", FILE_NAME_MAX, &parse->url.keyfile);
}

static enum rc set_server_name(struct url_parse *parse, struct text value)
{
	return set_text(
		parse, value, "server_name_indication", SERVER_NAME_MAX, &parse->url.server_name);
}

static enum rc set_verify(struct url_parse *parse, struct text value)
{
	parse->url.verify = text_is(value, TEXT("verify_peer"));
	if (!parse->url.verify && !text_is(value, TEXT("verify_none")))
		return url_wrong(parse, "option verify must be verify_peer or verify_none");
	return RC_OK;
}

static enum rc set_auth_mechanism(struct url_parse *parse, struct text value)
{
	parse->url.external = text_is(value, TEXT("external"));
	if (!parse->url.external && !text_is(value, TEXT("plain")))
		return url_wrong(parse, "option auth_mechanism must be plain or external");
	return RC_OK;
}

/* The names stand apart from the rest because nearest_name wants a list that ends in NULL. */
static const char *const names[] = {"heartbeat", "connection_timeout", "cacertfile", "certfile",
	"keyfile", "verify", "server_name_indication", "auth_mechanism", NULL};

static const struct option {
	enum rc (*set)(struct url_parse *, struct text value);
	bool needs_tls;
} options[] = {
	{set_heartbeat, false},
	{set_connection_timeout, false},
	{set_cacertfile, true},
	{set_certfile, true},
	{set_keyfile, true},
	{set_verify, true},
	{set_server_name, true},
	{set_auth_mechanism, true},
};
_Static_assert(sizeof names / sizeof *names == sizeof options / sizeof *options + 1, "one each");

static enum rc unknown(struct url_parse *parse, struct text name)
{
	const char *nearest = nearest_name(name, names);
	return url_wrong(parse, "an option is unknown; %s%s", nearest ? "the nearest is " : "",
		nearest ? nearest
			: "there are heartbeat, connection_timeout, cacertfile, certfile, keyfile, "
			  "verify, server_name_indication and auth_mechanism");
}

static enum rc set_option(struct url_parse *parse, struct text option, unsigned *seen)
{
	struct text value;
	struct text name = url_split(option, '=', &value);
	size_t i = 0;
	while (names[i] && !text_is(name, text_from(names[i])))
		i++;
	if (!names[i])
		return unknown(parse, name);
	if (*seen & 1u << i)
		return url_wrong(parse, "option %s is given twice", names[i]);
	*seen |= 1u << i;
	if (options[i].needs_tls && !parse->url.tls)
		return url_wrong(parse, "option %s is for amqps:// only", names[i]);
	return options[i].set(parse, value);
}

enum rc url_parse_options(struct url_parse *parse, struct text query)
{
	unsigned seen = 0;
	while (query.len > 0) {
		struct text option = url_split(query, '&', &query);
		enum rc rc = option.len > 0 ? set_option(parse, option, &seen) : RC_OK;
		if (rc != RC_OK)
			return rc;
	}
	if (parse->url.keyfile && !parse->url.certfile)
		return url_wrong(parse, "option keyfile needs certfile beside it");
	return RC_OK;
}
