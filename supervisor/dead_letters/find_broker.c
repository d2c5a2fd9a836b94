#include "dead_letters/find_broker.h"

#include "client/api_client.h"
#include "config/config.h"
#include "config/dead_letter.h"
#include "config/url/addresses.h"
#include "dead_letters/dead_letters.h"
#include "tty/console.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* The path moves out; NULL: no supervisor with a file answers us. That is no problem: the broker
 * may be at the default address. */
static char *ask_supervisor(void)
{
	static const struct api_request request = {.path = "/v1/status"};
	struct api_client client;
	const char *why, *path;
	char *copy = NULL;
	json_t *status;

	if (api_client_init(&client, NULL, &why) != RC_OK)
		return NULL;
	if (api_client_ask(&client, &request) == EX_OK) {
		status = api_client_json(&client);
		path = json_string_value(json_object_get(status, "configuration"));
		copy = path ? strdup(path) : NULL;
		json_decref(status);
	}
	api_client_release(&client);
	return copy;
}

/* As text, because a verb may connect twice. */
static void take_addresses(const struct config *config, struct buf *out)
{
	const char *password_file = config->hosts[0].password_file;

	for (size_t i = 0; i < config->host_count; i++) {
		if (i > 0)
			buf_append_byte(out, ',');
		broker_url_write(&config->hosts[i], out);
	}
	buf_append_byte(out, '\0');
	if (password_file && setenv("WPOOL_PASSWORD_FILE", password_file, 1) != 0)
		out->failed = true;
}

/* Queues of dead letters have any name, or are only the broker's to know. */
static void take_dead_letters(
	const struct config *config, const char *queue, struct found_broker *ret)
{
	for (size_t i = 0; queue && i < config->pool_count; i++) {
		const char *dead = config->pools[i].retry.dead_letter;
		if (strcmp(config->pools[i].queue, queue) == 0 && strcmp(dead, "broker") != 0 &&
			!dead_letter_is_default(queue, dead)) {
			ret->dead_letters = strdup(dead);
			return;
		}
	}
}

static int read_configuration(const char *file, const char *queue, struct found_broker *ret)
{
	struct config_flags flags = {.is_for_other_process = true, .file = file};
	struct problems problems = {0};
	struct config *config = NULL;
	enum rc rc = config_load(&flags, environ, &config, &problems);
	int exit_code = -1;

	if (rc == RC_OK) {
		take_addresses(config, &ret->addresses);
		take_dead_letters(config, queue, ret);
	} else {
		exit_code = console_problems(DEAD_LETTERS_COMMAND, rc, &problems);
	}
	if (ret->addresses.failed) {
		console_problem(DEAD_LETTERS_COMMAND, "out of memory");
		exit_code = EX_SOFTWARE;
	}
	config_free(config);
	problems_release(&problems);
	return exit_code;
}

int find_broker(const char *file, const char *queue, struct found_broker *ret)
{
	char *asked = NULL;
	int exit_code = -1;

	buf_init(&ret->addresses, SIZE_MAX);
	if (!file && strcmp(addresses_source(environ), "default") == 0)
		file = asked = ask_supervisor();
	if (file)
		exit_code = read_configuration(file, queue, ret);
	free(asked);
	return exit_code;
}

void found_broker_release(struct found_broker *found)
{
	buf_release(&found->addresses);
	free(found->dead_letters);
}
