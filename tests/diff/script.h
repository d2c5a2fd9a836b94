/* A script: commands for a broker, made from a seed. They name queues and messages by numbers, so
 * that the same script runs on each broker. The number of a message is in its body. */
#ifndef DIFF_SCRIPT_H
#define DIFF_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCRIPT_QUEUES      6
#define SCRIPT_CONNECTIONS 3
#define SCRIPT_CHANNELS    2 /* of a connection: 1 to this */
#define SCRIPT_COMMANDS    96
#define SCRIPT_PREFIX_MAX  32

/* Values in place of a queue's number. */
#define KEY_MISSING 100 /* a queue that is never declared */
#define KEY_REPLY   101 /* of a publish: to the reply_to of the message `answers` */
#define KEY_NONE    102 /* of a dead-letter routing key: none */
#define KEY_REPLIES 103 /* to consume: direct reply-to */

#define NUMBER_NONE INT32_MIN

struct queue_shape {
	bool quorum;
	bool dead_letters, dead_exchange; /* has a dead-letter exchange; that exists */
	uint8_t target;                   /* a queue, KEY_MISSING or KEY_NONE */
	bool at_least_once;
	int32_t ttl_ms; /* NUMBER_NONE: none */
	int32_t limit;  /* of returns; NUMBER_NONE: none */
	bool single;    /* a single active consumer */
};

#define OPS(X)                                                                                     \
	X(OP_CONNECT)                                                                              \
	X(OP_DISCONNECT) /* connection.close */                                                    \
	X(OP_KILL)       /* close the socket without a method */                                   \
	X(OP_OPEN)                                                                                 \
	X(OP_CLOSE)                                                                                \
	X(OP_DECLARE)                                                                              \
	X(OP_DECLARE_OTHERWISE) /* see enum otherwise */                                           \
	X(OP_PASSIVE)                                                                              \
	X(OP_PURGE)                                                                                \
	X(OP_DELETE)                                                                               \
	X(OP_QOS)                                                                                  \
	X(OP_CONSUME)                                                                              \
	X(OP_CANCEL)                                                                               \
	X(OP_BARRIER) /* three more consumers of a window of 1 */                                  \
	X(OP_CONFIRM)                                                                              \
	X(OP_PUBLISH)                                                                              \
	X(OP_ACK)                                                                                  \
	X(OP_NACK)                                                                                 \
	X(OP_REJECT)

enum op {
#define X(op) op,
	OPS(X)
#undef X
};

/* What differs in a declare; in the field `second`. */
enum otherwise { OTHERWISE_TTL, OTHERWISE_SINGLE, OTHERWISE_TYPE, OTHERWISE_LIMIT };

/* The special properties of a publish. */
enum {
	TRAIT_MANDATORY = 1,
	TRAIT_NO_EXCHANGE = 2,
	TRAIT_CC = 4, /* names the queue `second` */
	TRAIT_BCC = 8,
	TRAIT_CC_STRING = 16,
	TRAIT_DEATH = 32, /* a forged x-death: expired or rejected in the queue `second` */
	TRAIT_COUNT = 64, /* a forged x-delivery-count */
	TRAIT_EXPIRATION = 128,
	TRAIT_EXPIRATION_WORD = 256,
	TRAIT_USER = 512,
	TRAIT_USER_OTHER = 1024,
	TRAIT_REPLY_TO = 2048, /* direct reply-to */
	TRAIT_HEADERS = 4096,
	TRAIT_TRANSIENT = 8192,
	TRAIT_REJECTED = 16384, /* the forged x-death is a rejection */
};

struct command {
	enum op op;
	bool joined; /* in the same step as the command before it */
	uint8_t connection, channel;
	uint8_t queue, second;
	uint16_t prefetch;
	uint32_t traits;
	uint32_t message; /* published, or settled */
	uint32_t answers; /* KEY_REPLY: the message that is answered */
	bool no_ack, multiple, requeue;
	bool unknown; /* settle a tag that does not exist */
};

struct script {
	uint64_t seed;
	struct queue_shape queues[SCRIPT_QUEUES];
	struct command commands[SCRIPT_COMMANDS];
	size_t count;
	bool left_out[SCRIPT_COMMANDS]; /* by the search for a shorter script */
};

/* Describe a command or a queue in one line. */
void script_describe(const struct command *, char *ret, size_t size);
void script_describe_queue(const struct queue_shape *, char *ret, size_t size);

#endif
