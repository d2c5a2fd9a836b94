#include "client/findings.h"

static const char *const kinds[][2] = {{"reasons", "reason"}, {"warnings", "warning"}};

#define KINDS (sizeof kinds / sizeof *kinds)

size_t findings_count(const json_t *object)
{
	size_t count = 0;

	for (size_t i = 0; i < KINDS; i++)
		count += json_array_size(json_object_get(object, kinds[i][0]));
	return count;
}

bool findings_next(const json_t *object, size_t *at, struct finding *ret)
{
	size_t number = (*at)++;

	for (size_t i = 0; i < KINDS; i++) {
		const json_t *list = json_object_get(object, kinds[i][0]);

		if (number < json_array_size(list)) {
			const char *text = json_string_value(json_array_get(list, number));
			*ret = (struct finding){kinds[i][1], text ? text : "-"};
			return true;
		}
		number -= json_array_size(list);
	}
	return false;
}
