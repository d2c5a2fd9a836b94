#include "check_worker/trial.h"

#include "base/utf8.h"
#include "runtime/report.h"

#include <signal.h>
#include <stdio.h>

/* Longer than any program needs to find out that its input has nothing yet. */
#define LATE (500 * MTIME_MS)

struct trial {
	const struct check *check;
	struct subject subject;
	const struct text *files;
	size_t file_count;
	struct fault_bytes sent;
	bool hides_order; /* its answers to different tasks are alike, or to the same task differ */
};

const char *verdict_name(enum trial_verdict verdict)
{
	static const char *const names[] = {
#define X(verdict, name) name,
		VERDICTS(X)
#undef X
	};
	return names[verdict];
}

/* ---------- steps ---------- */

static bool append_task(struct trial *trial, enum task_kind kind)
{
	struct subject *subject = &trial->subject;
	size_t before = buf_len(&subject->unsent);
	enum rc rc = tasks_append(&subject->unsent, kind, &subject->setup->config.task,
		trial->files, trial->file_count);
	if (rc != RC_OK)
		return fault_set(
			&subject->fault, FAULT_MEMORY, TEXT_NONE, "the task: %s", rc_text(rc));
	struct text all = buf_text(&subject->unsent);
	trial->sent = fault_bytes(text_of(all.ptr + before, all.len - before));
	return true;
}

static bool send_but(struct trial *trial, size_t kept)
{
	struct subject *subject = &trial->subject;
	subject_send(subject, buf_len(&subject->unsent) - subject->allowed - kept);
	return true;
}

static bool send_files(struct trial *trial)
{
	struct subject *subject = &trial->subject;
	for (size_t i = 0; i < trial->file_count; i++) {
		enum task_kind kind = (enum task_kind)(TASK_FILES + i);
		if (!append_task(trial, kind) || !send_but(trial, 0) ||
			!subject_wait_answer(subject))
			return false;
		size_t last = subject->taken - 1;
		if (last >= SUBJECT_OUTPUTS)
			continue; /* its status is not kept */
		const struct subject_output *answer = &subject->answers[last];
		if (answer->status >= STATUS_REJECTED)
			return fault_set(&subject->fault, FAULT_FAILED_TASK,
				text_of(answer->frame.head, answer->frame.shown),
				"%d for body %zu of --task", (int)answer->status, i + 1);
	}
	return true;
}

static bool expect_status_zero(struct subject *subject)
{
	if (subject->exit.kind == EXIT_STATUS && subject->exit.number == 0)
		return true;
	char how[EXIT_TEXT_SIZE];
	return fault_set(&subject->fault, FAULT_STATUS, TEXT_NONE, "%s",
		exit_text(&subject->exit, NULL, how));
}

static bool expect_no_more(struct subject *subject)
{
	size_t more = subject->answer_count - subject->taken;
	if (more == 0)
		return true;
	struct text frame = TEXT_NONE;
	if (subject->taken < SUBJECT_OUTPUTS)
		frame = text_of(subject->answers[subject->taken].frame.head,
			subject->answers[subject->taken].frame.shown);
	return fault_set(&subject->fault, FAULT_NO_TASK, frame, "%zu answer%s to no open task",
		more, more == 1 ? "" : "s");
}

static bool is_same(const struct subject_output *a, const struct subject_output *b)
{
	return a->digest == b->digest;
}

/* Answers: first, second, first again; then first and second together. Only a worker that answers
 * the same task alike, and the two differently, shows their order. */
static bool expect_order(struct trial *trial)
{
	struct subject *subject = &trial->subject;
	const struct subject_output *a = subject->answers;
	trial->hides_order = !is_same(&a[0], &a[2]) || is_same(&a[0], &a[1]);
	if (trial->hides_order || !is_same(&a[3], &a[1]) || !is_same(&a[4], &a[0]))
		return true;
	return fault_set(&subject->fault, FAULT_ORDER, text_of(a[3].frame.head, a[3].frame.shown),
		"the answer to the second task before that to the first");
}

static bool run_step(struct trial *trial, const struct step *step)
{
	struct subject *subject = &trial->subject;
	switch (step->op) {
	case STEP_START:
		return subject_start(subject) && subject_give_address(subject, "");
	case STEP_START_LATE:
		return subject_start(subject) && subject_pause(subject, LATE) &&
		       subject_give_address(subject, "");
	case STEP_START_JOINED:
		return subject_start(subject) && subject_give_address(subject, "__later__ 1\n");
	case STEP_TASK:
		return append_task(trial, step->task);
	case STEP_FILES:
		return send_files(trial);
	case STEP_SEND:
		return send_but(trial, 0);
	case STEP_SEND_SLOWLY:
		return subject_send_slowly(subject);
	case STEP_SEND_PART:
		return send_but(trial, PART_KEPT) && subject_wait_read(subject);
	case STEP_GIVE_TIME:
		subject_give_time(subject);
		return true;
	case STEP_READ:
		return subject_wait_read(subject);
	case STEP_ANSWER:
		return subject_wait_answer(subject);
	case STEP_LINE:
		return subject_write_line(subject, step->line);
	case STEP_SHUT:
		return subject_shut(subject);
	case STEP_CLOSE_PIPE:
		subject_close_pipe(subject);
		return true;
	case STEP_CLOSE_CONTROL:
		subject_close_control(subject);
		return true;
	case STEP_TERM:
		subject_signal(subject, SIGTERM);
		return true;
	case STEP_EXIT:
		return subject_wait_exit(subject);
	case STEP_EXIT_ZERO:
		return subject_wait_exit(subject) && expect_status_zero(subject);
	case STEP_NO_MORE:
		return expect_no_more(subject);
	case STEP_IN_ORDER:
		return expect_order(trial);
	case STEP_NO_STRAYS:
		return subject_leaves_none(subject);
	case STEP_END:
		break;
	}
	return false;
}

