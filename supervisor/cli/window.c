#include "cli/window.h"

#include <stdlib.h>

void window_init(struct window *w)
{
	*w = (struct window){0};
	list_init(&w->waiting);
	list_init(&w->unconfirmed);
}

static void list_free(struct link *list)
{
	for (struct link *link; (link = list_first(list));) {
		list_remove(link);
		free(CONTAINER_OF(link, struct message, link));
	}
}

void window_release(struct window *w)
{
	list_free(&w->waiting);
	list_free(&w->unconfirmed);
}

bool window_has_room(const struct window *w)
{
	return w->count < WINDOW_MESSAGES && w->bytes < WINDOW_BYTES;
}

struct message *window_add(struct window *w, struct text body)
{
	struct message *m = malloc(sizeof *m + body.len);
	if (!m)
		return NULL;
	*m = (struct message){.number = ++w->last_number, .len = body.len};
	if (body.len > 0)
		memcpy(m->body, body.ptr, body.len);
	list_append(&w->waiting, &m->link);
	w->count++;
	w->bytes += m->len;
	return m;
}

struct message *window_waiting(struct window *w)
{
	struct link *link = list_first(&w->waiting);
	return link ? CONTAINER_OF(link, struct message, link) : NULL;
}

void window_published(struct window *w, struct message *m, uint64_t tag)
{
	m->tag = tag;
	m->was_returned = false; /* the queue may be there by now */
	list_remove(&m->link);
	list_append(&w->unconfirmed, &m->link);
	w->unconfirmed_count++;
}

struct message *window_find(struct window *w, uint64_t number)
{
	for (struct link *l = w->unconfirmed.next; l != &w->unconfirmed; l = l->next) {
		struct message *m = CONTAINER_OF(l, struct message, link);
		if (m->number == number)
			return m;
	}
	return NULL;
}

static struct message *window_remove(struct window *w, struct message *m)
{
	list_remove(&m->link);
	w->unconfirmed_count--;
	w->count--;
	w->bytes -= m->len;
	return m;
}

struct message *window_take(struct window *w, uint64_t tag, bool multiple)
{
	for (struct link *l = w->unconfirmed.next; l != &w->unconfirmed; l = l->next) {
		struct message *m = CONTAINER_OF(l, struct message, link);
		/* A multiple confirm with tag 0 means all so far. */
		if (m->tag == tag || (multiple && (m->tag < tag || tag == 0)))
			return window_remove(w, m);
		if (m->tag > tag)
			return NULL;
	}
	return NULL;
}

size_t window_rewind(struct window *w)
{
	size_t count = w->unconfirmed_count;
	while (!list_is_empty(&w->unconfirmed)) {
		struct link *last = w->unconfirmed.prev;
		list_remove(last);
		list_prepend(&w->waiting, last);
	}
	w->unconfirmed_count = 0;
	return count;
}
