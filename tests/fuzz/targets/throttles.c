/* A message that supervisors send each other about a shared throttle: refused with a reason, or
 * read; then all of it is in its range, and what is written for it is read back the same. */
#include "broker/throttle/throttle_message.h"
#include "core/throttle/throttle.h"
#include "fuzz/fuzz.h"

/* Reading allocates nothing; this is for the message that is written again. */
const struct fuzz_memory fuzz_memory = {.base = 1024, .multiple = 6};

static struct throttle_request request;
static struct throttle_answer answer;
static struct throttle_handover handover;
static uint64_t leaver, taker;

static void check_figures(const struct shared_figures *figures)
{
	FUZZ_REQUIRE(figures->version <= SHARED_VERSION_MAX);
	FUZZ_REQUIRE(figures->limit > 0 && figures->limit <= THROTTLE_LIMIT_MAX);
	FUZZ_REQUIRE(figures->period >= SHARED_PERIOD_MIN && figures->period <= SHARED_PERIOD_MAX);
}

static void check_request(void)
{
	check_figures(&request.figures);
	FUZZ_REQUIRE(request.member > 0 && request.lease > 0 && request.lease <= LEASE_MAX);
	FUZZ_REQUIRE(request.count <= REQUEST_KEYS_MAX);
	FUZZ_REQUIRE(request.unused_count <= REQUEST_KEYS_MAX);
	for (uint32_t i = 0; i < request.unused_count; i++)
		FUZZ_REQUIRE(request.unused[i].stamp >= 0 &&
			     request.unused[i].stamp <= THROTTLE_STAMP_MAX &&
			     request.unused[i].starts <= THROTTLE_LIMIT_MAX);
	for (uint32_t i = 0; i < request.count; i++)
		FUZZ_REQUIRE(request.keys[i].starts <= THROTTLE_LIMIT_MAX &&
			     request.keys[i].late <= THROTTLE_LIMIT_MAX);
}

static void check_answer(void)
{
	check_figures(&answer.figures);
	FUZZ_REQUIRE(answer.member > 0 && answer.leader > 0);
	FUZZ_REQUIRE(answer.stamp >= 0 && answer.stamp <= THROTTLE_STAMP_MAX);
	FUZZ_REQUIRE(answer.count <= REQUEST_KEYS_MAX);
	for (uint32_t i = 0; i < answer.count; i++)
		FUZZ_REQUIRE(answer.keys[i].wait >= 0 && answer.keys[i].wait <= THROTTLE_WAIT_MAX &&
			     answer.keys[i].starts <= THROTTLE_LIMIT_MAX);
}

static void check_handover(void)
{
	check_figures(&handover.figures);
	FUZZ_REQUIRE(handover.leader > 0 && handover.member > 0);
	FUZZ_REQUIRE(handover.sure_for >= 0 && handover.sure_for <= SHARED_PERIOD_MAX);
	FUZZ_REQUIRE(handover.count <= HANDOVER_STARTS_MAX);
	for (uint32_t i = 0; i < handover.count; i++)
		FUZZ_REQUIRE(handover.of[i].after >= 0 &&
			     handover.of[i].after <= THROTTLE_WAIT_MAX &&
			     handover.of[i].starts <= THROTTLE_LIMIT_MAX);
}

/* What was read is written, read and written. */
static void check_request_again(void)
{
	struct buf first, second;
	struct amqp_publish written, again;

	buf_init(&first, THROTTLE_MESSAGE_MAX);
	buf_init(&second, THROTTLE_MESSAGE_MAX);
	FUZZ_REQUIRE(throttle_request_write(&request, TEXT("q"), &first, &written) == RC_OK);
	FUZZ_REQUIRE(!throttle_request_read(written.body, &request));
	FUZZ_REQUIRE(throttle_request_write(&request, TEXT("q"), &second, &again) == RC_OK);
	FUZZ_REQUIRE(text_is(written.body, again.body));
	FUZZ_REQUIRE(text_is(written.properties, again.properties));
	buf_release(&first);
	buf_release(&second);
}

