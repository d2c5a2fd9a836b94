#include "config/value/session_key.h"

/* Headers of wpool, of the broker, and of which there are no texts. */
static const char *const refused[] = {
	"CC", "BCC", "x-death", "x-delivery-count", "x-acquired-count", NULL};
static const char *const refused_prefixes[] = {"x-wpool-", "x-first-death-", "x-last-death-", NULL};

/* Not user_id, expiration and cluster_id, which a dead letter does not keep. */
static const char *const properties[] = {"correlation_id", "message_id", "type", "app_id",
	"reply_to", "content_type", "content_encoding", NULL};

static const char *header_problem(struct text name)
{
	static const char taken[] =
		", a header of wpool or the broker; one that publishers set is needed";

	if (name.len == 0)
		return ", which names no header; header:NAME is needed";
	for (const char *const *prefix = refused_prefixes; *prefix; prefix++)
		if (text_starts(name, text_from(*prefix)))
			return taken;
	return refused[text_index(name, refused)] ? taken : NULL;
}

static const char *property_problem(struct text name)
{
	return properties[text_index(name, properties)]
		       ? NULL
		       : "; a property that can be a key is correlation_id, message_id, type, "
			 "app_id, reply_to, content_type or content_encoding";
}

/* form: what is needed, behind a value of another form. */
static const char *problem_of(struct text setting, const char *form)
{
	static const struct text header = {"header:", 7}, property = {"property:", 9};

	if (text_starts(setting, header))
		return header_problem(text_of(setting.ptr + header.len, setting.len - header.len));
	if (text_starts(setting, property))
		return property_problem(
			text_of(setting.ptr + property.len, setting.len - property.len));
	return text_is(setting, TEXT("routing_key")) ? NULL : form;
}

const char *session_key_problem(struct text setting)
{
	return problem_of(setting, "; header:NAME, property:NAME or routing_key is needed");
}

const char *throttle_key_problem(struct text setting)
{
	static const char form[] = "; header:NAME, property:NAME, routing_key or session is needed";

	return text_is(setting, TEXT("session")) ? NULL : problem_of(setting, form);
}
