#include "unit/support/config/loading.h"

#include <stdio.h>
#include <unistd.h>

struct loading loaded;
static char loading_folder[] = "/tmp/wpool-unit-XXXXXX";

void loading_join(struct problems *problems, struct buf *out)
{
	for (size_t i = 0; i < problems->count; i++)
		buf_printf(out, "%s\n", problems->list[i].message);
	problems_release(problems);
}

void loading_take(struct buf *from, char to[LOADING_PROBLEMS_SIZE])
{
	struct text t = buf_text(from);
	ck_assert(!from->failed && t.len < LOADING_PROBLEMS_SIZE);
	snprintf(to, LOADING_PROBLEMS_SIZE, "%.*s", TEXT_ARGS(t));
	ck_assert_uint_eq(strlen(to), t.len);
	buf_release(from);
}

void loading_load(const struct config_flags *flags, const char *const *environment)
{
	struct problems problems = {0};
	struct buf out;
	config_free(loaded.config);
	loaded.config = NULL;
	loaded.printed[0] = '\0';
	buf_init(&out, LOADING_PROBLEMS_SIZE);
	loaded.rc = config_load(flags, (char *const *)environment, &loaded.config, &problems);
	size_t len = 0;
	*loaded.lines = '\0';
	for (size_t i = 0; i < problems.count && len < sizeof loaded.lines; i++)
		len += (size_t)snprintf(loaded.lines + len, sizeof loaded.lines - len, " %zu",
			problems.list[i].line);
	loading_join(&problems, &out);
	loading_take(&out, loaded.problems);
	ck_assert((loaded.rc == RC_OK) == (loaded.config != NULL));
	ck_assert(loaded.rc == RC_OK || *loaded.problems);
	if (!loaded.config)
		return;
	buf_init(&out, LOADING_PROBLEMS_SIZE);
	config_print(loaded.config, &out);
	loading_take(&out, loaded.printed);
}

void loading_write(struct text yaml)
{
	FILE *file = fopen(LOADING_FILE, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(yaml.len ? yaml.ptr : "", 1, yaml.len, file), yaml.len);
	ck_assert_int_eq(fclose(file), 0);
}

void loading_load_yaml(struct text yaml, const char *const *environment)
{
	loading_write(yaml);
	loading_load(&(struct config_flags){.is_for_other_process = true, .file = LOADING_FILE},
		environment);
}

void loading_set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(loading_folder));
	ck_assert_int_eq(chdir(loading_folder), 0);
}

void loading_tear_down(void)
{
	config_free(loaded.config);
	loaded.config = NULL;
	unlink(LOADING_FILE);
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(loading_folder), 0);
}
