#include "check_worker/trial.h"

#include "base/utf8.h"
#include "runtime/report/texts.h"

#include <stdio.h>

const char *verdict_name(enum trial_verdict verdict)
{
	static const char *const names[] = {
#define X(verdict, name) name,
		VERDICTS(X)
#undef X
	};
	return names[verdict];
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

static void look_at_output(const struct subject *subject, struct run *run)
{
	struct text bytes = buf_text(&subject->output.kept);
	if (!is_text(bytes))
		fault_set(&run->no_text, FAULT_STDOUT, bytes,
			"%llu bytes on standard output that are no lines of text",
			(unsigned long long)subject->output.bytes);
}

static void read_behaviour(const struct subject *subject, struct run *run)
{
	const struct exchange *exchange = &subject->exchange;
	run->progress = run->progress || exchange->progress > 0;
	for (size_t i = 0; i < exchange->count; i++) {
		int32_t status = exchange->tasks[i].is_answered ? exchange->tasks[i].status : 0;
		run->failed = run->failed || status >= STATUS_FAILED;
		run->rejected =
			run->rejected || (status >= STATUS_REJECTED && status < STATUS_FAILED);
	}
	look_at_output(subject, run);
}

/* NULL: it was seen, or nothing needs to be. */
static const char *what_is_missing(enum shows shows, const struct run *run)
{
	switch (shows) {
	case SHOWS_PROGRESS:
		return run->progress ? NULL : "no output with status -1";
	case SHOWS_FAILED:
		return run->failed ? NULL : "no answer from 500 to 599";
	case SHOWS_REJECTED:
		return run->rejected ? NULL : "no answer from 400 to 499";
	case SHOWS_NOTHING:
	case SHOWS_STDOUT:
		break;
	}
	return NULL;
}

/* ---------- the result ---------- */

/* The same id twice: for one task, or for all. */
static const char *cause_of_twice(struct play *play)
{
	const struct exchange *exchange = &play->subject.exchange;
	if (exchange->answered == 1 && exchange->count > 1 &&
		!subject_names_another(&play->subject))
		return "it names the id of its first task in every output";
	return NULL;
}

static const char *cause_of(struct play *play, const struct fault *fault)
{
	const struct check *check = play->check;
	const char *cause = fault_cause_in_bytes(fault);
	if (!cause && fault->kind == FAULT_TWICE)
		cause = cause_of_twice(play);
	if (cause)
		return cause;
	for (size_t i = 0; i < CHECK_CAUSES_MAX && check->causes[i].cause; i++)
		if (check->causes[i].faults & FAULT_BIT(fault->kind))
			return check->causes[i].cause;
	return fault_cause(fault->kind);
}

/* Appended to what is listed so far. */
static void describe_times(uint64_t times, int status, struct buf *out)
{
	const char *before = buf_len(out) > 0 ? ", " : "";
	if (times > 0)
		buf_printf(out, "%s%llu times %d", before, (unsigned long long)times, status);
}

/* "201", or "100 times 201"; short of four they are listed one by one. */
static void describe_answers(const struct exchange *exchange, struct buf *out)
{
	for (size_t i = 0, same; i < exchange->count; i += same) {
		const struct sent_task *first = &exchange->tasks[i];
		for (same = 1; i + same < exchange->count &&
			       exchange->tasks[i + same].is_answered == first->is_answered &&
			       exchange->tasks[i + same].status == first->status;)
			same++;
		if (same < 4)
			same = 1;
		if (!first->is_answered)
			continue;
		if (same > 1)
			describe_times(same, first->status, out);
		else
			buf_printf(out, "%s%d", buf_len(out) > 0 ? ", " : "", (int)first->status);
	}
}

/* What came of a worker that did all that was expected: "200, 201, exit status 0". */
static void describe(const struct subject *subject, char *ret, size_t size)
{
	const struct exchange *exchange = &subject->exchange;
	char how[EXIT_TEXT_SIZE];
	struct buf out;
	buf_init(&out, size - 1);
	describe_times(exchange->accepted, STATUS_ACCEPTED, &out);
	describe_times(exchange->progress, STATUS_PROGRESS, &out);
	describe_answers(exchange, &out);
	if (subject->has_exited)
		buf_printf(&out, "%s%s", buf_len(&out) > 0 ? ", " : "",
			exit_text(&subject->exit, NULL, how));
	else if (exchange->answered == 0)
		buf_printf(&out, "a connection");
	snprintf(ret, size, "%.*s", TEXT_ARGS(buf_text(&out)));
	buf_release(&out);
}

/* It has one cause wherever it is found, so that a second finding shows nothing new. */
static bool is_found_once(enum fault_kind kind)
{
	return FAULT_BIT(kind) & (FAULT_BIT(FAULT_STAYS) | FAULT_BIT(FAULT_ENDLESS) |
					 FAULT_BIT(FAULT_ID_MISSING) | FAULT_BIT(FAULT_ID_UNKNOWN) |
					 FAULT_BIT(FAULT_ID_EARLIER) | FAULT_BIT(FAULT_TWICE) |
					 FAULT_BIT(FAULT_LATE_PROGRESS) | FAULT_BIT(FAULT_LIMIT));
}

static void judge_fault(struct play *play, struct result *ret)
{
	const struct check **first = &play->run->found[ret->fault.kind];
	if (*first && is_found_once(ret->fault.kind)) {
		ret->verdict = VERDICT_NOT_SHOWN;
		ret->fault = (struct fault){.kind = FAULT_NONE};
		snprintf(ret->fault.came, sizeof ret->fault.came, "see %s: %.160s", (*first)->name,
			play->subject.fault.came);
		return;
	}
	if (!*first && !play->check->only_for)
		*first = play->check;
	ret->verdict = play->check->only_for ? VERDICT_NOT_SHOWN : VERDICT_WRONG;
	ret->cause = cause_of(play, &ret->fault);
}

static void judge_trial(struct play *play, struct result *ret)
{
	const struct run *run = play->run;
	ret->sent = play->sent;
	ret->cause = "";
	ret->fault = play->subject.fault;
	if (ret->fault.kind == FAULT_LAST) {
		play->hidden = play->subject.fault.came;
		ret->fault = (struct fault){.kind = FAULT_NONE};
	}
	if (play->check->shows == SHOWS_STDOUT && ret->fault.kind == FAULT_NONE)
		ret->fault = run->no_text;
	if (ret->fault.kind != FAULT_NONE) {
		judge_fault(play, ret);
		return;
	}
	const char *missing = what_is_missing(play->check->shows, run);
	if (play->hidden)
		missing = play->hidden;
	ret->verdict = missing ? VERDICT_NOT_SHOWN : VERDICT_OK;
	if (play->hidden == play->slow)
		ret->cause = "one thread, or a lock that each task holds; it may, but more workers "
			     "with concurrency: 1 are faster";
	if (missing)
		snprintf(ret->fault.came, sizeof ret->fault.came, "%s", missing);
	else
		describe(&play->subject, ret->fault.came, sizeof ret->fault.came);
}

void trial_run(const struct check *check, struct run *run, struct result *ret)
{
	struct play play;
	play_init(&play, run, check);
	(void)check->run(&play); /* what went wrong is in its fault */
	*ret = (struct result){.check = check};
	read_behaviour(&play.subject, run);
	judge_trial(&play, ret);
	subject_last_lines(&play.subject, &ret->last_lines);
	play_end(&play);
}

void trial_skip(
	const struct check *check, enum trial_verdict verdict, const char *why, struct result *ret)
{
	*ret = (struct result){.check = check, .verdict = verdict, .cause = ""};
	snprintf(ret->fault.came, sizeof ret->fault.came, "%s", why);
}
