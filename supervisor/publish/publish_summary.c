#include "publish/publish_summary.h"

#include "tty/cli_options.h"
#include "tty/console.h"
#include "tty/json_print.h"
#include <inttypes.h>
#include <stdio.h>

#define BAR_WIDTH 24

bool publish_summary_is_clean(const struct publish_summary *t)
{
	return t->confirmed == t->published;
}

/* Leave the cursor at the start of the line, so that a log line overwrites it. */
void publish_summary_draw(const struct publish_summary *t, uint64_t done, uint64_t total, mtime now)
{
	char confirmed[32], rate[32];
	double seconds = (double)(now - t->started) / MTIME_SECOND;

	if (total > 0) {
		uint64_t filled = done >= total ? BAR_WIDTH : done * BAR_WIDTH / total;
		fputc('[', stderr);
		for (uint64_t i = 0; i < BAR_WIDTH; i++)
			fputc(i < filled ? '#' : '-', stderr);
		fprintf(stderr, "] %3" PRIu64 " %%  ", done >= total ? 100 : done * 100 / total);
	}
	fprintf(stderr, "%s confirmed  %s/s\033[K\r", cli_number(t->confirmed, confirmed),
		cli_number(seconds > 0 ? (uint64_t)((double)t->confirmed / seconds) : 0, rate));
	fflush(stderr);
}

void publish_summary_erase(void)
{
	fputs("\033[K", stderr);
	fflush(stderr);
}

static void print_text(const struct publish_summary *t, uint64_t unanswered)
{
	char number[32];
	bool is_clean = publish_summary_is_clean(t);

	printf("published %s", cli_number(t->confirmed, number));
	if (!is_clean)
		printf(" of %s", cli_number(t->published, number));
	console_print(stdout, " message%s to %s%.*s: ", t->published == 1 ? "" : "s",
		t->queue.ptr ? "" : "exchange ", TEXT_ARGS(t->queue.ptr ? t->queue : t->exchange));
	printf("%s confirmed, ", cli_number(t->confirmed, number));
	printf("%s returned, ", cli_number(t->returned, number));
	printf("%s refused", cli_number(t->refused, number));
	if (unanswered > 0)
		printf(", %s without an answer", cli_number(unanswered, number));
	if (t->republished > 0)
		printf("; %s published again after a lost connection, and perhaps in the queue twice",
			cli_number(t->republished, number));
	putchar('\n');
}

static json_t *json_or_null(struct text text)
{
	return text.ptr ? json_text(text) : json_null();
}

bool publish_summary_print(const struct publish_summary *t, bool json, mtime now)
{
	uint64_t unanswered = t->published - t->confirmed - t->returned - t->refused;

	if (!json)
		print_text(t, unanswered);
	else if (!json_print(json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f}",
			 "queue", json_or_null(t->queue), "exchange", json_or_null(t->exchange),
			 "routing_key", json_or_null(t->routing_key), "published",
			 (json_int_t)t->published, "confirmed", (json_int_t)t->confirmed,
			 "returned", (json_int_t)t->returned, "refused", (json_int_t)t->refused,
			 "unanswered", (json_int_t)unanswered, "republished",
			 (json_int_t)t->republished, "seconds",
			 (double)((now - t->started) / MTIME_MS) / 1000)))
		return false;
	return fflush(stdout) == 0 && !ferror(stdout);
}
