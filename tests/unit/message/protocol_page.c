/* The frames that PROTOCOL.md shows: its tasks are what task_write writes, its outputs mean what
 * the page says of them, and no example has a wrong length. Run from the project's top. */
#include "unit/support/message/answer.h"
#include "wire/frame.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE       "worker-sdk/PROTOCOL.md"
#define PAGE_MAX   (256 * 1024)
#define FRAMES_MAX 64

/* Whole frames, with their lengths, in the order of the page. */
struct page_frames {
	struct bytes list[FRAMES_MAX];
	size_t count;
	bool is_begun; /* the last one goes on in the next line */
};

static const char *read_page(void)
{
	static char page[PAGE_MAX];
	FILE *file = fopen(PAGE, "re");
	ck_assert_msg(file != NULL, PAGE);
	size_t len = fread(page, 1, sizeof page - 1, file);
	fclose(file);
	ck_assert_uint_lt(len, sizeof page - 1);
	page[len] = '\0';
	return page;
}

/* Read a word of two hexadecimal digits at *at, and move *at to the next word. */
static bool take_octet(const char **at, uint8_t *ret)
{
	const char *word = *at;
	if (!isxdigit((unsigned char)word[0]) || !isxdigit((unsigned char)word[1]) ||
		(word[2] != ' ' && word[2] != '\n'))
		return false;
	*ret = (uint8_t)strtoul((char[]){word[0], word[1], '\0'}, NULL, 16);
	*at = word + 2 + strspn(word + 2, " ");
	return true;
}

/* Where a length begins, which is below 65536 in all examples; NULL: this line has none. */
static const char *find_length(const char *line, const char *end)
{
	const char *found = strstr(line, "00 00 ");
	return found && found < end ? found : NULL;
}

/* Take the bytes at the front of a text; what follows them in the line describes them. */
static void take_bytes(struct page_frames *frames, const char *at)
{
	struct bytes *frame = &frames->list[frames->count];
	const char *from = at;
	while (frame->len < HEX_MAX && take_octet(&at, &frame->at[frame->len]))
		frame->len++;
	ck_assert_uint_ge(frame->len, WIRE_LENGTH_BYTES);
	size_t len = WIRE_LENGTH_BYTES + wire_get_length(frame->at);
	ck_assert_msg(frame->len <= len, "%zu bytes are announced, %zu are there: %.60s", len,
		frame->len, from);
	ck_assert_msg(
		from < at, "a frame has %zu of %zu bytes before: %.60s", frame->len, len, from);
	frames->is_begun = frame->len < len;
	if (!frames->is_begun)
		ck_assert_uint_lt(++frames->count, FRAMES_MAX);
}

static const struct page_frames *read_frames(void)
{
	static struct page_frames frames;
	const char *page = read_page();
	bool is_code = false;
	frames = (struct page_frames){.count = 0};
	for (const char *line = page, *end; *line; line = end + (*end == '\n')) {
		end = strchrnul(line, '\n');
		const char *at = line + strspn(line, " ");
		if (strncmp(line, "```", 3) == 0) {
			ck_assert_msg(!frames.is_begun, "a frame is cut before: %.60s", line);
			is_code = !is_code;
		} else if (is_code && (frames.is_begun || (at = find_length(line, end)))) {
			take_bytes(&frames, at);
		}
	}
	return &frames;
}

static struct text content_of(const struct bytes *frame)
{
	return text_of(frame->at + WIRE_LENGTH_BYTES, frame->len - WIRE_LENGTH_BYTES);
}

static const struct page_task {
	const char *body, *correlation_id, *queue, *header, *value;
	uint64_t id;
	bool has_session; /* the header is the key */
} tasks[] = {
	{"'hi'", "c-1", "work", "lang", "en", 7, false},
	{"'-50'", "", "bank", "session", "acme-7", 9, true},
	{"ff 00", "", "work", NULL, NULL, 1000, false},
	{"'a'", "c-1", "q", NULL, NULL, 7, false},
	{"'b'", "c-2", "q", NULL, NULL, 8, false},
};

#define TASKS (sizeof tasks / sizeof *tasks)

static void write_task(const struct page_task *task, bool has_id, struct buf *out)
{
	struct properties properties = {0};
	struct bytes body = from_hex(task->body);
	struct task_options options = {
		.frame_limit = HEX_MAX, .queue = text_from(task->queue), .has_id = has_id};
	struct buf table;
	buf_init(&table, SIZE_MAX);
	buf_init(out, SIZE_MAX);
	if (task->header)
		table_put_string(&table, text_from(task->header), text_from(task->value));
	properties_set(&properties, PROPERTY_CORRELATION_ID, text_from(task->correlation_id));
	struct key_source key = {
		.kind = task->has_session ? KEY_HEADER : KEY_NONE, .header = TEXT("session")};
	struct delivery *delivery =
		delivery_of_session(&properties, buf_text(&table), bytes_text(&body), &key);
	delivery->id = task->id;
	ck_assert_int_eq(task_write(delivery, &options, 1, 0, out, NULL), RC_OK);
	delivery_free(delivery);
	buf_release(&table);
}

