/* Replies that the workers of these tests have in common. */
#ifndef SDK_PROBE_REPLIES_H
#define SDK_PROBE_REPLIES_H

#include <stdlib.h>
#include <string.h>
#include <wpool/worker.h>

static inline void reply_text(struct wpool_task *task, const char *text)
{
	wpool_reply(task, text, strlen(text));
}

/* The number of bytes is in rest. */
static inline void do_large(struct wpool_task *task, const char *rest)
{
	size_t len = (size_t)atol(rest);
	char *bytes = malloc(len);
	if (!bytes)
		return;
	memset(bytes, 'x', len);
	wpool_reply(task, bytes, len);
	free(bytes);
}

#endif
