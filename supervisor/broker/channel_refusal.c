#include "broker/channel_refusal.h"

#include "amqp/reply_code.h"
#include "base/buf.h"
#include "base/utf8.h"

#include <stdio.h>

void channel_refusal_clear(struct channel_refusal *refusal)
{
	refusal->kind = NULL;
	refusal->text[0] = 0;
}

bool channel_refusal_set_text(struct channel_refusal *refusal, const char *kind, const char *text)
{
	bool is_new = !refusal->kind || strcmp(refusal->text, text) != 0;

	refusal->kind = kind;
	snprintf(refusal->text, sizeof refusal->text, "%s", text);
	return is_new;
}

/* ---------- the broker's text ---------- */

/* What follows the first `part`; empty: it is not there. */
static struct text behind(struct text text, struct text part)
{
	for (size_t i = 0; i + part.len <= text.len; i++)
		if (text_is(text_of(text.ptr + i, part.len), part))
			return text_of(text.ptr + i + part.len, text.len - i - part.len);
	return TEXT_NONE;
}

static bool has(struct text text, struct text part)
{
	return behind(text, part).ptr != NULL;
}

/* "... access to exchange 'NAME' in vhost ..." */
static struct text exchange_of(struct text reason)
{
	struct text name = behind(reason, TEXT("access to exchange '"));
	size_t len = 0;

	while (len < name.len && name.ptr[len] != '\'')
		len++;
	return text_of(name.ptr, len);
}

enum missing_right { RIGHT_CONFIGURE, RIGHT_READ, RIGHT_WRITE, RIGHT_CONFIGURE_OR_READ };

static enum missing_right right_of(enum refused_operation operation, struct text reason)
{
	if (has(reason, TEXT("configure access to ")))
		return RIGHT_CONFIGURE;
	if (has(reason, TEXT("read access to ")))
		return RIGHT_READ;
	if (operation == REFUSED_PUBLISH || has(reason, TEXT("access to exchange ")))
		return RIGHT_WRITE;
	if (operation == REFUSED_DECLARE_RETRY)
		return RIGHT_CONFIGURE_OR_READ;
	return operation == REFUSED_DECLARE ? RIGHT_CONFIGURE : RIGHT_READ;
}

/* ---------- ours ---------- */

static const char *verb_of(enum refused_operation operation)
{
	switch (operation) {
	case REFUSED_CHECK:
		return "check";
	case REFUSED_DECLARE:
	case REFUSED_DECLARE_RETRY:
		return "declare";
	case REFUSED_CONSUME:
		return "consume";
	case REFUSED_PUBLISH:
		break;
	}
	return "publish for";
}

static const char *right_name(enum missing_right right)
{
	static const char *const names[] = {
		[RIGHT_CONFIGURE] = "configure",
		[RIGHT_READ] = "read",
		[RIGHT_WRITE] = "write",
		[RIGHT_CONFIGURE_OR_READ] = "configure, or read,",
	};

	return names[right];
}

static const char *right_kind(enum missing_right right)
{
	static const char *const kinds[] = {
		[RIGHT_CONFIGURE] = "no right to configure a missing queue",
		[RIGHT_READ] = "no right to read a queue",
		[RIGHT_WRITE] = "no right to write an exchange",
		[RIGHT_CONFIGURE_OR_READ] = "no right to configure or read a missing queue",
	};

	return kinds[right];
}

struct request {
	enum refused_operation operation;
	struct text queue;
	uint16_t code;
	struct text reason;
};

static const char *append_right(struct buf *out, const struct request *request)
{
	bool is_declare = request->operation == REFUSED_DECLARE ||
			  request->operation == REFUSED_DECLARE_RETRY;
	enum missing_right right = right_of(request->operation, request->reason);

	if (request->operation == REFUSED_PUBLISH)
		buf_append_text(out, TEXT("the broker refuses publishes"));
	else if (is_declare)
		buf_printf(out,
			"queue \"%.*s\" does not exist, and the broker refuses its declaration",
			TEXT_ARGS(request->queue));
	else
		buf_printf(out, "the broker refuses to let us %s queue \"%.*s\"",
			verb_of(request->operation), TEXT_ARGS(request->queue));
	buf_printf(out, ": the user has no right to %s ", right_name(right));
	if (right == RIGHT_WRITE)
		buf_printf(out, "exchange \"%.*s\"", TEXT_ARGS(exchange_of(request->reason)));
	else
		buf_append_text(out, TEXT("it"));
	buf_printf(out, " (%s); give it that right%s", utf8_shown(request->reason).text,
		is_declare ? ", or declare the queue as in docs/retries.md" : "");
	return right_kind(right);
}

static const char *append_refusal(struct buf *out, const struct request *request)
{
	const char *verb = verb_of(request->operation);
	struct utf8_shown reason = utf8_shown(request->reason);

	if (request->code == CODE_NOT_FOUND) {
		buf_printf(out, "queue \"%.*s\" does not exist; declare it, or set declare: on",
			TEXT_ARGS(request->queue));
		return "the queue does not exist";
	}
	if (request->code == CODE_RESOURCE_LOCKED) {
		buf_printf(out,
			"the broker refuses to let us %s queue \"%.*s\": it is exclusive to "
			"another connection (%s)",
			verb, TEXT_ARGS(request->queue), reason.text);
		return "the queue is exclusive to another connection";
	}
	if (request->code != CODE_ACCESS_REFUSED) {
		buf_printf(out, "the broker closed the channel of queue \"%.*s\" (%u %s)",
			TEXT_ARGS(request->queue), request->code, reason.text);
		return "the broker closed the channel";
	}
	if (!has(request->reason, TEXT("in exclusive use")))
		return append_right(out, request);
	buf_printf(out,
		"the broker refuses to let us %s queue \"%.*s\": it is in exclusive use by "
		"another consumer (%s); end that one, or let it consume without \"exclusive\"",
		verb, TEXT_ARGS(request->queue), reason.text);
	return "the queue is in exclusive use by another consumer";
}

bool channel_refusal_set(struct channel_refusal *refusal, enum refused_operation operation,
	struct text queue, uint16_t code, struct text reason)
{
	const struct request request = {operation, queue, code, reason};
	char text[CHANNEL_REFUSAL_SIZE];
	struct buf out;
	const char *kind;

	buf_init(&out, SIZE_MAX);
	kind = append_refusal(&out, &request);
	snprintf(text, sizeof text, "%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
	return channel_refusal_set_text(refusal, kind, text);
}
