#include "config/rights.h"

#include "base/mtime.h"
#include "config/quantity.h"
#include "config/words.h"

#include <stdlib.h>

void rights_release(struct rights *rights)
{
	free(rights->groups);
	words_free(rights->variables);
	*rights = (struct rights){0};
}

bool rights_read_mask(struct text t, mode_t *ret)
{
	mode_t mask = 0;
	if (t.len == 4 && t.ptr[0] == '0')
		t = text_of(t.ptr + 1, 3);
	if (t.len != 3)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		if (t.ptr[i] < '0' || t.ptr[i] > '7')
			return false;
		mask = mask << 3 | (mode_t)(t.ptr[i] - '0');
	}
	*ret = mask;
	return true;
}

/* ---------- limits ---------- */

#define RIGHTS_LIMITS(X)                                                                           \
	X("as", RLIMIT_AS, UNIT_BYTES)                                                             \
	X("core", RLIMIT_CORE, UNIT_BYTES)                                                         \
	X("cpu", RLIMIT_CPU, UNIT_SECONDS)                                                         \
	X("data", RLIMIT_DATA, UNIT_BYTES)                                                         \
	X("fsize", RLIMIT_FSIZE, UNIT_BYTES)                                                       \
	X("locks", RLIMIT_LOCKS, UNIT_NONE)                                                        \
	X("memlock", RLIMIT_MEMLOCK, UNIT_BYTES)                                                   \
	X("msgqueue", RLIMIT_MSGQUEUE, UNIT_BYTES)                                                 \
	X("nice", RLIMIT_NICE, UNIT_NONE)                                                          \
	X("nofile", RLIMIT_NOFILE, UNIT_NONE)                                                      \
	X("nproc", RLIMIT_NPROC, UNIT_NONE)                                                        \
	X("rss", RLIMIT_RSS, UNIT_BYTES)                                                           \
	X("rtprio", RLIMIT_RTPRIO, UNIT_NONE)                                                      \
	X("rttime", RLIMIT_RTTIME, UNIT_MICROSECONDS)                                              \
	X("sigpending", RLIMIT_SIGPENDING, UNIT_NONE)                                              \
	X("stack", RLIMIT_STACK, UNIT_BYTES)

enum unit { UNIT_NONE, UNIT_BYTES, UNIT_SECONDS, UNIT_MICROSECONDS };

const char *const rights_limit_names[] = {
#define X(name, resource, unit) name,
	RIGHTS_LIMITS(X)
#undef X
		NULL};

static const struct {
	int resource;
	enum unit unit;
} kinds[] = {
#define X(name, resource, unit) {resource, unit},
	RIGHTS_LIMITS(X)
#undef X
};

_Static_assert(sizeof kinds / sizeof *kinds == RLIM_NLIMITS, "each limit once");

const char *rights_limit_name(int resource)
{
	size_t i = 0;
	while (kinds[i].resource != resource)
		i++;
	return rights_limit_names[i];
}

/* A bare number is in the unit of setrlimit(2). */
static bool read_value(struct text t, enum unit unit, rlim_t *ret)
{
	int64_t number;
	if (text_is(t, TEXT("unlimited")) || text_is(t, TEXT("infinity"))) {
		*ret = RLIM_INFINITY;
		return true;
	}
	bool good = quantity_read_integer(t, &number);
	if (!good && unit == UNIT_BYTES)
		good = quantity_read_size(t, &number);
	else if (!good && unit != UNIT_NONE && quantity_read_duration(t, &number)) {
		int64_t each = unit == UNIT_SECONDS ? MTIME_SECOND : 1;
		good = number % each == 0;
		number /= each;
	}
	if (good)
		*ret = (rlim_t)number;
	return good;
}

enum rc rights_read_limit(struct text name, struct text value, struct rights_limit *ret)
{
	struct rights_limit limit = {.resource = -1};
	size_t i = 0;
	while (rights_limit_names[i] && !text_is(name, text_from(rights_limit_names[i])))
		i++;
	if (!rights_limit_names[i])
		return RC_NOT_FOUND;
	const char *colon = value.len ? memchr(value.ptr, ':', value.len) : NULL;
	size_t len = colon ? (size_t)(colon - value.ptr) : value.len;
	struct text hard = colon ? text_of(colon + 1, value.len - len - 1) : value;
	limit.resource = kinds[i].resource;
	if (!read_value(text_of(value.ptr, len), kinds[i].unit, &limit.value.rlim_cur) ||
		!read_value(hard, kinds[i].unit, &limit.value.rlim_max) ||
		limit.value.rlim_cur > limit.value.rlim_max)
		return RC_MALFORMED;
	*ret = limit;
	return RC_OK;
}
