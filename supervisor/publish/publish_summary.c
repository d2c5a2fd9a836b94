#include "publish/publish_summary.h"

#include "base/json.h"
#include "tty/cli_options.h"
#include <inttypes.h>
#include <stdio.h>

#define BAR_WIDTH  24
#define JSON_LIMIT 8192

bool publish_summary_is_clean(const struct publish_summary *t)
{
	return t->confirmed == t->published;
}

static double seconds_of(const struct publish_summary *t, mtime now)
{
	return (double)(now - t->started) / MTIME_SECOND;
}

static void draw_bar(uint64_t done, uint64_t total)
{
	uint64_t filled = done >= total ? BAR_WIDTH : done * BAR_WIDTH / total;
	fputc('[', stderr);
	for (uint64_t i = 0; i < BAR_WIDTH; i++)
		fputc(i < filled ? '#' : '-', stderr);
	fprintf(stderr, "] %3" PRIu64 " %%  ", done >= total ? 100 : done * 100 / total);
}

/* Leave the cursor at the start of the line, so that a log line overwrites it. */
void publish_summary_draw(const struct publish_summary *t, uint64_t done, uint64_t total, mtime now)
{
	char confirmed[32], rate[32];
	double seconds = seconds_of(t, now);

	if (total > 0)
		draw_bar(done, total);
	fprintf(stderr, "%s confirmed  %s/s\033[K\r", cli_number(t->confirmed, confirmed),
		cli_number(seconds > 0 ? (uint64_t)((double)t->confirmed / seconds) : 0, rate));
	fflush(stderr);
}

void publish_summary_erase(void)
{
	fputs("\033[K", stderr);
	fflush(stderr);
}

static void print_json(const struct publish_summary *t, mtime now)
{
	struct buf out;
	buf_init(&out, JSON_LIMIT);
	json_append_string(&out, t->queue);
	printf("{\"queue\":%.*s,\"published\":%" PRIu64 ",\"confirmed\":%" PRIu64
	       ",\"returned\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"unanswered\":%" PRIu64
	       ",\"republished\":%" PRIu64 ",\"seconds\":%.3f}\n",
		TEXT_ARGS(buf_text(&out)), t->published, t->confirmed, t->returned, t->refused,
		t->published - t->confirmed - t->returned - t->refused, t->republished,
		seconds_of(t, now));
	buf_release(&out);
}

static void print_text(const struct publish_summary *t)
{
	char number[32];
	uint64_t unanswered = t->published - t->confirmed - t->returned - t->refused;

	printf("published %s message%s to %.*s: ", cli_number(t->published, number),
		t->published == 1 ? "" : "s", TEXT_ARGS(t->queue));
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

bool publish_summary_print(const struct publish_summary *t, bool json, mtime now)
{
	if (json)
		print_json(t, now);
	else
		print_text(t);
	return fflush(stdout) == 0 && !ferror(stdout);
}
