#include "amqp/channel.h"

/* In a file of their own, because some tests have fakes for the channel. */
const char amqp_true[] = "true", amqp_false[] = "false";
