#include "http/clients.h"

#include "http/crowd.h"
#include "http/http.h"
#include "os/clock.h"

#include <stdlib.h>
#include <sys/socket.h>

/* While fewer than one place in this many is free, there is a crowd. */
#define CROWD_SHARE 4

struct http_clients {
	struct {
		struct link list;
		unsigned count;
	} states[HTTP_CLIENT_STATES];
	unsigned places;
	struct http_client all[];
};

static struct http_client *client_at(struct link *link)
{
	return CONTAINER_OF(link, struct http_client, place);
}

struct http_clients *http_clients_new(unsigned places)
{
	struct http_clients *clients = calloc(1, sizeof *clients + places * sizeof *clients->all);

	if (!clients)
		return NULL;
	for (size_t i = 0; i < HTTP_CLIENT_STATES; i++)
		list_init(&clients->states[i].list);
	for (size_t i = 0; i < places; i++)
		list_append(&clients->states[HTTP_CLIENT_FREE].list, &clients->all[i].place);
	clients->states[HTTP_CLIENT_FREE].count = clients->places = places;
	return clients;
}

void http_clients_free(struct http_clients *clients)
{
	free(clients);
}

struct http_client *http_clients_first(
	const struct http_clients *clients, enum http_client_state state)
{
	struct link *link = list_first(&clients->states[state].list);
	return link ? client_at(link) : NULL;
}

void http_clients_enter(
	struct http_clients *clients, struct http_client *client, enum http_client_state state)
{
	clients->states[client->state].count--;
	clients->states[state].count++;
	list_remove(&client->place);
	list_append(&clients->states[state].list, &client->place);
	client->state = state;
	client->since = clock_now();
}

/* ---------- their time ---------- */

/* Places that are free, or will be in a moment. */
static bool is_crowded(const struct http_clients *clients)
{
	return clients->states[HTTP_CLIENT_FREE].count +
		       clients->states[HTTP_CLIENT_CLOSING].count <
	       clients->places / CROWD_SHARE;
}

/* The silent client that goes first in a crowd; NULL: none is silent. */
static struct http_client *first_to_go(const struct http_clients *clients)
{
	const struct link *list = &clients->states[HTTP_CLIENT_SILENT].list;
	uint64_t addresses[CROWD_MAX];
	size_t count = 0, chosen;
	struct link *link;

	for (link = list->next; link != list; link = link->next)
		addresses[count++] = client_at(link)->address;
	if (count == 0)
		return NULL;
	link = list->next;
	for (chosen = crowd_choose(addresses, count); chosen > 0; chosen--)
		link = link->next;
	return client_at(link);
}

static mtime time_left(const struct http_client *client, mtime limit)
{
	return client ? client->since + limit - clock_now() : MTIME_NEVER;
}

static mtime answer_limit(const struct http_clients *clients)
{
	return is_crowded(clients) ? HTTP_SILENCE_CROWDED : HTTP_SILENCE;
}

/* The library finds its connection closed, and forgets it. */
static void close_client(struct http_clients *clients, struct http_client *client)
{
	shutdown(client->fd, SHUT_RDWR);
	http_clients_enter(clients, client, HTTP_CLIENT_CLOSING);
}

static void close_longer_than(
	struct http_clients *clients, enum http_client_state state, mtime limit)
{
	struct http_client *client;

	while ((client = http_clients_first(clients, state)) && time_left(client, limit) <= 0)
		close_client(clients, client);
}

void http_clients_close_overdue(struct http_clients *clients, unsigned max)
{
	struct http_client *client;

	close_longer_than(clients, HTTP_CLIENT_SILENT, HTTP_SILENCE);
	close_longer_than(clients, HTTP_CLIENT_ANSWERED, answer_limit(clients));
	for (unsigned i = 0; i < max && is_crowded(clients); i++) {
		client = first_to_go(clients);
		if (time_left(client, HTTP_SILENCE_MIN) > 0)
			return;
		close_client(clients, client);
	}
}

mtime http_clients_time_left(const struct http_clients *clients)
{
	mtime span = time_left(http_clients_first(clients, HTTP_CLIENT_SILENT), HTTP_SILENCE);

	span = mtime_min(span, time_left(http_clients_first(clients, HTTP_CLIENT_ANSWERED),
				       answer_limit(clients)));
	if (is_crowded(clients))
		span = mtime_min(span, time_left(first_to_go(clients), HTTP_SILENCE_MIN));
	return span;
}
