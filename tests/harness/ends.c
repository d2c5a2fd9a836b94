#include "harness/ends.h"

#include "harness/fixture.h"
#include "harness/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ends_place ends_fixture_place(void)
{
	return (struct ends_place){.queue = fixture.queue,
		.dead = fixture.dead,
		.replies = fixture.replies,
		.witness = fixture.witness};
}

void ends_release(struct ends *ends)
{
	free(ends->tasks);
	*ends = (struct ends){0};
}

struct task_end *ends_add(struct ends *ends, enum end expected, bool asks_for_reply)
{
	if (ends->count == ends->capacity) {
		ends->capacity = ends->capacity ? 2 * ends->capacity : 1024;
		ends->tasks = realloc(ends->tasks, (size_t)ends->capacity * sizeof *ends->tasks);
		ck_assert_ptr_nonnull(ends->tasks);
	}
	struct task_end *task = &ends->tasks[ends->count++];
	*task = (struct task_end){.expected = expected, .asks_for_reply = asks_for_reply};
	return task;
}

static long parse_number(const struct ends *ends, const char *id)
{
	char *rest;
	long number = strtol(id, &rest, 10);
	ck_assert_msg(!*rest && rest != id && number >= 0 && number < ends->first + ends->count,
		"no task '%s' was published", id);
	return number;
}

static void count_end(struct ends *ends, long number, enum end end)
{
	static const char *const names[] = {"done", "replied", "dead", "done or dead"};
	if (number < ends->first) {
		ends->late++;
		return;
	}
	struct task_end *task = &ends->tasks[number - ends->first];
	bool is_right = task->expected == END_ONCE ? end != END_REPLIED : task->expected == end;
	ck_assert_msg(
		is_right, "task %ld is %s, not %s", number, names[end], names[task->expected]);
	task->count++;
}

/* Workers that still run append to the same file. */
static void read_witness(struct ends *ends)
{
	char *text = scratch_read(ends->at.witness, NULL), *rest = NULL;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
		line = strtok_r(NULL, "\n", &rest)) {
		long number = parse_number(ends, line);
		if (number < ends->first || !ends->tasks[number - ends->first].asks_for_reply)
			count_end(ends, number, END_DONE);
	}
	if (text)
		ck_assert_int_eq(truncate(ends->at.witness, 0), 0);
	free(text);
}

struct reading {
	struct ends *ends;
	enum end end;
	void (*check)(long number, const struct message *); /* NULL: none */
};

static void read_message(void *context, const struct message *message)
{
	struct reading *reading = context;
	long number = parse_number(reading->ends, message->body);
	count_end(reading->ends, number, reading->end);
	if (reading->check)
		reading->check(number, message);
}

static void read_queue(const char *queue, struct reading *reading)
{
	client_drain(fixture.client, queue, broker_messages(fixture.broker, queue), read_message,
		reading);
	ck_assert_int_le(broker_messages(fixture.broker, queue), 0);
}

void ends_read(struct ends *ends, void check(long number, const struct message *dead))
{
	read_witness(ends);
	read_queue(ends->at.replies, &(struct reading){ends, END_REPLIED, NULL});
	read_queue(ends->at.dead, &(struct reading){ends, END_DEAD, check});
	ck_assert_int_eq(broker_messages(fixture.broker, ends->at.queue), 0);
}

void ends_clear(struct ends *ends)
{
	ends->first += ends->count;
	ends->count = ends->late = 0;
}
