/* A document that is a list, {"NAME":[...]}, one member a line, made while it is sent. Layer: cli.
 * With ?pool=NAME in the query it is of that pool alone. */
#ifndef CLI_CONTROL_LIST_H
#define CLI_CONTROL_LIST_H

#include "cli/overview.h"
#include "io/http.h"

struct control_list {
	const struct overview *overview;
	const char *name; /* static */
	bool (*append_next)(struct control_list *, struct buf *out);
	uint32_t only; /* serial of a station; 0: all */
	bool is_local; /* who asks may know of messages, too */
	size_t place;  /* where it stands */
	uint16_t slot;
	bool has_begun, has_members, has_ended;
};

/* only: as above, whatever the query says. */
void control_list_answer_only(const struct overview *, const struct http_request *,
	const char *name, bool (*append_next)(struct control_list *, struct buf *out),
	uint32_t only);
/* append_next: appends a member or none, and moves on; false: there was none any more. */
void control_list_answer(const struct overview *, const struct http_request *, const char *name,
	bool (*append_next)(struct control_list *, struct buf *out));
bool control_list_wants(const struct control_list *, const struct station *);
/* Before each member. */
void control_list_separate(struct control_list *, struct buf *out);

#endif
