/* The message of a token (core/token.h). Layer: broker. Its body is one line of JSON, a newline,
 * and the bytes that are handed over. Messages of others are refused with the reason: nothing here
 * trusts them. */
#ifndef BROKER_TOKEN_MESSAGE_H
#define BROKER_TOKEN_MESSAGE_H

#include "amqp/channel.h"
#include "core/token.h"

/* Of the line of JSON. */
#define TOKEN_LINE_MAX 1024
/* No honest token has a longer delay. */
#define TOKEN_DELAY_MAX (24 * 60 * MTIME_MINUTE)
#define TOKEN_BODY_MAX  (TOKEN_LINE_MAX + 1 + TOKEN_HANDOVER_MAX)

/* A holder's name has only these: printable ASCII without a blank, a quote, or a backslash. */
bool token_holder_is_valid(struct text);
/* Fill *ret_publish. number: of the publish on its channel. Properties and body are written into
 * scratch, which is cleared first; they and queue are borrowed. RC_MEMORY, RC_LIMIT. */
enum rc token_message_write(const struct token_content *, uint64_t number, struct text queue,
	struct buf *scratch, struct amqp_publish *ret_publish) MUST_CHECK;
/* Read a body; the texts are borrowed from it. NULL, or a static text: why it is no token. */
const char *token_message_read(struct text body, struct token_content *ret);

#endif
