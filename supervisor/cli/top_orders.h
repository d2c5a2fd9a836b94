/* What operators asked of pools by keys, until the supervisor has answered. Layer: cli, without
 * I/O. One after the other, so that three times "one more" are three more. */
#ifndef CLI_TOP_ORDERS_H
#define CLI_TOP_ORDERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TOP_ORDERS_MAX 16
#define TOP_PATH_ROOM  64

enum top_verb { TOP_PAUSE, TOP_RESUME, TOP_RESTART, TOP_SCALE };

struct top_order {
	enum top_verb verb;
	int by;     /* TOP_SCALE: so many more */
	char *pool; /* owned */
};

struct top_orders {
	struct top_order list[TOP_ORDERS_MAX];
	size_t count;
};

void top_orders_release(struct top_orders *);
/* False: there are too many already, or no memory. */
bool top_orders_add(struct top_orders *, enum top_verb, int by, const char *pool);
/* The path of the first one's POST. pool: as it is now. */
void top_orders_path(const struct top_orders *, const json_t *pool, char path[TOP_PATH_ROOM]);
/* The first has been answered. */
void top_orders_drop(struct top_orders *);
/* What has begun: "5 workers wanted". pool: as it was answered. */
void top_orders_words(const struct top_order *, const json_t *pool, char *words, size_t room);

#endif
