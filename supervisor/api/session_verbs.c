#include "api/session_verbs.h"

const struct api_session_verb api_session_verbs[API_SESSION_VERB_COUNT] = {
#define SESSION_VERB(ID, verb, text, ...)                                                          \
	[API_SESSION_##ID] = {.name = #verb, .summary = text, __VA_ARGS__},
#include "api/session_verbs.def"
};

const char *const api_session_queued[] = {"dead-letter", "discard", "keep", NULL};

const struct api_session_verb *api_session_verb_find(struct text name)
{
	for (size_t i = 0; i < API_SESSION_VERB_COUNT; i++)
		if (text_is(name, text_from(api_session_verbs[i].name)))
			return &api_session_verbs[i];
	return NULL;
}
