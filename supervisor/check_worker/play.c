#include "check_worker/play.h"

#include "os/clock.h"
#include "runtime/report/texts.h"

#include <stdio.h>

/* Bytes of a task that are held back; its id may be among them. */
#define PART_KEPT 3

/* After a worker that did not exit the others have little time to. */
#define EXIT_WAIT_SHORT MTIME_SECOND

void play_init(struct play *play, struct run *run, const struct check *check)
{
	*play = (struct play){.run = run, .check = check};
	subject_init(&play->subject, run->setup, run->next_id);
	if (run->found[FAULT_STAYS] && play->subject.exit_wait > EXIT_WAIT_SHORT)
		play->subject.exit_wait = EXIT_WAIT_SHORT;
}

void play_end(struct play *play)
{
	subject_end(&play->subject);
}

size_t play_count(const struct play *play, size_t max)
{
	size_t concurrency = play->run->setup->config.concurrency;
	return concurrency < max ? concurrency : max;
}

bool play_start(struct play *play)
{
	return subject_start(&play->subject) && subject_give_address(&play->subject, "");
}

/* ---------- tasks ---------- */

static bool append_task(struct play *play, enum task_kind kind, uint64_t id)
{
	struct subject *subject = &play->subject;
	size_t before = buf_len(&subject->unsent);
	enum rc rc = tasks_append(&subject->unsent, kind, id, &subject->setup->config.task,
		play->run->files, play->run->file_count);
	if (rc != RC_OK)
		return fault_set(
			&subject->fault, FAULT_MEMORY, TEXT_NONE, "the task: %s", rc_text(rc));
	struct text all = buf_text(&subject->unsent);
	play->sent = fault_bytes(text_of(all.ptr + before, all.len - before));
	return true;
}

bool play_add(struct play *play, enum task_kind kind)
{
	uint64_t id = play_unused_id(play);
	if (!append_task(play, kind, id))
		return false;
	exchange_add(&play->subject.exchange, play->run->setup->config.task.has_id ? id : 0, kind);
	return true;
}

bool play_add_several(struct play *play, size_t count)
{
	bool is_right = true;
	for (size_t i = 0; i < count && is_right; i++)
		is_right = play_add(play, i % 2 == 0 ? TASK_PLAIN : TASK_SECOND);
	return is_right;
}

bool play_add_unfinished(struct play *play, enum task_kind kind)
{
	return append_task(play, kind, play_unused_id(play));
}

static bool send_but(struct play *play, size_t kept)
{
	struct subject *subject = &play->subject;
	subject_send(subject, buf_len(&subject->unsent) - subject->allowed - kept);
	return true;
}

bool play_send(struct play *play)
{
	return send_but(play, 0);
}

bool play_send_part(struct play *play)
{
	return send_but(play, PART_KEPT);
}

bool play_ask(struct play *play, enum task_kind kind)
{
	return play_add(play, kind) && play_send(play) && subject_wait_answer(&play->subject);
}

bool play_time(struct play *play, enum task_kind kind, mtime *ret)
{
	mtime begin = clock_now();
	bool is_right = play_ask(play, kind);
	*ret = clock_now() - begin;
	return is_right;
}

bool play_ask_files(struct play *play)
{
	for (size_t i = 0; i < play->run->file_count; i++) {
		if (!play_ask(play, (enum task_kind)(TASK_FILES + i)))
			return false;
		const struct sent_task *task = &play->subject.exchange.tasks[i];
		if (task->status >= STATUS_REJECTED)
			return fault_set(&play->subject.fault, FAULT_FAILED_TASK,
				text_of(task->frame.head, task->frame.shown),
				"%d for body %zu of --task", (int)task->status, i + 1);
	}
	return true;
}

/* ---------- control lines ---------- */

uint64_t play_unused_id(struct play *play)
{
	return play->run->next_id++;
}

static bool write_line_with_id(struct play *play, const char *word, uint64_t id)
{
	char line[64];
	snprintf(line, sizeof line, "%s %llu", word, (unsigned long long)id);
	return subject_write_line(&play->subject, line);
}

bool play_cancel(struct play *play, uint64_t id)
{
	return write_line_with_id(play, "__cancel__", id);
}

bool play_switch(struct play *play, uint64_t id)
{
	static const char word[] = "__context_switch__";
	if (play->run->setup->config.concurrency == 1)
		return subject_write_line(&play->subject, word);
	return write_line_with_id(play, word, id);
}

/* ---------- the end ---------- */

bool play_quit(struct play *play)
{
	return subject_write_line(&play->subject, "__quit__") && subject_shut(&play->subject);
}

bool play_exit_zero(struct play *play)
{
	struct subject *subject = &play->subject;
	char how[EXIT_TEXT_SIZE];
	if (!subject_wait_exit(subject))
		return false;
	if (subject->exit.kind == EXIT_STATUS && subject->exit.number == 0)
		return true;
	return fault_set(&subject->fault, FAULT_STATUS, TEXT_NONE, "%s",
		exit_text(&subject->exit, NULL, how));
}

bool play_quit_quietly(struct play *play)
{
	return play_quit(play) && subject_wait_exit(&play->subject) &&
	       subject_expect_no_more(&play->subject);
}
