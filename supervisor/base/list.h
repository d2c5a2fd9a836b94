/* Doubly linked list without allocation. Layer: base.
 * The list and its members embed a struct link; a lone link points to itself. O(1) throughout. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
	struct link *prev, *next;
};

#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct link *link)
{
	link->prev = link->next = link;
}

static inline bool list_is_empty(const struct link *list)
{
	return list->next == list;
}

static inline void list_insert_before(struct link *where, struct link *link)
{
	link->prev = where->prev;
	link->next = where;
	where->prev->next = link;
	where->prev = link;
}

static inline void list_append(struct link *list, struct link *link)
{
	list_insert_before(list, link);
}

static inline void list_prepend(struct link *list, struct link *link)
{
	list_insert_before(list->next, link);
}

/* Remove link from its list; does nothing for a lone link. */
static inline void list_remove(struct link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	list_init(link);
}

/* The first member, or NULL. */
static inline struct link *list_first(const struct link *list)
{
	return list_is_empty(list) ? NULL : list->next;
}

#endif
