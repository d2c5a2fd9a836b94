#include "unit/support/broker/throttle_messages.h"

#include "core/throttle/throttle.h"

struct throttle_request request, request_again;
struct throttle_answer answer, answer_again;
struct throttle_handover handover, handover_again;
uint64_t id_again;

void fill_request(uint32_t keys, int number)
{
	const uint64_t any[] = {0, UINT64_C(0x123456789abcdef0), UINT64_MAX};
	const uint64_t some[] = {1, 4711, UINT64_MAX};
	const uint32_t starts[] = {0, 300, THROTTLE_LIMIT_MAX};
	const mtime stamps[] = {0, 3600 * MTIME_SECOND, THROTTLE_STAMP_MAX};

	request = (struct throttle_request){.member = some[number],
		.number = some[number],
		.lease = (const mtime[]){1, LEASE_MIN, LEASE_MAX}[number],
		.figures = {.version = (const uint64_t[]){0, 3, SHARED_VERSION_MAX}[number],
			.limit = (const uint32_t[]){1, 300, THROTTLE_LIMIT_MAX}[number],
			.period = (const mtime[]){SHARED_PERIOD_MIN, MTIME_MINUTE,
				SHARED_PERIOD_MAX}[number]},
		.leader = any[number],
		.unused_count = keys,
		.count = keys};
	for (uint32_t i = 0; i < keys; i++) {
		request.unused[i] = (struct unused){.key = any[number] - (number ? i : 0),
			.stamp = stamps[number],
			.starts = starts[number]};
		request.keys[i] = (struct wanted){.key = any[number] - (number ? i : 0),
			.starts = starts[number],
			.late = starts[number]};
	}
}

void fill_answer(uint32_t keys, int number)
{
	fill_request(keys, number);
	answer = (struct throttle_answer){.leader = request.member,
		.member = request.member,
		.number = request.number,
		.figures = request.figures,
		.stamp = (const mtime[]){0, MTIME_MINUTE, THROTTLE_STAMP_MAX}[number],
		.in_windows = (const uint64_t[]){0, 500, UINT64_MAX}[number],
		.keys_known = (const uint32_t[]){0, 500, UINT32_MAX}[number],
		.count = keys};
	for (uint32_t i = 0; i < keys; i++)
		answer.keys[i] = (struct granted){.key = request.keys[i].key,
			.starts = request.keys[i].starts,
			.wait = (const mtime[]){0, MTIME_SECOND, THROTTLE_WAIT_MAX}[number],
			.is_unsure = i % 2 == 1};
}

void fill_handover(uint32_t starts, int number)
{
	fill_request(0, number);
	handover.leader = handover.member = request.member;
	handover.figures = request.figures;
	handover.sure_for = (const mtime[]){0, MTIME_SECOND, SHARED_PERIOD_MAX}[number];
	handover.count = starts;
	for (uint32_t i = 0; i < starts; i++)
		handover.of[i] = (struct handed_starts){.key = request.leader - (number ? i : 0),
			.starts = (const uint32_t[]){0, 300, THROTTLE_LIMIT_MAX}[number],
			.after = (const mtime[]){0, MTIME_SECOND, THROTTLE_WAIT_MAX}[number]};
}

const struct filling fillings[FILLINGS] = {{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2},
	{REQUEST_KEYS_MAX, 0}, {REQUEST_KEYS_MAX, 1}, {REQUEST_KEYS_MAX, 2}};

enum rc write_kind(size_t kind, struct buf *scratch, struct amqp_publish *ret)
{
	switch (kind) {
	case THROTTLE_REQUEST:
		return throttle_request_write(&request, TEXT("q"), scratch, ret);
	case THROTTLE_ANSWER:
		return throttle_answer_write(&answer, TEXT("q"), scratch, ret);
	case THROTTLE_LEAVE:
		return throttle_leave_write(4711, MTIME_SECOND, TEXT("q"), scratch, ret);
	case THROTTLE_TAKE:
		return throttle_take_write(4711, TEXT("q"), scratch, ret);
	default:
		return throttle_handover_write(&handover, TEXT("q"), scratch, ret);
	}
}
