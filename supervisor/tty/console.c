#include "tty/console.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/utf8.h"
#include "config/config.h"
#include "tty/text_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sysexits.h>
#include <unistd.h>

bool console_has_colour(int fd)
{
	const char *unwanted = getenv("NO_COLOR");
	return isatty(fd) && !(unwanted && *unwanted);
}

size_t console_width(void)
{
	struct winsize size;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}

static void print_escaped(FILE *stream, struct text text)
{
	struct buf shown;

	buf_init(&shown, SIZE_MAX);
	utf8_append_escaped(&shown, text);
	if (buf_len(&shown) > 0)
		fwrite(buf_text(&shown).ptr, 1, buf_len(&shown), stream);
	buf_release(&shown);
}

static void PRINTF_LIKE(2, 0) vprint(FILE *stream, const char *format, va_list args)
{
	struct buf text;

	buf_init(&text, SIZE_MAX);
	buf_vprintf(&text, format, args);
	print_escaped(stream, buf_text(&text));
	buf_release(&text);
}

void console_print(FILE *stream, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprint(stream, format, args);
	va_end(args);
}

bool console_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool console_ask(const char *question, ...)
{
	char answer[16];
	va_list args;

	va_start(args, question);
	vprint(stderr, question, args);
	va_end(args);
	fputs(" [y/N] ", stderr);
	fflush(stderr);
	return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

void console_problem(const char *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "wpool %s: ", command);
	va_start(args, format);
	vprint(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void console_print_lines(FILE *stream, struct text lines)
{
	struct text line;

	while (lines.len > 0) {
		if (!text_take_line(&lines, &line)) {
			line = lines;
			lines = TEXT_NONE;
		}
		print_escaped(stream, line);
		fputc('\n', stream);
	}
}

bool console_flush(const char *command)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	fprintf(stderr, "wpool %s: standard output: %s\n", command, strerror(errno));
	return false;
}

int console_print_table(const char *command, const struct text_table *table)
{
	struct buf out;
	buf_init(&out, SIZE_MAX);
	text_table_write(table, console_width(), &out);
	bool has_failed = out.failed;
	if (has_failed)
		fprintf(stderr, "wpool %s: out of memory\n", command);
	else
		printf("%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
	return has_failed ? EX_SOFTWARE : EX_OK;
}

void console_set_up_log(const struct config *config)
{
	enum log_format format = isatty(STDERR_FILENO) ? LOG_TEXT : LOG_JSON;

	if (config->log_format == CONFIG_LOG_TEXT)
		format = LOG_TEXT;
	else if (config->log_format == CONFIG_LOG_JSON)
		format = LOG_JSON;
	log_setup(STDERR_FILENO, config->log_level, format, console_has_colour(STDERR_FILENO));
}

void console_warn(const struct problems *warnings)
{
	for (size_t i = 0; i < warnings->count; i++)
		log_warn("%s", warnings->list[i].message);
}

int console_problems(const char *command, enum rc rc, const struct problems *problems)
{
	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *problem = &problems->list[i];
		if (!problem->is_in_file)
			fprintf(stderr, "wpool %s: ", command);
		console_print(stderr, "%s", problem->message);
		if (rc == RC_REFUSED && i + 1 == problems->count)
			fprintf(stderr, "; see wpool %s --help", command);
		fputc('\n', stderr);
	}
	if (rc == RC_MEMORY) {
		fprintf(stderr, "wpool %s: out of memory\n", command);
		return EX_SOFTWARE;
	}
	return rc == RC_REFUSED ? EX_USAGE : EX_CONFIG;
}
