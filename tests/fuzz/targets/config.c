/* A configuration file, the environment it names, and flags. Input: lines "NAME=value" and
 * "--flag=value", then a line "%", then the file. Every refusal says why; what is taken prints, and
 * is taken again as the same. */
#include "config/config.h"
#include "config/yaml/tree.h"
#include "fuzz/feed.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* base: libyaml's buffers and stacks, a read's room, the settings of a pool; and what variables may
 * be replaced by, however small the file (TREE_TEXT_MAX), in the tree, in the settings, and printed
 * into a buffer that doubles. */
const struct fuzz_memory fuzz_memory = {.base = 128 * 1024 + 4 * TREE_TEXT_MAX, .multiple = 192};

#define NAMES_MAX 32

struct given {
	char *text; /* owned; the lines, each ended by a NUL */
	char *environment[NAMES_MAX + 1];
	size_t count;
	struct config_flags flags;
};

static int file = -1;
static char file_name[64];

static void write_file(struct text yaml)
{
	if (file < 0) {
		file = memfd_create("config", MFD_CLOEXEC);
		snprintf(file_name, sizeof file_name, "/proc/self/fd/%d", file);
	}
	FUZZ_REQUIRE(file >= 0 && ftruncate(file, 0) == 0);
	FUZZ_REQUIRE(pwrite(file, yaml.ptr, yaml.len, 0) == (ssize_t)yaml.len);
}

static void take_flag(struct config_flags *flags, char *line)
{
	const struct {
		const char *name;
		const char **value;
	} known[] = {{"--broker=", &flags->broker}, {"--queue=", &flags->queue},
		{"--workers=", &flags->workers}, {"--prefetch=", &flags->prefetch},
		{"--pipeline=", &flags->pipeline}, {"--concurrency=", &flags->concurrency},
		{"--pipe=", &flags->pipe}, {"--declare=", &flags->declare},
		{"--log-level=", &flags->log_level}, {"--log-format=", &flags->log_format}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strncmp(line, known[i].name, strlen(known[i].name)) == 0)
			*known[i].value = line + strlen(known[i].name);
}

static void take_line(struct given *given, char *line)
{
	if (line[0] == '-')
		take_flag(&given->flags, line);
	else if (strchr(line, '=') && given->count < NAMES_MAX)
		given->environment[given->count++] = line;
}

/* The lines before "%"; returns what stands behind it. has_file: there was one. */
static struct text take_given(struct given *given, struct text input, bool *has_file)
{
	const char *end = memmem(input.ptr, input.len, "%\n", 2);
	size_t len = end ? (size_t)(end - input.ptr) : input.len;
	*has_file = end;
	given->text = strndup(input.ptr, len);
	FUZZ_REQUIRE(given->text);
	char *rest = given->text, *line;
	while ((line = strsep(&rest, "\n")))
		take_line(given, line);
	return end ? text_of(end + 2, input.len - len - 2) : TEXT_NONE;
}

static enum rc load(const struct config_flags *flags, char *const *environment, struct buf *ret)
{
	struct config *config;
	struct problems problems = {0};
	buf_init(ret, SIZE_MAX);
	enum rc rc = config_load(flags, environment, &config, &problems);
	FUZZ_REQUIRE(rc == RC_OK || rc == RC_REFUSED || rc == RC_MALFORMED);
	FUZZ_REQUIRE(rc == RC_OK || problems.count > 0);
	problems_release(&problems);
	if (rc != RC_OK)
		return rc;
	config_print(config, ret);
	FUZZ_REQUIRE(!ret->failed);
	config_free(config);
	return rc;
}

/* A dollar is printed as two, a byte of a name as three: what is near its limit may be over it as
 * it is printed. An address has 4,096 bytes at most. */
static bool is_near_limits(struct text printed)
{
	while (printed.len > 0 && printed.len <= TREE_TEXT_MAX) {
		const char *end = memchr(printed.ptr, '\n', printed.len);
		size_t len = end ? (size_t)(end - printed.ptr) + 1 : printed.len;
		if (len > 4096)
			return true;
		printed = text_of(printed.ptr + len, printed.len - len);
	}
	return printed.len > 0;
}

static void check_again(struct buf *first)
{
	struct buf second;
	if (is_near_limits(buf_text(first)))
		return;
	write_file(buf_text(first));
	FUZZ_REQUIRE(load(&(struct config_flags){.file = file_name}, NULL, &second) == RC_OK);
	FUZZ_REQUIRE(text_is(buf_text(first), buf_text(&second)));
	buf_release(&second);
}

void fuzz_one(struct text input)
{
	struct given given = {0};
	struct buf printed;
	bool has_file;
	memory_pause();
	struct text yaml = take_given(&given, input, &has_file);
	memory_resume();
	if (has_file) {
		write_file(yaml);
		given.flags.file = file_name;
	}
	if (load(&given.flags, given.environment, &printed) == RC_OK)
		check_again(&printed);
	buf_release(&printed);
	memory_pause();
	free(given.text);
	memory_resume();
}
