/* The variables of wpool's environment that hold the broker's password: workers do not get them
 * with `env_pass: auto`. Layer: config. Pure: the environment is an argument. */
#ifndef CONFIG_URL_SECRETS_H
#define CONFIG_URL_SECRETS_H

#include "base/rc.h"
#include "base/text.h"

struct broker_url;

/* Append the names that hold it by what they mean: AMQP_URL, RABBITMQ_PASSWORD, and beside
 * RABBITMQ_HOSTNAME PASSWORD. *names is NULL or for words_free, as after RC_MEMORY. */
enum rc secrets_add_named(char ***names, char *const *environment) MUST_CHECK;
/* Append each variable whose value becomes a part of a password, or whole addresses, when `written`
 * is expanded: one address of the file or several with commas between, with its ${NAME}. */
enum rc secrets_add_expanded(
	char ***names, struct text written, char *const *environment) MUST_CHECK;
/* Append each variable whose value contains the password of one of these addresses, also percent-
 * encoded: alone if it has at least SECRETS_LENGTH_MIN bytes, else as in an address (":PASSWORD@").
 * So what a shell has expanded is found, too. Not RabbitMQ's default, which everybody knows. */
#define SECRETS_LENGTH_MIN 8
enum rc secrets_add_containing(char ***names, const struct broker_url *urls, size_t count,
	char *const *environment) MUST_CHECK;
/* Append those of `more` that are missing. */
enum rc secrets_add_all(char ***names, char *const *more) MUST_CHECK;
/* True if the text of a file has a ${NAME} that may expand to a secret: it is one of these names,
 * or a word such as PASSWORD, SECRET, TOKEN or KEY is in it. */
bool secrets_are_in(char *const *names, struct text written);
/* True if the entry "NAME=value" is of one of these names. */
bool secrets_has(char *const *names, const char *entry);

#endif
