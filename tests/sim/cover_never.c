#include "sim/cover_never.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Rows and columns are lists of words; NULL: any. */
struct line {
	const char *table, *row, *column, *why;
};

static const struct line rare[] = {
	{"source", "SOURCE_RESTED", "SOURCE_IS_RESTED", "two requests in one turn"},
	{"outbox-loss", "SHARED", "none", "what others published is all there was"},
	{"outbox-loss", "CLOSED", "dead-letter-culprit", "three closes by chance in a row"},
	{"parcel", "PARCEL_RENEW", "returned", "its queue goes in that moment"},
	{"outbox-move", "sending", "probing", "the last confirm but a probe publishes a copy"},
	{"operator", "drain", "leaves", "the end of a run meets one that leaves"},
	{"delivery", "DELIVERY_QUEUED", "released", "an operator discards it"},
	{"takeover", "handed-parked handed-blocked handed-rest", "seen",
		"the active one is stopped in that state, and its successor gets the message"},
	{"event", "TOKEN_NAMED TOKEN_WINDOW", "drains forced",
		"a stop between a publish and its confirm"},
};

#define NOT_FINAL                                                                                  \
	"PARCEL_REPLY PARCEL_HAND_BACK PARCEL_RETRY PARCEL_DEAD_LETTER PARCEL_RENEW PARK BLOCK CONTINUE "
#define NOT_FAILED "PARCEL_REPLY PARCEL_HAND_BACK PARCEL_RENEW ACK ACK_UNASKED REQUEUE CONTINUE"
#define NO_PROCESS "LIFE_WAITING LIFE_IN_LINE LIFE_RETIRED"

