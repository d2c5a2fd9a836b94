#include "cli/control_list.h"

#include "cli/control_json.h"
#include "cli/control_routes.h"

#include <stdlib.h>

#define NAMES_MAX   20
#define WORDS_LIMIT (64 * 1024)

static bool on_next(void *ctx, struct buf *out)
{
	struct control_list *list = ctx;

	if (list->has_ended)
		return false;
	if (!list->has_begun)
		buf_printf(out, "{\"%s\":[\n", list->name);
	list->has_begun = true;
	if (!list->append_next(list, out)) {
		buf_append_text(out, TEXT("\n]}\n"));
		list->has_ended = true;
	}
	return true;
}

static const struct http_pieces pieces = {.next = on_next, .end = free};

bool control_list_wants(const struct control_list *list, const struct station *station)
{
	return list->only == 0 || list->only == station_serial(station);
}

void control_list_separate(struct control_list *list, struct buf *out)
{
	if (list->has_members)
		buf_append_text(out, TEXT(",\n"));
	list->has_members = true;
}

void control_list_answer_only(const struct overview *overview, const struct http_request *request,
	const char *name, bool (*append_next)(struct control_list *, struct buf *out),
	uint32_t only)
{
	struct control_list *list = malloc(sizeof *list);

	if (!list) {
		control_refuse(request, 503, "out of memory", NULL);
		return;
	}
	*list = (struct control_list){.overview = overview,
		.name = name,
		.append_next = append_next,
		.only = only,
		.is_local = request->is_local};
	http_answer_in_pieces(request, CONTROL_JSON_TYPE, &pieces, list);
}

static void append_names(const struct fleet *fleet, struct buf *words)
{
	struct station *station;
	size_t count = 0;

	for (size_t i = 0; (station = fleet_next(fleet, &i)); count++)
		if (count < NAMES_MAX)
			buf_printf(
				words, "%s%s", count ? ", " : ": ", station_config(station)->name);
	if (count > NAMES_MAX)
		buf_printf(words, " and %zu more", count - NAMES_MAX);
}

void control_refuse_pool(
	const struct overview *overview, const struct http_request *request, struct text name)
{
	struct buf words;

	buf_init(&words, WORDS_LIMIT);
	buf_printf(&words, "there is no pool \"%.*s\"; there are", TEXT_ARGS(name));
	append_names(overview->fleet, &words);
	buf_append_byte(&words, '\0');
	control_refuse(
		request, 404, words.failed ? "there is no such pool" : buf_text(&words).ptr, NULL);
	buf_release(&words);
}

void control_list_answer(const struct overview *overview, const struct http_request *request,
	const char *name, bool (*append_next)(struct control_list *, struct buf *out))
{
	const char *pool = http_query(request, "pool");
	const struct station *only = pool ? fleet_find(overview->fleet, text_from(pool)) : NULL;

	if (pool && !only)
		control_refuse_pool(overview, request, text_from(pool));
	else
		control_list_answer_only(
			overview, request, name, append_next, only ? station_serial(only) : 0);
}
