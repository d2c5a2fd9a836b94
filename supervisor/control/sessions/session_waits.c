#include "control/sessions/session_waits.h"

#include <assert.h>
#include <string.h>

/* Behind the key. */
struct tail {
	uint64_t life;
	size_t len; /* of the key */
};

void session_waits_init(struct session_waits *waits, size_t size_max)
{
	buf_init(&waits->stack, size_max);
}

void session_waits_release(struct session_waits *waits)
{
	buf_release(&waits->stack);
}

/* Both at once: a key without its tail could not be read back. */
bool session_waits_push(struct session_waits *waits, const struct session_wait *wait)
{
	struct tail tail = {.life = wait->life, .len = wait->key.len};
	uint8_t *at = buf_reserve(&waits->stack, wait->key.len + sizeof tail);

	if (!at)
		return false;
	memcpy(at, wait->key.ptr, wait->key.len);
	memcpy(at + wait->key.len, &tail, sizeof tail);
	buf_commit(&waits->stack, wait->key.len + sizeof tail);
	return true;
}

bool session_waits_top(const struct session_waits *waits, struct session_wait *ret)
{
	struct text all = buf_text(&waits->stack);
	const char *end;
	struct tail tail;

	if (all.len == 0)
		return false;
	end = all.ptr + all.len - sizeof tail;
	memcpy(&tail, end, sizeof tail);
	*ret = (struct session_wait){tail.life, text_of(end - tail.len, tail.len)};
	return true;
}

void session_waits_pop(struct session_waits *waits)
{
	struct session_wait top;
	bool is_there = session_waits_top(waits, &top);

	assert(is_there);
	buf_truncate(&waits->stack,
		(size_t)((const uint8_t *)top.key.ptr - (waits->stack.bytes + waits->stack.head)));
}

void session_waits_clear(struct session_waits *waits)
{
	buf_clear(&waits->stack);
}
