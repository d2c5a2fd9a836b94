#include "api/figures.h"

#include <stddef.h>

const struct api_figure api_figures[API_FIGURE_COUNT] = {
#define FIGURE(id, member, kind, getter, text, ...)                                                \
	[API_FIGURE_##id] = {.path = member, .unit = kind, .help = text, ##__VA_ARGS__},
#include "api/figures.def"
};