/* clang-format off */
static const struct line never[] = {
	{"event", "SESSION_COMMAND", "forced", "no run orders anything of one that is forced"},
	{"source", "SOURCE_UP", "SOURCE_IS_CONSUMING SOURCE_IS_RESTED SOURCE_IS_CLOSING",
		"the end of the channel before it is told first"},
	{"source", NULL, "OLDER_EPOCH", "no channel machine tells that; see core_epochs"},
	{"source", "SOURCE_RESTED SOURCE_CANCELLED SOURCE_DOWN DELIVERY", "SOURCE_IS_ABSENT", "it is not there"},
	{"source", "SOURCE_RESTED", "SOURCE_IS_CLOSING", "another request goes before it"},
	{"source", "SOURCE_CANCELLED", "SOURCE_IS_RESTED", "no consumer is left"},
	{"source", "DELIVERY", "SOURCE_IS_RESTED", "none comes after the cancel-ok"},
	{"source-move", "SOURCE_IS_ABSENT", "SOURCE_IS_ABSENT SOURCE_IS_RESTED", "no such way"},
	{"source-move", "SOURCE_IS_CONSUMING", "SOURCE_IS_CONSUMING", "no move"},
	{"source-move", "SOURCE_IS_RESTED", "SOURCE_IS_RESTED", "no move"},
	{"source-move", "SOURCE_IS_CLOSING", "SOURCE_IS_CONSUMING SOURCE_IS_RESTED SOURCE_IS_CLOSING",
		"a close is for good"},
	{"outbox", "OUTBOX_UP", "idle sending probing", "the end of the channel is told first"},
	{"outbox", "OUTBOX_DOWN CONFIRMED REFUSED RETURNED QUEUE_FOUND", "down",
		"it is not there"},
	{"outbox", "CONFIRMED REFUSED RETURNED", "idle", "the broker answers each publish once"},
	{"outbox-move", "down", "down", "no move"},
	{"outbox-move", "idle", "idle", "no move"},
	{"outbox-move", "sending", "sending", "no move"},
	{"outbox-move", "probing", "probing", "no move"},
	{"outbox-loss", "CONNECTION SHARED", "culprit dead-letter-culprit", "it blames nobody"},
	{"slot", NULL, NO_PROCESS, "no process"},
	{"slot", NULL, "OLDER_LIFE", "nothing is told after the end; see core_epochs"},
	{"slot", "READY", "LIFE_READY LIFE_QUITTING LIFE_STOPPING", "said once"},
	{"slot", "ROOM-none ROOM OUTPUT PROGRESS", "LIFE_STARTING", "the pipe is not open"},
	{"slot", "PROGRESS", "LIFE_QUITTING", "of no task"},
	{"life", "LIFE_WAITING LIFE_IN_LINE", "FACT_READY FACT_BROKEN FACT_GONE", "no process"},
	{"life", "LIFE_WAITING LIFE_STARTING LIFE_READY LIFE_QUITTING LIFE_STOPPING LIFE_KILLED "
		"LIFE_RETIRED", "FACT_TURN", "only one in line has a turn"},
	{"life", "LIFE_IN_LINE", "FACT_TIMER", "it has no timer"},
	{"life", "LIFE_WAITING LIFE_IN_LINE LIFE_STARTING LIFE_QUITTING LIFE_STOPPING LIFE_KILLED LIFE_RETIRED",
		"FACT_HARD", "only the head of one that is ready is under the limit"},
	{"life", "LIFE_READY LIFE_QUITTING LIFE_STOPPING", "FACT_READY", "said once"},
	{"life", "LIFE_WAITING LIFE_IN_LINE LIFE_STARTING LIFE_READY LIFE_QUITTING LIFE_STOPPING "
		"LIFE_KILLED", "FACT_WANTED", "it is there"},
	{"life", "LIFE_KILLED", "FACT_TIMER", "nothing is left to be done"},
	{"life", "LIFE_RETIRED", "FACT_READY FACT_BROKEN FACT_GONE FACT_TIMER", "no process"},
	{"settle", NULL, "PARCEL_RENEW", "decided on arrival"},
	{"settle", "OUTCOME_DONE OUTCOME_REPLY OUTCOME_REJECTED OUTCOME_CRASHED OUTCOME_TIMED_OUT "
		"OUTCOME_BROKEN OUTCOME_UNROUTABLE OUTCOME_INVALID OUTCOME_KILLED OUTCOME_UNSTARTED",
		"PARCEL_LATER", "a worker postpones by an answer of its own"},
	{"reason", "REASON_FAILED REASON_REJECTED REASON_CRASHED REASON_TIMED_OUT REASON_PROTOCOL "
		"REASON_UNROUTABLE REASON_REPLY_INVALID REASON_REPLY_REFUSED REASON_SLICES "
		"REASON_TOO_LARGE REASON_BAD_HEADERS REASON_COMES_BACK REASON_RENEWAL_REFUSED "
		"REASON_NO_SESSION REASON_BAD_SESSION REASON_SESSION_CLOSED REASON_KILLED REASON_THROTTLED",
		"PARCEL_LATER", "nothing has failed"},
	{"reason", "REASON_POSTPONED", NOT_FAILED " PARCEL_RETRY PARCEL_POSTPONE PARCEL_REFUSAL "
		"ACK_DROPPED BLOCK", "it comes back, or an operator skips it"},
	{"settle", NULL, "PARCEL_POSTPONE PARCEL_REFUSAL", "decided before an attempt"},
	{"reason", "REASON_FAILED REASON_REJECTED REASON_CRASHED REASON_TIMED_OUT REASON_PROTOCOL "
		"REASON_UNROUTABLE REASON_REPLY_INVALID REASON_REPLY_REFUSED REASON_SLICES "
		"REASON_TOO_LARGE REASON_BAD_HEADERS REASON_COMES_BACK REASON_RENEWAL_REFUSED REASON_NO_SESSION "
		"REASON_BAD_SESSION REASON_SESSION_CLOSED REASON_KILLED REASON_THROTTLED",
		"PARCEL_POSTPONE PARCEL_REFUSAL", "nothing has failed"},
	{"reason", "REASON_THROTTLED", NOT_FAILED " PARCEL_RETRY ACK_DROPPED PARK", "it is given up"},
	{"settle", "OUTCOME_DONE", NOT_FINAL "ACK_UNASKED ACK_DROPPED REJECT REQUEUE", "done"},
	{"settle", "OUTCOME_REPLY", "ACK REQUEUE PARK", "a reply is asked for, or not"},
	{"settle", "OUTCOME_REJECTED OUTCOME_FAILED OUTCOME_CRASHED OUTCOME_TIMED_OUT OUTCOME_BROKEN "
		"OUTCOME_INVALID OUTCOME_UNROUTABLE", NOT_FAILED, "a failure"},
	{"settle", "OUTCOME_REJECTED OUTCOME_FAILED OUTCOME_CRASHED OUTCOME_TIMED_OUT OUTCOME_BROKEN "
		"OUTCOME_INVALID", "ACK_DROPPED", "no reply"},
	{"settle", "OUTCOME_REJECTED OUTCOME_INVALID", "PARCEL_RETRY PARK", "would fail again"},
	{"settle", "OUTCOME_UNROUTABLE", "PARK BLOCK", "no session waits for a reply"},
	{"settle", "OUTCOME_KILLED", NOT_FAILED " ACK_DROPPED BLOCK", "an operator decides"},
	{"settle", "OUTCOME_UNSTARTED", "PARCEL_REPLY PARCEL_HAND_BACK PARCEL_RETRY PARCEL_RENEW PARK "
		"BLOCK CONTINUE ACK ACK_UNASKED ACK_DROPPED", "no attempt, unless it was accepted"},
	{"reason", "REASON_NONE", "PARCEL_RETRY PARCEL_DEAD_LETTER ACK_DROPPED REJECT PARK BLOCK", "no reason"},
	{"reason", "REASON_UNROUTABLE REASON_REPLY_INVALID REASON_REPLY_REFUSED", "PARK BLOCK",
		"no session waits for a reply"},
	{"reason", "REASON_COMES_BACK", "PARK", "it is given up, or blocks its session"},
	{"reason", "REASON_RENEWAL_REFUSED", "PARK BLOCK", "without a key"},
	{"reason", "REASON_NO_SESSION REASON_BAD_SESSION REASON_SESSION_CLOSED", NOT_FAILED " PARK BLOCK",
		"its session is over, or none"},
	{"reason", "REASON_KILLED", NOT_FAILED " ACK_DROPPED BLOCK", "an operator decides"},
	{"reason", "REASON_FAILED REASON_REJECTED REASON_CRASHED REASON_TIMED_OUT REASON_PROTOCOL "
		"REASON_UNROUTABLE REASON_REPLY_INVALID REASON_REPLY_REFUSED REASON_SLICES "
		"REASON_TOO_LARGE REASON_BAD_HEADERS REASON_COMES_BACK REASON_RENEWAL_REFUSED", NOT_FAILED, "a failure"},
	{"reason", "REASON_FAILED REASON_REJECTED REASON_CRASHED REASON_TIMED_OUT REASON_PROTOCOL "
		"REASON_SLICES REASON_TOO_LARGE REASON_BAD_HEADERS REASON_COMES_BACK REASON_RENEWAL_REFUSED REASON_NO_SESSION "
		"REASON_BAD_SESSION REASON_SESSION_CLOSED", "ACK_DROPPED", "no reply"},
	{"reason", "REASON_REJECTED REASON_SLICES REASON_TOO_LARGE REASON_BAD_HEADERS REASON_COMES_BACK "
		"REASON_RENEWAL_REFUSED REASON_NO_SESSION REASON_BAD_SESSION REASON_SESSION_CLOSED",
		"PARCEL_RETRY PARK",
		"would fail again"},
	{"delivery", "DELIVERY_QUEUED", "requeued", "it has no attempt yet"},
	{"delivery", "DELIVERY_ANSWERED", "requeued taken", "its attempt is over"},
	{"delivery", "DELIVERY_SETTLED", "rejected requeued taken", "its attempt is over"},
	{"delivery", "DELIVERY_RELEASED", "released rejected requeued taken", "it is to be acked"},
	{"arrival", "any", "no", "all arrive"},
	{"amqp", "AMQP_EXCHANGE_DECLARED AMQP_QUEUE_BOUND", NULL, "wpool serve has no exchange"},
	{"amqp", "AMQP_BLOCKED AMQP_UNBLOCKED AMQP_CONFIRM_SELECTED AMQP_CONFIRM AMQP_RETURN",
		"consume", "nothing is published there"},
	{"amqp", "AMQP_QOS_OK AMQP_CONSUME_OK AMQP_CANCEL_OK AMQP_CANCELLED AMQP_DELIVERY",
		"publish", "nothing is consumed there"},
	{"code", "320 501 504 506 530", "channel", "ends connections"},
	{"code", "404 406", "connection", "ends channels"},
	{"wire", "unread-under-alarm", "consume", "the alarm stops those that publish"},
	{"operator", "start", "serves stops leaves", "it is there"},
	{"operator", "kill drain force freeze left", "dead", "it is not there"},
	{"operator", "force", "leaves", "all is settled"},
	{"operator", "left", "serves stops", "it leaves first"},
	{"temper", "TEMPER_POSTPONE", "replied dropped", "no reply"},
	{"temper", "TEMPER_DONE TEMPER_REPLY_NOWHERE TEMPER_FAIL_ONCE TEMPER_LONG TEMPER_SLICES "
		"TEMPER_TWICE TEMPER_IGNORED", "replied dropped", "no reply"},
	{"temper", "TEMPER_REPLY_NOWHERE", "refused", "it has no caller"},
	{"temper", "TEMPER_INVALID", "refused", "no throttle is asked about it"},
	{"throttle", "waits", "alone", "it keeps its place"},
	{"throttle", "holds", "again session", "it has another place than the list"},
	{"worker-ended", "silent hung broken-named ordered", "none", "a task is open"},
	{"hard-limit", "due", "one", "its worker is ended in the turn in which it is over"},
	{"worker-ended", "hung", "one", "another task is heard of"},
	{"temper", "TEMPER_REPLY", "done", "it replies"},
	{"temper", "TEMPER_REPLY_UNROUTABLE TEMPER_REPLY_INVALID TEMPER_COSTS_CHANNEL "
		"TEMPER_COSTS_CONNECTION", "done replied", "its reply does not arrive"},
	{"temper", "TEMPER_TOO_LARGE TEMPER_INVALID TEMPER_REJECT TEMPER_FAIL TEMPER_POISON TEMPER_HANG "
		"TEMPER_BLOCK TEMPER_BREAK TEMPER_UNKNOWN", "done replied dropped", "it can not be done"},
};
/* clang-format on */

/* list: words between single spaces; NULL: all words. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == 0 || at[len] == ' '))
			return true;
	return !list;
}

static const char *find(const struct line *lines, size_t count, const char *table, const char *row,
	const char *column)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(lines[i].table, table) == 0 && has_word(lines[i].row, row) &&
			has_word(lines[i].column, column))
			return lines[i].why;
	return NULL;
}

enum cover_hope cover_hope(
	const char *table, const char *row, const char *column, const char **ret_why)
{
	*ret_why = find(rare, sizeof rare / sizeof *rare, table, row, column);
	if (*ret_why)
		return HOPE_RARE;
	*ret_why = find(never, sizeof never / sizeof *never, table, row, column);
	return *ret_why ? HOPE_NEVER : HOPE_EXPECTED;
}
