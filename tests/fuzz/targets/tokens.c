/* A message in the queue of a pool's token, and what is handed over in it: refused with a reason,
 * or read; then what is written for it is read back the same. */
#include "broker/token_message.h"
#include "fuzz/fuzz.h"
#include "message/copy.h"
#include "message/handover.h"
#include "message/key_source.h"

#include <stdlib.h>

/* An item of 10 bytes is 160 bytes here. */
const struct fuzz_memory fuzz_memory = {.base = 24 * 1024, .multiple = 48};

static void check_written(const struct token_content *content)
{
	struct token_content again;
	struct amqp_publish publish;
	struct buf scratch;

	buf_init(&scratch, 2 * TOKEN_BODY_MAX);
	FUZZ_REQUIRE(token_message_write(content, 1, TEXT("q"), &scratch, &publish) == RC_OK);
	FUZZ_REQUIRE(!token_message_read(publish.body, &again));
	FUZZ_REQUIRE(text_is(again.holder, content->holder));
	FUZZ_REQUIRE(text_is(again.handover, content->handover));
	FUZZ_REQUIRE(again.epoch == content->epoch && again.counter == content->counter);
	FUZZ_REQUIRE(again.window == content->window && again.delay == content->delay);
	FUZZ_REQUIRE(again.is_orderly == content->is_orderly && again.deaths == content->deaths);
	buf_release(&scratch);
}

static void check_handover(struct text bytes)
{
	struct session_handover *all = NULL;
	size_t count;

	if (bytes.len == 0 || handover_read(bytes, &all, &count) != RC_OK)
		return;
	for (size_t i = 0; i < count; i++)
		FUZZ_REQUIRE(all[i].key.len <= SESSION_KEY_MAX && all[i].past.wait >= 0 &&
			     all[i].content_type.len <= SHORT_STRING_MAX &&
			     reply_headers_fit(all[i].headers));
	free(all);
}

void fuzz_one(struct text input)
{
	struct token_content content;
	const char *why = token_message_read(input, &content);

	if (why) {
		FUZZ_REQUIRE(*why);
		return;
	}
	FUZZ_REQUIRE(token_holder_is_valid(content.holder));
	FUZZ_REQUIRE(content.epoch < TOKEN_NUMBER_MAX && content.counter < TOKEN_NUMBER_MAX);
	check_written(&content);
	check_handover(content.handover);
}
