/* Why a peer closed a channel or a connection: the reply codes of AMQP 0-9-1 that we judge or send
 * (section 1.2 of the specification, under its names). Layer: amqp, plain data. */
#ifndef AMQP_REPLY_CODE_H
#define AMQP_REPLY_CODE_H

#define CODE_SUCCESS             200
#define CODE_CONNECTION_FORCED   320 /* an operator closed it, or the broker stops */
#define CODE_ACCESS_REFUSED      403
#define CODE_NOT_FOUND           404
#define CODE_RESOURCE_LOCKED     405
#define CODE_PRECONDITION_FAILED 406
#define CODE_COMMAND_INVALID     503
#define CODE_NOT_ALLOWED         530 /* of a virtual host: it is unknown, or not for this user */
#define CODE_NOT_IMPLEMENTED     540

#endif
