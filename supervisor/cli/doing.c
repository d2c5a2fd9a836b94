#include "cli/doing.h"

#include "cli/figures.h"

#include <stdio.h>

struct text doing_words(const json_t *worker, char room[DOING_ROOM])
{
	char age[FIGURE_ROOM], wait[FIGURE_ROOM];
	struct text exit = figure_text(worker, "last_exit.exit");
	bool is_waiting = figure_value(worker, "next_start_s") >= 0;

	if (figure_value(worker, "failures") <= 0 || json_is_object(figure_find(worker, "task")))
		return figure_text(worker, "task.name");
	snprintf(room, DOING_ROOM, "%.0f x %.*s, %.*s ago%s%.*s", figure_value(worker, "failures"),
		TEXT_ARGS(exit), TEXT_ARGS(figure_span(worker, "last_exit.age_s", age)),
		is_waiting ? "; next start in " : "",
		is_waiting ? (int)figure_span(worker, "next_start_s", wait).len : 0, wait);
	return text_from(room);
}
