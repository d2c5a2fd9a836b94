/* Counts the words of a file, which is the message's body, and replies {"words": n, "lines": n,
 * "bytes": n}. A word is a longest run of bytes other than space, \t, \n, \v, \f and \r, as `wc -w`
 * has it; a line is what ends in \n. */
#include <stdio.h>
#include <wpool/worker.h>

struct count {
	size_t words;
	size_t lines;
};

static bool is_space(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static struct count count(struct wpool_text text)
{
	struct count count = {0, 0};
	bool in_word = false;
	for (size_t i = 0; i < text.len; i++) {
		bool space = is_space(text.data[i]);
		count.words += !space && !in_word;
		count.lines += text.data[i] == '\n';
		in_word = !space;
	}
	return count;
}

static void handle(struct wpool_task *task, void *context)
{
	(void)context;
	struct wpool_text body = wpool_task_body(task);
	struct count result = count(body);
	char reply[128];
	int len = snprintf(reply, sizeof reply, "{\"words\": %zu, \"lines\": %zu, \"bytes\": %zu}",
		result.words, result.lines, body.len);
	wpool_reply_header(task, "content-type", "application/json");
	wpool_reply(task, reply, (size_t)len);
}

int main(void)
{
	return wpool_worker_run(handle, NULL);
}
