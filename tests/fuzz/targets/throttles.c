/* A message that supervisors send each other about a shared throttle: refused with a reason, or
 * read; then all of it is in its range, and what is written for it is read back the same. */
#include "broker/throttle/throttle_message.h"
#include "core/throttle/throttle.h"
#include "fuzz/fuzz.h"

/* Reading allocates nothing; this is for the message that is written again. */
const struct fuzz_memory fuzz_memory = {.base = 1024, .multiple = 6};

static struct throttle_request request;
static struct throttle_answer answer;

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
	FUZZ_REQUIRE(request.returned_count <= REQUEST_KEYS_MAX);
	for (uint32_t i = 0; i < request.returned_count; i++)
		FUZZ_REQUIRE(request.returned[i].stamp >= 0 &&
			     request.returned[i].stamp <= THROTTLE_STAMP_MAX &&
			     request.returned[i].starts <= THROTTLE_LIMIT_MAX);
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

void fuzz_one(struct text input)
{
	const char *no_request = throttle_request_read(input, &request);
	const char *no_answer = throttle_answer_read(input, &answer);

	FUZZ_REQUIRE(no_request || no_answer); /* it cannot be both */
	if (no_request)
		FUZZ_REQUIRE(*no_request);
	if (no_answer)
		FUZZ_REQUIRE(*no_answer);
	if (!no_request) {
		check_request();
		check_request_again();
	}
	if (!no_answer) {
		check_answer();
		check_answer_again();
	}
}
