#include "check_worker/fault.h"

#include "check_worker/tasks.h"
#include "message/fault_detail.h"
#include "wire/frame.h"

#include <stdarg.h>
#include <stdio.h>

const char *fault_name(enum fault_kind kind)
{
	static const char *const names[] = {
#define X(kind, name) name,
		FAULTS(X)
#undef X
	};
	return names[kind];
}

struct fault_bytes fault_bytes(struct text text)
{
	struct fault_bytes bytes = {.len = text.len};
	bytes.shown = text.len < FAULT_BYTES_SHOWN ? text.len : FAULT_BYTES_SHOWN;
	if (bytes.shown > 0)
		memcpy(bytes.head, text.ptr, bytes.shown);
	return bytes;
}

bool fault_set(
	struct fault *fault, enum fault_kind kind, struct text frame, const char *format, ...)
{
	va_list args;
	if (fault->kind != FAULT_NONE)
		return false;
	fault->kind = kind;
	fault->frame = fault_bytes(frame);
	va_start(args, format);
	vsnprintf(fault->came, sizeof fault->came, format, args);
	va_end(args);
	return false;
}

/* The bytes begin with what should be a length. */
static const char *cause_in_length(const struct fault_bytes *bytes)
{
	switch (fault_look(text_of(bytes->head, bytes->shown), bytes->len, TASK_FRAME_MAX)) {
	case LOOK_HTTP:
	case LOOK_JSON:
	case LOOK_TEXT:
		return "it writes text, such as JSON; a frame is MessagePack with its length in "
		       "front (PROTOCOL.md, section 4)";
	case LOOK_NO_LENGTH:
		return "it writes the MessagePack map without its 4 bytes of length in front";
	case LOOK_LITTLE_ENDIAN:
		return "it writes the length little-endian; it must be big-endian";
	case LOOK_LONG_LENGTH:
		return "it writes the length with 8 bytes; it must have 4";
	case LOOK_UNKNOWN:
		break;
	}
	return NULL;
}

static const char *cause_in_half(const struct fault_bytes *bytes)
{
	size_t behind = bytes->len < WIRE_LENGTH_BYTES ? 0 : bytes->len - WIRE_LENGTH_BYTES;
	const char *cause = cause_in_length(bytes);
	if (cause)
		return cause;
	if (behind > 0 && wire_get_length(bytes->head) == bytes->len)
		return "its length counts its own 4 bytes; it is the number of bytes behind them";
	return behind == 0 ? "a length came and nothing behind it: the frame is not flushed"
			   : "the length is larger than the map, or a write wrote less than all "
			     "and was not repeated";
}

static const char *cause_in_output(const struct fault *fault)
{
	static const struct {
		const char *came; /* a part of it */
		const char *cause;
	} known[] = {
		{"a key that", "keys are text: \"1\" (a1 31), not another type"},
		{"without a status", "every output has the key \"1\" with its status"},
		{"an unknown status",
			"only -2, -1, 200, 201, 205, 400 to 499 and 500 to 599 are statuses"},
		{"a status that", "the status is packed as text or as a float; pack an integer"},
		{"an id of a task",
			"the key \"7\" is that of the task, as the integer that it was"},
		{"headers that", "the key \"2\" is a map of names and values, or absent"},
		{"a message that",
			"the key \"0\" is text or bytes; encode a structure (as JSON) before"},
		{"a reply queue", "the key \"3\" is the name of a queue as text, or absent"},
		{"a PostponeMilliseconds",
			"it is a number of milliseconds, or its digits, up to 365 days; with any "
			"other value the task has failed"},
		{"no map", "the output is packed as a bare value; it must be a map"},
		{"more than four", "an array in place of the map has at most four elements"},
		{"bytes follow",
			"a text in it is longer than its size (count bytes, not characters), the "
			"length is larger than the map, or two outputs are in one frame"},
		{"the frame ends", "the length is smaller than the map: count bytes, not "
				   "characters"},
	};
	const uint8_t *behind = fault->frame.head + WIRE_LENGTH_BYTES;
	uint8_t first = *behind;
	if (behind[0] == 0 && behind[1] == 0)
		return "two outputs are mixed: a lock or a queue must keep others out until a "
		       "frame is written whole";
	if (first == '{' || first == '[')
		return "it writes JSON; a frame holds MessagePack (PROTOCOL.md, section 4)";
	/* What is in brackets is the worker's own. */
	size_t len = strcspn(fault->came, "(");
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (memmem(fault->came, len, known[i].came, strlen(known[i].came)))
			return known[i].cause;
	return NULL;
}

