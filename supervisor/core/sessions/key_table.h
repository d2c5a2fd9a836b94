/* Sessions by key. Layer: core. Open addressing: the hashes stand in the table, so a search touches
 * one line of the processor's cache, and no session but the one that it finds. Does not own the
 * sessions. */
#ifndef CORE_SESSIONS_KEY_TABLE_H
#define CORE_SESSIONS_KEY_TABLE_H

#include "base/rc.h"
#include "core/sessions/session.h"

struct key_place {
	uint64_t hash;
	struct session *session; /* NULL: the place is free */
};

struct key_table {
	struct key_place *places; /* owned */
	uint32_t size;            /* 0, or a power of two */
	uint32_t count;
};

/* Make space for so many sessions. RC_MEMORY: nothing has changed. */
enum rc key_table_reserve(struct key_table *, uint32_t count) MUST_CHECK;
void key_table_release(struct key_table *);
/* There must be space for it. */
void key_table_add(struct key_table *, struct session *);
/* The session is in the table. */
void key_table_remove(struct key_table *, const struct session *);
/* The session with this key, whose hash this is; or NULL. */
struct session *key_table_find(const struct key_table *, uint64_t hash, struct text key);

#endif
