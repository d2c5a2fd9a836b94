#include "cli/reload_words.h"

#include "cli/figures.h"

void reload_append_settings(struct buf *out, const json_t *settings)
{
	const json_t *setting;
	size_t i;

	json_array_foreach(settings, i, setting)
	{
		buf_printf(
			out, "%s%.*s", i > 0 ? ", " : "", TEXT_ARGS(figure_text(setting, "key")));
		if (figure_find(setting, "from"))
			buf_printf(out, " %.*s -> %.*s", TEXT_ARGS(figure_text(setting, "from")),
				TEXT_ARGS(figure_text(setting, "to")));
	}
}
