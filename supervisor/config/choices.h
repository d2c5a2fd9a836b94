/* The choices of settings: each constant and its word in a configuration, listed once. Layer:
 * config, plain data. The enums are made here, the lists of words in settings.c. */
#ifndef CONFIG_CHOICES_H
#define CONFIG_CHOICES_H

#define CONFIG_LOG_FORMATS(X)                                                                      \
	X(CONFIG_LOG_AUTO, "auto")                                                                 \
	X(CONFIG_LOG_TEXT, "text")                                                                 \
	X(CONFIG_LOG_JSON, "json")
#define CONFIG_PIPES(X)                                                                            \
	X(PIPE_PATH, "path")                                                                       \
	X(PIPE_FIFO, "fifo")                                                                       \
	X(PIPE_COREFX, "corefx")
#define CONFIG_DECLARES(X)                                                                         \
	X(CONFIG_DECLARE_OFF, "off")                                                               \
	X(CONFIG_DECLARE_PASSIVE, "passive")                                                       \
	X(CONFIG_DECLARE_ON, "on")
#define CONFIG_BODIES(X)                                                                           \
	X(CONFIG_BODY_AUTO, "auto")                                                                \
	X(CONFIG_BODY_STR, "str")                                                                  \
	X(CONFIG_BODY_BIN, "bin")
#define CONFIG_HEADERS(X)                                                                          \
	X(CONFIG_HEADERS_TEXT, "text")                                                             \
	X(CONFIG_HEADERS_TYPED, "typed")
#define CONFIG_UNROUTABLES(X)                                                                      \
	X(CONFIG_UNROUTABLE_REJECT, "reject")                                                      \
	X(CONFIG_UNROUTABLE_DROP, "drop")                                                          \
	X(CONFIG_UNROUTABLE_RETRY, "retry")
/* What a worker is sent when a task's soft limit has passed. */
#define CONFIG_SOFT_ACTIONS(X)                                                                     \
	X(CONFIG_SOFT_NOTHING, "nothing")                                                          \
	X(CONFIG_SOFT_CONTEXT_SWITCH, "context-switch")                                            \
	X(CONFIG_SOFT_CANCEL, "cancel")
/* Failures that can be retried; retry.on has a bit for each. */
#define CONFIG_RETRIES(X)                                                                          \
	X(CONFIG_RETRY_FAILED, "failed")                                                           \
	X(CONFIG_RETRY_CRASHED, "crashed")                                                         \
	X(CONFIG_RETRY_TIMED_OUT, "timed-out")                                                     \
	X(CONFIG_RETRY_PROTOCOL_ERROR, "protocol-error")                                           \
	X(CONFIG_RETRY_UNROUTABLE, "unroutable")
/* What happens to a message without a session key in a pool with sessions. */
#define CONFIG_WITHOUT_KEYS(X)                                                                     \
	X(CONFIG_WITHOUT_KEY_UNORDERED, "unordered")                                               \
	X(CONFIG_WITHOUT_KEY_REJECT, "reject")
/* What happens to a session whose front message is given up. */
#define CONFIG_SESSION_FAILURES(X)                                                                 \
	X(CONFIG_SESSION_SKIP, "skip")                                                             \
	X(CONFIG_SESSION_BLOCK, "block")
/* Whose starts a throttle counts. */
#define CONFIG_THROTTLE_SCOPES(X)                                                                  \
	X(CONFIG_SCOPE_SUPERVISOR, "supervisor")                                                   \
	X(CONFIG_SCOPE_CLUSTER, "cluster")
/* What happens to a task that a throttle does not let start yet. */
#define CONFIG_WHEN_EXCEEDED(X)                                                                    \
	X(CONFIG_EXCEEDED_DELAY, "delay")                                                          \
	X(CONFIG_EXCEEDED_REPLY, "reply")                                                          \
	X(CONFIG_EXCEEDED_DEAD_LETTER, "dead-letter")
/* What the operator knows of the queue's delivery limit. */
#define CONFIG_DELIVERY_LIMITS(X)                                                                  \
	X(CONFIG_DELIVERY_LIMIT_UNKNOWN, "unknown")                                                \
	X(CONFIG_DELIVERY_LIMIT_NONE, "none")

#define X(choice, word) choice,
enum config_log_format { CONFIG_LOG_FORMATS(X) };
enum pipe_form { CONFIG_PIPES(X) };
enum config_declare { CONFIG_DECLARES(X) };
enum config_body { CONFIG_BODIES(X) };
enum config_headers { CONFIG_HEADERS(X) };
enum config_unroutable { CONFIG_UNROUTABLES(X) };
enum config_soft_action { CONFIG_SOFT_ACTIONS(X) };
enum config_retry { CONFIG_RETRIES(X) };
enum config_without_key { CONFIG_WITHOUT_KEYS(X) };
enum config_session_failure { CONFIG_SESSION_FAILURES(X) };
enum config_throttle_scope { CONFIG_THROTTLE_SCOPES(X) };
enum config_when_exceeded { CONFIG_WHEN_EXCEEDED(X) };
enum config_delivery_limit { CONFIG_DELIVERY_LIMITS(X) };
#undef X

#endif
