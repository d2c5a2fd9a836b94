#include "message/retry_queue.h"

#define RETRY TEXT(".retry.")
#define WAIT  TEXT(".wait.")

static struct text write_name(
	struct text queue, struct text infix, mtime delay, char *buffer, size_t size)
{
	bool is_seconds = delay % MTIME_SECOND == 0;
	uint64_t number = (uint64_t)(delay / (is_seconds ? MTIME_SECOND : MTIME_MS));
	char digits[TEXT_DECIMAL_MAX];
	struct text parts[] = {
		queue, infix, text_decimal(number, digits), is_seconds ? TEXT("s") : TEXT("ms")};
	size_t len = 0;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (parts[i].len >= size - len)
			return TEXT_NONE;
		if (parts[i].len > 0)
			memcpy(buffer + len, parts[i].ptr, parts[i].len);
		len += parts[i].len;
	}
	buffer[len] = 0;
	return len > RETRY_QUEUE_NAME_MAX ? TEXT_NONE : text_of(buffer, len);
}

/* Read "10s" or "1500ms". */
static bool read_delay(struct text t, mtime *ret)
{
	mtime number = 0;
	size_t i = 0;
	for (; i < t.len && t.ptr[i] >= '0' && t.ptr[i] <= '9'; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, t.ptr[i] - '0', &number))
			return false;
	struct text unit = text_of(t.ptr + i, t.len - i);
	if (!text_is(unit, TEXT("s")) && !text_is(unit, TEXT("ms")))
		return false;
	return !__builtin_mul_overflow(number, unit.len == 1 ? MTIME_SECOND : MTIME_MS, ret);
}

static bool read_name(struct text queue, struct text infix, struct text name, mtime *ret_delay)
{
	char buffer[RETRY_QUEUE_NAME_MAX + 1];
	mtime delay;
	if (!text_starts(name, queue))
		return false;
	struct text rest = text_of(name.ptr + queue.len, name.len - queue.len);
	if (!text_starts(rest, infix))
		return false;
	rest = text_of(rest.ptr + infix.len, rest.len - infix.len);
	/* "010s" and "1000ms" are not how we write it. */
	if (!read_delay(rest, &delay) || delay == 0 ||
		!text_is(write_name(queue, infix, delay, buffer, sizeof buffer), name))
		return false;
	*ret_delay = delay;
	return true;
}

struct text retry_queue_name(struct text queue, mtime delay, char *buffer, size_t size)
{
	return write_name(queue, RETRY, delay, buffer, size);
}

bool retry_queue_delay(struct text queue, struct text name, mtime *ret_delay)
{
	return read_name(queue, RETRY, name, ret_delay);
}

struct text wait_queue_name(struct text queue, mtime step, char *buffer, size_t size)
{
	return write_name(queue, WAIT, step, buffer, size);
}

bool wait_queue_step(struct text queue, struct text name, mtime *ret_step)
{
	return read_name(queue, WAIT, name, ret_step);
}