/* The task that is this frame, or NULL. */
static const struct page_task *find_task(const struct bytes *frame)
{
	for (size_t i = 0; i < TASKS; i++) {
		struct buf written;
		write_task(&tasks[i], true, &written);
		bool is_same = text_is(buf_text(&written), bytes_text(frame));
		buf_release(&written);
		if (is_same)
			return &tasks[i];
	}
	return NULL;
}

/* All but the tasks, in the order of the page. */
static const struct {
	int32_t status;
	uint64_t id;
	const char *body, *queue;
	int64_t asked_ms; /* a wait, or as progress a hard limit; -1: neither */
} outputs[] = {
	{200, 0, "", "", -1},
	{200, 0, "", "", -1},
	{-1, 0, "half", "", -1},
	{-2, 0, "", "", -1},
	{205, 0, "", "", -1},
	{201, 0, "HI", "", -1},
	{503, 0, "", "", 250},
	{-1, 0, "", "", 60000},
	{200, 7, "", "", -1},
	{-1, 7, "half", "", -1},
	{201, 1000, "HI", "", -1},
	{500, 1000, "", "", -1},
	{200, 0, "New OutPut Message!", "", -1},
	{200, 0, "New OutPut Message!", "testQueue", -1},
	{200, 0, "", "", -1},
	{200, 7, "", "", -1},
	{201, 0, "HI", "", -1},
	{200, 0, "", "", -1},
	{201, 0, "HI", "work", -1},
	{503, 0, "", "", 5000},
	{201, 0, "rest", "work", -1},
	{-1, 7, "half", "", -1},
	{201, 8, "B", "", -1},
	{201, 7, "A", "", -1},
};

#define OUTPUTS (sizeof outputs / sizeof *outputs)

static void check_output(size_t i, const struct bytes *frame)
{
	ck_assert_msg(i < OUTPUTS, "the page has more outputs than the table");
	struct output *output = read_good(content_of(frame));
	ck_assert_msg(output->status == outputs[i].status, "output %zu: %d", i, output->status);
	ck_assert_msg(output->task_id == outputs[i].id, "output %zu", i);
	ck_assert_text_eq(output->body, text_from(outputs[i].body));
	ck_assert_text_eq(output->reply_queue, text_from(outputs[i].queue));
	int64_t wait_ms = output->postpone_ms >= 0 ? output->postpone_ms : output->retry_after_ms;
	bool is_progress = output->status == STATUS_PROGRESS;
	ck_assert_msg((is_progress ? output->hard_limit_ms : wait_ms) == outputs[i].asked_ms,
		"output %zu", i);
	output_free(output);
}

START_TEST(the_frames_on_the_page_are_right)
{
	const struct page_frames *frames = read_frames();
	size_t seen[TASKS] = {0}, output_count = 0;
	for (size_t i = 0; i < frames->count; i++) {
		const struct page_task *task = find_task(&frames->list[i]);
		if (task)
			seen[task - tasks]++;
		else
			check_output(output_count++, &frames->list[i]);
	}
	for (size_t i = 0; i < TASKS; i++)
		ck_assert_msg(seen[i] == 1, "task %zu is there %zu times", i, seen[i]);
	ck_assert_uint_eq(output_count, OUTPUTS);
}
END_TEST

/* The bytes of a shell's printf '...', where all escapes are octal. */
static struct bytes printed(const char *at)
{
	struct bytes bytes = {.len = 0};
	while (*at != '\'') {
		unsigned octet = (unsigned char)*at;
		int used = 1;
		if (octet == '\\')
			ck_assert_int_eq(sscanf(at + 1, "%3o%n", &octet, &used), 1);
		at += octet == (unsigned char)*at ? 1 : 1 + used;
		bytes.at[bytes.len++] = (uint8_t)octet;
	}
	return bytes;
}

/* It shows the first task without its id. */
START_TEST(the_shell_example_writes_a_task)
{
	static const char before[] = "\nprintf '";
	const char *found = strstr(read_page(), before);
	ck_assert_ptr_nonnull(found);
	struct bytes bytes = printed(found + sizeof before - 1);
	struct buf written;
	write_task(&tasks[0], false, &written);
	ck_assert_text_eq(bytes_text(&bytes), buf_text(&written));
	buf_release(&written);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("message/protocol_page");
	UNIT_CASE(s, "bytes", the_frames_on_the_page_are_right, the_shell_example_writes_a_task);
	return s;
}

UNIT_MAIN(suite)