static void check_answer_again(void)
{
	struct buf first, second;
	struct amqp_publish written, again;

	buf_init(&first, THROTTLE_MESSAGE_MAX);
	buf_init(&second, THROTTLE_MESSAGE_MAX);
	FUZZ_REQUIRE(throttle_answer_write(&answer, TEXT("q"), &first, &written) == RC_OK);
	FUZZ_REQUIRE(!throttle_answer_read(written.body, &answer));
	FUZZ_REQUIRE(throttle_answer_write(&answer, TEXT("q"), &second, &again) == RC_OK);
	FUZZ_REQUIRE(text_is(written.body, again.body));
	buf_release(&first);
	buf_release(&second);
}

static void check_handover_again(void)
{
	struct buf first, second;
	struct amqp_publish written, again;

	buf_init(&first, THROTTLE_HANDOVER_MAX);
	buf_init(&second, THROTTLE_HANDOVER_MAX);
	FUZZ_REQUIRE(throttle_handover_write(&handover, TEXT("q"), &first, &written) == RC_OK);
	FUZZ_REQUIRE(!throttle_handover_read(written.body, &handover));
	FUZZ_REQUIRE(throttle_handover_write(&handover, TEXT("q"), &second, &again) == RC_OK);
	FUZZ_REQUIRE(text_is(written.body, again.body));
	buf_release(&first);
	buf_release(&second);
}

/* The only number of a message of two kinds. */
static void check_number_again(bool is_leave, uint64_t number)
{
	struct buf scratch;
	struct amqp_publish written;
	uint64_t again = 0;

	FUZZ_REQUIRE(number > 0);
	buf_init(&scratch, THROTTLE_MESSAGE_MAX);
	if (is_leave) {
		FUZZ_REQUIRE(throttle_leave_write(
				     number, MTIME_SECOND, TEXT("q"), &scratch, &written) == RC_OK);
		FUZZ_REQUIRE(!throttle_leave_read(written.body, &again));
	} else {
		FUZZ_REQUIRE(throttle_take_write(number, TEXT("q"), &scratch, &written) == RC_OK);
		FUZZ_REQUIRE(!throttle_take_read(written.body, &again));
	}
	FUZZ_REQUIRE(again == number);
	buf_release(&scratch);
}

static void check_again(enum throttle_message kind)
{
	switch (kind) {
	case THROTTLE_REQUEST:
		check_request();
		check_request_again();
		break;
	case THROTTLE_ANSWER:
		check_answer();
		check_answer_again();
		break;
	case THROTTLE_HANDOVER:
		check_handover();
		check_handover_again();
		break;
	default:
		check_number_again(kind == THROTTLE_LEAVE, kind == THROTTLE_LEAVE ? leaver : taker);
		break;
	}
}

/* A message is of one kind, which its head names; or of none. */
void fuzz_one(struct text input)
{
	const char *const refused[] = {
		[THROTTLE_REQUEST] = throttle_request_read(input, &request),
		[THROTTLE_ANSWER] = throttle_answer_read(input, &answer),
		[THROTTLE_LEAVE] = throttle_leave_read(input, &leaver),
		[THROTTLE_TAKE] = throttle_take_read(input, &taker),
		[THROTTLE_HANDOVER] = throttle_handover_read(input, &handover),
	};
	enum throttle_message kind = throttle_message_kind(input);

	for (int i = 0; i < THROTTLE_NO_MESSAGE; i++) {
		if (refused[i])
			FUZZ_REQUIRE(*refused[i]);
		else
			FUZZ_REQUIRE(kind == (enum throttle_message)i);
	}
	if (kind != THROTTLE_NO_MESSAGE && !refused[kind])
		check_again(kind);
}