/* ---------- what was seen ---------- */

/* A character may be cut where the kept bytes end. */
static bool is_text(struct text bytes)
{
	size_t len;
	while (bytes.len > 0) {
		if (*bytes.ptr == '\0')
			return false;
		if (!utf8_first(bytes, &len))
			return bytes.len < 4 && bytes.len == len;
		bytes = text_of(bytes.ptr + len, bytes.len - len);
	}
	return true;
}

static void look_at_output(const struct subject *subject, struct seen *seen)
{
	struct text bytes = buf_text(&subject->output.kept);
	if (!is_text(bytes))
		fault_set(&seen->no_text, FAULT_STDOUT, bytes,
			"%llu bytes on standard output that are no lines of text",
			(unsigned long long)subject->output.bytes);
}

static void look(const struct subject *subject, struct seen *seen)
{
	seen->progress = seen->progress || subject->progress > 0;
	for (size_t i = 0; i < subject->answer_count && i < SUBJECT_OUTPUTS; i++) {
		int32_t status = subject->answers[i].status;
		seen->failed = seen->failed || status >= STATUS_FAILED;
		seen->rejected =
			seen->rejected || (status >= STATUS_REJECTED && status < STATUS_FAILED);
	}
	look_at_output(subject, seen);
}

/* NULL: it was seen, or nothing needs to be. */
static const char *what_is_missing(enum shows shows, const struct seen *seen)
{
	switch (shows) {
	case SHOWS_PROGRESS:
		return seen->progress ? NULL : "no output with status -1";
	case SHOWS_FAILED:
		return seen->failed ? NULL : "no answer from 500 to 599";
	case SHOWS_REJECTED:
		return seen->rejected ? NULL : "no answer from 400 to 499";
	case SHOWS_NOTHING:
	case SHOWS_STDOUT:
		break;
	}
	return NULL;
}

/* ---------- the result ---------- */

static const char *cause_of(const struct check *check, const struct fault *fault)
{
	const char *cause = fault_cause_in_bytes(fault);
	if (cause)
		return cause;
	for (size_t i = 0; i < CAUSES_MAX && check->causes[i].cause; i++)
		if (check->causes[i].faults & FAULT_BIT(fault->kind))
			return check->causes[i].cause;
	return fault_cause(fault->kind);
}

/* What came of a worker that did all that was expected: "200, 201, exit status 0". */
static void describe(const struct subject *subject, char *ret, size_t size)
{
	struct buf out;
	const char *between = "";
	buf_init(&out, size - 1);
	if (subject->progress > 0) {
		buf_printf(&out, "%llu times -1", (unsigned long long)subject->progress);
		between = ", ";
	}
	for (size_t i = 0; i < subject->answer_count && i < SUBJECT_OUTPUTS; i++) {
		buf_printf(&out, "%s%d", between, (int)subject->answers[i].status);
		between = ", ";
	}
	char how[EXIT_TEXT_SIZE];
	if (subject->has_exited)
		buf_printf(&out, "%s%s", between, exit_text(&subject->exit, NULL, how));
	else if (subject->answer_count == 0)
		buf_printf(&out, "a connection");
	snprintf(ret, size, "%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
}

static void judge(struct trial *trial, const struct seen *seen, struct result *ret)
{
	struct fault *fault = &trial->subject.fault;
	if (trial->check->shows == SHOWS_STDOUT && fault->kind == FAULT_NONE)
		*fault = seen->no_text;
	ret->fault = *fault;
	ret->sent = trial->sent;
	ret->cause = "";
	subject_last_lines(&trial->subject, &ret->last_lines);
	if (fault->kind != FAULT_NONE) {
		ret->verdict = trial->check->only_for ? VERDICT_NOT_SHOWN : VERDICT_WRONG;
		ret->cause = cause_of(trial->check, fault);
		return;
	}
	const char *missing = what_is_missing(trial->check->shows, seen);
	if (trial->hides_order)
		missing = "answers that do not show which task they are for";
	ret->verdict = missing ? VERDICT_NOT_SHOWN : VERDICT_OK;
	if (missing)
		snprintf(ret->fault.came, sizeof ret->fault.came, "%s", missing);
	else
		describe(&trial->subject, ret->fault.came, sizeof ret->fault.came);
}

void trial_run(const struct check *check, const struct check_setup *setup, const struct text *files,
	size_t file_count, struct seen *seen, struct result *ret)
{
	struct trial trial = {.check = check, .files = files, .file_count = file_count};
	subject_init(&trial.subject, setup);
	const struct step *step = check->steps;
	while (step < check->steps + STEPS_MAX && step->op != STEP_END && run_step(&trial, step))
		step++;
	*ret = (struct result){.check = check};
	look(&trial.subject, seen);
	judge(&trial, seen, ret);
	subject_end(&trial.subject);
}

void trial_skip(
	const struct check *check, enum trial_verdict verdict, const char *why, struct result *ret)
{
	*ret = (struct result){.check = check, .verdict = verdict, .cause = ""};
	snprintf(ret->fault.came, sizeof ret->fault.came, "%s", why);
}
