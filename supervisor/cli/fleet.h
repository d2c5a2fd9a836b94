/* The stations of a supervisor, each at a place of its own. Layer: cli.
 * Place i has channel i + 1 on both connections; one that was left is used again. Owns them. Who
 * walks over several turns keeps a place and looks each time what is there; a serial is the name of
 * a station that no other ever has. */
#ifndef CLI_FLEET_H
#define CLI_FLEET_H

#include "base/text.h"
#include "cli/station.h"

/* Pools beyond that are refused: channels, and places in a walk, are numbered by 16 bits. */
#define FLEET_MAX 10000

/* Zero is empty. */
struct fleet {
	struct station **at; /* NULL: a free place */
	uint16_t count;      /* places */
	uint32_t serials;    /* the latest that was given */
};

/* A station at the first free place; config moves in. NULL: out of memory, or FLEET_MAX places are
 * taken; nothing has changed. */
struct station *fleet_add(struct fleet *, const struct station_tools *, struct config_pool *config,
	mtime now) MUST_CHECK;
/* It is freed, with what still lives of it. */
void fleet_remove(struct fleet *, struct station *);
void fleet_release(struct fleet *);

/* NULL: there is none. */
struct station *fleet_at(const struct fleet *, size_t place);
/* The first at *place or behind, and *place moves behind it; NULL: there is none any more. */
struct station *fleet_next(const struct fleet *, size_t *place);
/* The latest of that name that was there when `newest` was the latest serial; NULL: none. */
struct station *fleet_find_as_of(const struct fleet *, struct text name, uint32_t newest);
/* The latest of that name. */
struct station *fleet_find(const struct fleet *, struct text name);
/* How many are not leaving. */
size_t fleet_pools(const struct fleet *);

#endif
