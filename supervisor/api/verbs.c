#include "api/verbs.h"

const struct api_verb api_verbs[API_VERB_COUNT] = {
#define POOLS_VERB(id, text, ...)                                                                  \
	[API_VERB_##id] = {.name = #id, .summary = text, .takes_all = true, __VA_ARGS__},
#define POOL_VERB(id, text, ...) [API_VERB_##id] = {.name = #id, .summary = text, __VA_ARGS__},
#include "api/verbs.def"
};

const struct api_verb *api_verb_find(struct text name)
{
	for (size_t i = 0; i < API_VERB_COUNT; i++)
		if (text_is(name, text_from(api_verbs[i].name)))
			return &api_verbs[i];
	return NULL;
}

const struct api_verb *api_verb_of_key(char key, struct text state)
{
	const struct api_verb *found = NULL;

	for (size_t i = 0; i < API_VERB_COUNT; i++) {
		const struct api_verb *verb = &api_verbs[i];
		if (!key || !verb->keys || !strchr(verb->keys, key))
			continue;
		if (verb->only_in_state && text_is(state, text_from(verb->only_in_state)))
			return verb;
		if (!verb->only_in_state)
			found = verb;
	}
	return found;
}
