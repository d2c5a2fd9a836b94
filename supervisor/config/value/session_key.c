#include "config/value/session_key.h"

static const char *const properties[] = {
#define X(property, name) name,
	CONFIG_KEY_PROPERTIES(X)
#undef X
		NULL};

/* Headers of the broker that differ each time the message is delivered. */
static const char *const counts[] = {"x-delivery-count", "x-acquired-count", NULL};

static const char *parse_header(struct text name, struct session_key *ret)
{
	if (name.len == 0)
		return ", which names no header; header:NAME is needed";
	if (text_starts(name, TEXT("x-wpool-")))
		return ", which is a header of wpool; one that the publisher sets is needed";
	if (counts[text_index(name, counts)])
		return ", which the broker changes; one that the publisher sets is needed";
	*ret = (struct session_key){.kind = SESSION_KEY_HEADER, .header = name};
	return NULL;
}

static const char *parse_property(struct text name, struct session_key *ret)
{
	size_t property = text_index(name, properties);

	if (!properties[property])
		return "; one of these properties is needed:"
#define X(property, name) " " name
			CONFIG_KEY_PROPERTIES(X)
#undef X
				;
	*ret = (struct session_key){
		.kind = SESSION_KEY_PROPERTY, .property = (enum config_key_property)property};
	return NULL;
}

const char *session_key_parse(struct text setting, struct session_key *ret)
{
	static const struct text header = {"header:", 7}, property = {"property:", 9};

	if (text_starts(setting, header))
		return parse_header(
			text_of(setting.ptr + header.len, setting.len - header.len), ret);
	if (text_starts(setting, property))
		return parse_property(
			text_of(setting.ptr + property.len, setting.len - property.len), ret);
	if (!text_is(setting, TEXT("routing_key")))
		return "; header:NAME, property:NAME or routing_key is needed";
	*ret = (struct session_key){.kind = SESSION_KEY_ROUTING_KEY};
	return NULL;
}
