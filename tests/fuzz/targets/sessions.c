/* The where expression of requests about sessions: accepted, and then it can be applied, or refused
 * with a position in it and a reason that may be shown. */
#include "base/utf8.h"
#include "control/sessions/session_filter.h"
#include "core/tasks/delivery.h"
#include "fuzz/fuzz.h"

const struct fuzz_memory fuzz_memory = {.base = 1024, .multiple = 0};

static bool is_shown_as_it_is(const char *text)
{
	struct text t = text_from(text), character;
	size_t len;

	for (; t.len > 0; t = text_of(t.ptr + len, t.len - len)) {
		if (!utf8_first(t, &len))
			return false;
		character = text_of(t.ptr, len);
		if (utf8_is_control(utf8_code(character)) && *t.ptr != '\t')
			return false;
	}
	return true;
}

/* Its own text as key of a session that waits. */
static void check_match(const struct session_filter *filter, struct text input)
{
	struct session_facts facts = {.key = input, .state = SESSION_READY, .since = MTIME_SECOND};

	for (size_t i = 0; i < filter->count; i++) {
		struct session_filter one = {1, {filter->conditions[i]}};
		if (!session_filter_matches(&one, &facts, 2 * MTIME_SECOND))
			FUZZ_REQUIRE(!session_filter_matches(filter, &facts, 2 * MTIME_SECOND));
	}
}

void fuzz_one(struct text input)
{
	struct session_filter_problem problem = {0};
	struct session_filter filter;

	if (session_filter_parse(&filter, input, &problem)) {
		FUZZ_REQUIRE(filter.count > 0 && filter.count <= SESSION_FILTER_MAX);
		check_match(&filter, input);
		return;
	}
	FUZZ_REQUIRE(problem.position > 0 && problem.position <= input.len + 1);
	FUZZ_REQUIRE(*problem.text && is_shown_as_it_is(problem.text));
}
