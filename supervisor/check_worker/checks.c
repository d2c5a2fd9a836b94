#include "check_worker/checks.h"

#define TASK_OF(kind)                                                                              \
	{                                                                                          \
		STEP_TASK,                                                                         \
		{                                                                                  \
			.task = kind                                                               \
		}                                                                                  \
	}
#define LINE(text)                                                                                 \
	{                                                                                          \
		STEP_LINE,                                                                         \
		{                                                                                  \
			.line = text                                                               \
		}                                                                                  \
	}
#define DO(op)                                                                                     \
	{                                                                                          \
		STEP_##op,                                                                         \
		{                                                                                  \
			.line = NULL                                                               \
		}                                                                                  \
	}
/* One task, and its answer. */
#define EXCHANGE(kind) TASK_OF(kind), DO(SEND), DO(ANSWER)
/* How the supervisor ends a worker. */
#define QUIT LINE("__quit__"), DO(SHUT)

const struct check checks[] = {
	{.name = "start",
		.sent = "the address of the data pipe as the first line",
		.expected = "a connection",
		.steps = {DO(START)},
		.is_base = true},
	{.name = "task",
		.sent = "one task",
		.expected = "one answer: a map with a status",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN)},
		.is_base = true},
	{.name = "start-late",
		.sent = "the address half a second after the start, then a task",
		.expected = "an answer",
		.steps = {DO(START_LATE), EXCHANGE(TASK_PLAIN)},
		.causes = {{FAULT_EXITED, "it does not wait for its first line: it reads standard "
					  "input without blocking"},
			{FAULT_NOT_CONNECTED, "it does not wait for its first line: it reads "
					      "standard input without blocking"}}},
	{.name = "first-line",
		.sent = "the address and a control line in one write, then a task",
		.expected = "a connection, the other line ignored, an answer",
		.steps = {DO(START_JOINED), EXCHANGE(TASK_PLAIN)},
		.causes = {{FAULT_EXITED, "it takes all that one read returns as the address; the "
					  "address ends at the first newline"},
			{FAULT_NOT_CONNECTED, "it takes all that one read returns as the address; "
					      "the address ends at the first newline"}}},
	{.name = "body-empty",
		.sent = "a task with an empty body",
		.expected = "an answer",
		.steps = {DO(START), EXCHANGE(TASK_EMPTY)},
		.causes = {{FAULT_EXITED, "its code does not catch what an empty body does; answer "
					  "4xx or 5xx"},
			{FAULT_NO_ANSWER, "it takes an empty body for no task, or an error leaves "
					  "the task without an answer"}}},
	{.name = "body-text",
		.sent = "a task with a body of UTF-8 characters of 1 to 4 bytes",
		.expected = "an answer",
		.steps = {DO(START), EXCHANGE(TASK_TEXT)},
		.causes = {{FAULT_EXITED, "its output or its log cannot hold characters outside "
					  "ASCII; answer 4xx or 5xx to what it cannot do"},
			{FAULT_HALF_FRAME,
				"the length counts characters; it must count bytes of UTF-8"},
			{FAULT_BAD_OUTPUT,
				"the length counts characters; it must count bytes of UTF-8"},
			{FAULT_BAD_LENGTH,
				"the length counts characters; it must count bytes of UTF-8"}}},
	{.name = "body-binary",
		.sent = "a task with a body that is not UTF-8",
		.expected = "an answer",
		.steps = {DO(START), EXCHANGE(TASK_BINARY)},
		.causes = {{FAULT_EXITED,
				   "it takes the body for text; a body is str or bin, and any "
				   "bytes may come. Answer 4xx to what it cannot do"},
			{FAULT_NO_ANSWER, "it takes the body for text; a body is str or bin, and "
					  "any bytes may come"}}},
	{.name = "body-large",
		.sent = "a task with a body of 16 MiB, then another one",
		.expected = "two answers",
		.steps = {DO(START), EXCHANGE(TASK_LARGE), EXCHANGE(TASK_PLAIN)},
		.causes = {{FAULT_EXITED,
				   "one read does not return a whole large frame: read until "
				   "L bytes have come; or its buffer or its parser is too "
				   "small"},
			{FAULT_NO_ANSWER,
				"one read does not return a whole large frame: read until "
				"L bytes have come"},
			{FAULT_CLOSED, "it has a limit below 16 MiB for a frame"},
			{FAULT_HALF_FRAME, "one write does not write a whole large frame: write "
					   "until all bytes are written"}}},
	{.name = "bytes-one-by-one",
		.sent = "a task, one byte at a time",
		.expected = "an answer",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), DO(SEND_SLOWLY), DO(ANSWER)},
		.causes = {{FAULT_EXITED,
				   "one read may return fewer bytes than asked for: repeat it "
				   "until 4 and then L bytes have come"},
			{FAULT_NO_ANSWER, "one read may return fewer bytes than asked for: repeat "
					  "it until 4 and then L bytes have come"},
			{FAULT_CLOSED, "one read may return fewer bytes than asked for: repeat it "
				       "until 4 and then L bytes have come"}},
		.not_corefx = true},
	{.name = "frames-together",
		.sent = "three tasks in one write",
		.expected = "three answers",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), TASK_OF(TASK_SECOND), TASK_OF(TASK_PLAIN),
			DO(SEND), DO(ANSWER), DO(ANSWER), DO(ANSWER)},
		.causes = {{FAULT_NO_ANSWER, "it drops what one read returned behind the first "
					     "frame: keep it for the next task"},
			{FAULT_EXITED, "it takes all that one read returns as one frame: read "
				       "exactly 4 bytes, then exactly L"}},
		.not_corefx = true},
	{.name = "frame-in-parts",
		.sent = "a task and the beginning of the next one, then its end",
		.expected = "an answer before the end is sent, another one behind it",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), TASK_OF(TASK_SECOND), DO(SEND_PART),
			DO(ANSWER), DO(GIVE_TIME), DO(SEND), DO(ANSWER)},
		.causes = {{FAULT_NO_ANSWER, "it collects: it reads on, or keeps its answer, while "
					     "a whole task is there. Answer and flush before the "
					     "next read"},
			{FAULT_EXITED, "one read may return fewer bytes than asked for: repeat it "
				       "until 4 and then L bytes have come"}},
		.not_corefx = true},
	{.name = "two-in-the-pipe",
		.sent = "a second task before the first is answered, a third later",
		.expected = "three answers, one by one",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), DO(SEND), TASK_OF(TASK_SECOND), DO(SEND),
			DO(ANSWER), DO(ANSWER), EXCHANGE(TASK_PLAIN)},
		.causes = {{FAULT_NO_ANSWER, "it drops what comes while it works: leave it in the "
					     "pipe until the answer is written"}},
		.not_corefx = true},
	{.name = "order",
		.sent = "two tasks alone, the first again, then both in one write",
		.expected = "the same answers, in the order of the tasks",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), EXCHANGE(TASK_SECOND),
			EXCHANGE(TASK_PLAIN), TASK_OF(TASK_PLAIN), TASK_OF(TASK_SECOND), DO(SEND),
			DO(ANSWER), DO(ANSWER), DO(IN_ORDER)},
		.not_corefx = true},
	{.name = "unknown-keys",
		.sent = "a task with keys of a later version, of every MessagePack type",
		.expected = "an answer",
		.steps = {DO(START), EXCHANGE(TASK_UNKNOWN_KEYS)},
		.causes = {{FAULT_EXITED,
				   "its decoder refuses keys or types that it does not know; "
				   "it must skip them"},
			{FAULT_NO_ANSWER, "its decoder refuses keys or types that it does not "
					  "know; it must skip them"},
			{FAULT_CLOSED, "its decoder refuses keys or types that it does not know; "
				       "it must skip them"}}},
	{.name = "unknown-lines",
		.sent = "control lines that this version does not have, and a task",
		.expected = "an answer",
		.steps = {DO(START), LINE("__later__ 7"), LINE(""), EXCHANGE(TASK_PLAIN),
			LINE("__later__ 8"), EXCHANGE(TASK_PLAIN)},
		.causes = {{FAULT_EXITED, "it takes any control line for __quit__, or an unknown "
					  "one for an error; it must ignore it"},
			{FAULT_NO_ANSWER, "it takes any control line for __quit__, or an unknown "
					  "one for an error; it must ignore it"}}},
	{.name = "headers-text",
		.sent = "a task with headers of every AMQP type, as text",
		.expected = "an answer",
		.steps = {DO(START), EXCHANGE(TASK_HEADERS)},
		.causes = {{FAULT_EXITED, "it expects certain headers, or none"},
			{FAULT_NO_ANSWER, "it expects certain headers, or none"}}},
	{.name = "headers-typed",
		.sent = "the same with their types, and properties",
		.expected = "an answer",
		.steps = {DO(START), EXCHANGE(TASK_TYPED_HEADERS)},
		.causes = {{FAULT_EXITED, "it expects the values of headers to be text"},
			{FAULT_NO_ANSWER, "it expects the values of headers to be text"}},
		.not_corefx = true,
		.only_for = "pools with headers: typed or properties: true"},
	{.name = "task-files",
		.sent = "each body of --task",
		.expected = "200 or 201 for each",
		.steps = {DO(START), DO(FILES)},
		.needs_files = true},
	{.name = "progress",
		.sent = "a task",
		.expected = "any number of outputs with status -1 before the answer",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN)},
		.shows = SHOWS_PROGRESS},
	{.name = "error",
		.sent = "bodies that many workers cannot work on, then a task",
		.expected = "an answer to each; 500 to 599 for an error",
		.steps = {DO(START), EXCHANGE(TASK_EMPTY), EXCHANGE(TASK_BINARY),
			EXCHANGE(TASK_NO_JSON), EXCHANGE(TASK_NULL), EXCHANGE(TASK_NUMBER),
			EXCHANGE(TASK_NESTED), EXCHANGE(TASK_PLAIN)},
		.causes = {{FAULT_EXITED, "an error in one task ends the program; catch it around "
					  "the handling of a task and answer 500"},
			{FAULT_NO_ANSWER, "an error in one task leaves it without an answer; catch "
					  "it and answer 500"},
			{FAULT_CLOSED, "an error in one task closes the data pipe; catch it and "
				       "answer 500"}},
		.shows = SHOWS_FAILED},
	{.name = "reject",
		.sent = "bodies that are no valid request",
		.expected = "an answer to each; 400 to 499 for what can never succeed",
		.steps = {DO(START), EXCHANGE(TASK_EMPTY), EXCHANGE(TASK_BINARY),
			EXCHANGE(TASK_NO_JSON)},
		.causes = {{FAULT_EXITED, "an error in one task ends the program; catch it around "
					  "the handling of a task and answer 4xx"}},
		.shows = SHOWS_REJECTED},
	{.name = "one-answer",
		.sent = "two tasks one after the other, then the end",
		.expected = "two answers and nothing more",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), EXCHANGE(TASK_PLAIN), QUIT, DO(EXIT),
			DO(NO_MORE)},
		.causes = {{FAULT_NO_TASK, "it answers a task twice"}}},
	{.name = "quit-at-once",
		.sent = "__quit__ and the end of the data pipe, without a task",
		.expected = "no output, exit status 0",
		.steps = {DO(START), QUIT, DO(EXIT_ZERO), DO(NO_MORE)},
		.causes = {{FAULT_NO_TASK, "it sends an output before it has a task, or takes "
					   "the end of file for a task"}}},
	{.name = "quit-idle",
		.sent = "a task; after its answer __quit__ and the end of the data pipe",
		.expected = "exit status 0",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), QUIT, DO(EXIT_ZERO)}},
	{.name = "quit-busy",
		.sent = "a task; when it is read, __quit__ and the end of the data pipe",
		.expected = "its answer, exit status 0",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), DO(SEND), DO(READ), QUIT, DO(ANSWER),
			DO(EXIT_ZERO)},
		.causes = {{FAULT_EXITED, "it exits at __quit__ without the answer to its current "
					  "task"},
			{FAULT_NO_ANSWER, "it drops its current task at __quit__"}},
		.not_corefx = true},
	{.name = "end-of-data",
		.sent = "a task; after its answer the end of the data pipe, without __quit__",
		.expected = "exit status 0",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), DO(SHUT), DO(EXIT_ZERO)},
		.causes = {{FAULT_STATUS,
			"it takes the end of file between two frames for an error"}},
		.not_corefx = true},
	{.name = "end-in-frame",
		.sent = "a task without its last bytes, then the end of the data pipe",
		.expected = "no output, exit",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), DO(SEND_PART), DO(SHUT), DO(EXIT),
			DO(NO_MORE)},
		.causes = {{FAULT_STAYS, "its loop that reads exactly L bytes does not end at end "
					 "of file"},
			{FAULT_NO_TASK, "it works on half a frame: check that all L bytes have "
					"come"}},
		.not_corefx = true},
	{.name = "supervisor-gone",
		.sent = "a task; after its answer the end of the data pipe and of standard input",
		.expected = "exit",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), DO(CLOSE_CONTROL), DO(CLOSE_PIPE),
			DO(EXIT)},
		.not_corefx = true},
	{.name = "write-fails",
		.sent = "a task, and when it is read the data pipe is closed",
		.expected = "exit",
		.steps = {DO(START), TASK_OF(TASK_PLAIN), DO(SEND), DO(READ), DO(CLOSE_PIPE),
			DO(EXIT)},
		.causes = {{FAULT_STAYS, "it ignores an error of its write (EPIPE)"}},
		.not_corefx = true},
	{.name = "term",
		.sent = "a task; after its answer SIGTERM",
		.expected = "exit",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), DO(TERM), DO(EXIT)},
		.causes = {{FAULT_STAYS, "it ignores SIGTERM, or its handler does not end it"}}},
	{.name = "context-switch",
		.sent = "__context_switch__ without a task, and while a task is open",
		.expected = "one answer to each task",
		.steps = {DO(START), LINE("__context_switch__"), TASK_OF(TASK_PLAIN), DO(SEND),
			LINE("__context_switch__"), DO(ANSWER), LINE("__context_switch__"),
			EXCHANGE(TASK_PLAIN), QUIT, DO(EXIT), DO(NO_MORE)},
		.causes = {{FAULT_EXITED, "it takes __context_switch__ for __quit__"},
			{FAULT_NO_TASK,
				"unless it answers every task twice (one-answer): it answers at __context_switch__ although no task is "
				"open"}}},
	{.name = "processes",
		.sent = "a task, then the end",
		.expected = "exit, and no process that it started is left",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), QUIT, DO(EXIT), DO(NO_STRAYS)}},
	{.name = "stdout",
		.sent = "a task, then the end",
		.expected = "only lines of text on standard output, if any",
		.steps = {DO(START), EXCHANGE(TASK_PLAIN), QUIT, DO(EXIT)},
		.shows = SHOWS_STDOUT},
};

const size_t check_count = sizeof checks / sizeof *checks;

const struct check *check_find(const char *name)
{
	for (size_t i = 0; i < check_count; i++)
		if (strcmp(checks[i].name, name) == 0)
			return &checks[i];
	return NULL;
}
