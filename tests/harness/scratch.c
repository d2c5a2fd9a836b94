#include "harness/scratch.h"

#include <check.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *scratch_text(const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	ck_assert_int_ge(length, 0);
	return text;
}

char *scratch_path(const char *folder, const char *name)
{
	return scratch_text("%s/%s", folder, name);
}

char *scratch_make(void)
{
	const char *base = getenv("TEST_SCRATCH");
	char *folder = scratch_text("%s/wpool-test-XXXXXX", base ? base : "/tmp");
	ck_assert_msg(mkdtemp(folder) != NULL, "no scratch folder %s", folder);
	/* A private node runs as another user, which must be able to enter. */
	ck_assert_int_eq(chmod(folder, 0755), 0);
	return folder;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	remove(path);
	return 0;
}

void scratch_remove(char *folder)
{
	if (folder)
		nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

void scratch_write(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	ck_assert_msg(file != NULL, "cannot write %s", path);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

char *scratch_read(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	if (!file)
		return NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *copy = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(copy);
	char block[65536];
	size_t count;
	while ((count = fread(block, 1, sizeof block, file)) > 0)
		ck_assert_uint_eq(fwrite(block, 1, count, copy), count);
	fclose(file);
	ck_assert_int_eq(fclose(copy), 0);
	if (ret_size)
		*ret_size = size;
	return text;
}
