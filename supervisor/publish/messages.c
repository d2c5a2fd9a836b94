#include "publish/messages.h"

#include <stdlib.h>

enum rc messages_init(struct messages *m)
{
	list_init(&m->waiting);
	return unconfirmed_init(&m->unconfirmed);
}

void messages_release(struct messages *m)
{
	if (!m->unconfirmed.entries)
		return;
	messages_rewind(m);
	while (!list_is_empty(&m->waiting))
		messages_drop(m);
	unconfirmed_release(&m->unconfirmed);
}

bool messages_has_space(const struct messages *m)
{
	return m->count < MESSAGES_MAX && m->bytes < MESSAGES_BYTES_MAX &&
	       !unconfirmed_is_full(&m->unconfirmed);
}

struct message *messages_add(struct messages *m, struct text body)
{
	struct message *message = malloc(sizeof *message + body.len);
	if (!message)
		return NULL;
	*message = (struct message){.number = ++m->last_number, .len = body.len};
	if (body.len > 0)
		memcpy(message->body, body.ptr, body.len);
	list_append(&m->waiting, &message->link);
	m->count++;
	m->bytes += body.len;
	return message;
}

struct message *messages_waiting(struct messages *m)
{
	struct link *link = list_first(&m->waiting);
	return link ? CONTAINER_OF(link, struct message, link) : NULL;
}

void messages_published(struct messages *m)
{
	struct message *message = messages_waiting(m);
	list_remove(&message->link);
	message->was_published = true;
	unconfirmed_add(&m->unconfirmed, (union unconfirmed_item){.message = message});
}

static void message_free(struct messages *m, struct message *message)
{
	m->count--;
	m->bytes -= message->len;
	free(message);
}

enum publish_answer_kind messages_take(struct messages *m, const struct publish_answer *answer)
{
	union unconfirmed_item item;
	enum publish_answer_kind kind = unconfirmed_take(&m->unconfirmed, answer, &item);
	if (kind != PUBLISH_NOT_ANSWERED)
		message_free(m, item.message);
	return kind;
}

size_t messages_rewind(struct messages *m)
{
	struct link *next = m->waiting.next;
	union unconfirmed_item item;
	size_t count = 0;
	for (; unconfirmed_take_lost(&m->unconfirmed, &item); count++)
		list_insert_before(next, &((struct message *)item.message)->link);
	unconfirmed_clear(&m->unconfirmed);
	return count;
}

void messages_drop(struct messages *m)
{
	struct message *message = messages_waiting(m);
	list_remove(&message->link);
	message_free(m, message);
}