const char *fault_cause_in_bytes(const struct fault *fault)
{
	if (fault->frame.len == 0)
		return NULL;
	switch (fault->kind) {
	case FAULT_BAD_LENGTH:
		return cause_in_length(&fault->frame);
	case FAULT_HALF_FRAME:
		return cause_in_half(&fault->frame);
	case FAULT_BAD_OUTPUT:
		return cause_in_output(fault);
	default:
		return NULL;
	}
}

const char *fault_cause(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_NONE:
	case FAULT_MEMORY:
	case FAULT_LAST:
		break;
	case FAULT_NOT_STARTED:
		return "the command is misspelt, not executable, or its interpreter is missing";
	case FAULT_EXITED:
		return "the program ends at an error; see what it wrote to standard error, if anything";
	case FAULT_NOT_CONNECTED:
		return "it does not read its first line from standard input, or does not connect "
		       "to that address (PROTOCOL.md, section 3)";
	case FAULT_REFUSED:
		return "it starts the program that connects in a session of its own (setsid)";
	case FAULT_CLOSED:
		return "it closes the data pipe, perhaps after an error, and lives on";
	case FAULT_NOT_READ:
		return "it does not read the data pipe";
	case FAULT_NO_ANSWER:
		return "it waits for more than was sent, has lost its place between frames, or "
		       "does not flush its answer";
	case FAULT_ONLY_PROGRESS:
		return "status -1 is progress; the task still needs an answer";
	case FAULT_HALF_FRAME:
	case FAULT_BAD_LENGTH:
		return "the first 4 bytes of a frame are its length, big-endian, at least 1";
	case FAULT_BAD_OUTPUT:
		return "the bytes of the frame are not one MessagePack map";
	case FAULT_UNPUBLISHABLE:
		return "AMQP cannot carry this reply: a name over 255 bytes, too many headers, or a body over 16 MiB";
	case FAULT_NO_TASK:
		return "it answers a task twice, or sends an output when no task is open";
	case FAULT_FAILED_TASK:
		return "its code fails on this body; see standard error";
	case FAULT_ORDER:
		return "it works on several tasks at once or collects answers; one task at a time, "
		       "in the order in which they came";
	case FAULT_ID_MISSING:
		return "above concurrency 1 every output has the key \"7\" with the id of its task, progress too";
	case FAULT_ID_UNKNOWN:
		return "it changes the id, makes one of its own, or sends one output too many; "
		       "\"7\" of an output is \"7\" of its task";
	case FAULT_ID_EARLIER:
		return "it names the same id for ever, keeps ids beyond its own life, or keeps too "
		       "few bytes of an id";
	case FAULT_TWICE:
		return "it answers a task twice: its handler and what catches its errors, or its "
		       "cancellation, both answer";
	case FAULT_LATE_PROGRESS:
		return "progress behind the answer, or status -2: wait until what sends it has ended";
	case FAULT_LIMIT:
		return "the unit is milliseconds: a whole number or its digits, at most 365 days";
	case FAULT_LOST:
		return "two tasks share a variable that each must have for itself, or an error in "
		       "a handler leaves its task without an answer";
	case FAULT_MIXED:
		return "two tasks share a variable that each must have for itself, such as the id or the output";
	case FAULT_OTHERS:
		return "it cancels every open task; __cancel__ ID concerns that one";
	case FAULT_ENDLESS:
		return "it sends in a loop that does not wait for a task, or does not notice the "
		       "end of the data pipe";
	case FAULT_STAYS:
		return "it does not leave its loop at end of file";
	case FAULT_UNSENT:
		return "it exits before what it has written is sent: end the socket, then exit";
	case FAULT_STATUS:
		return "the end is handled as an error";
	case FAULT_STRAYS:
		return "it starts processes and does not end them before it exits";
	case FAULT_STDOUT:
		return "it writes frames or other binary data to standard output; they belong on "
		       "the data pipe";
	case FAULT_FLOOD:
		return "it prints in a loop, or the command is no worker";
	}
	return "";
}
