/* The requests for the verbs of a pool, and their answers as text. Layer: client. */
#ifndef CLIENT_VERBS_H
#define CLIENT_VERBS_H

#include "api/verbs.h"
#include "client/api_command.h"

#include <jansson.h>

#define VERB_PATH_SIZE 96

/* Make the path of the POST, with a * for the pool. value: the number of workers or the id of a
 * task; NULL if the verb needs none; at most 32 characters. */
void verb_path(
	const struct api_verb *, bool has_pool, const char *value, char path[VERB_PATH_SIZE]);
/* Of a verb that takes a slot. task: its id, or NULL. Numbers of at most 20 digits. */
void verb_path_of_slot(const struct api_verb *, const char *slot, const char *task, bool gives_up,
	char path[VERB_PATH_SIZE]);
/* "POOL: 4 workers wanted", with the bounds if it chooses the number. pool: a member of the answer.
 */
void verb_append_done(const struct api_verb *, const json_t *pool, struct buf *out);
/* If the pool chose its number of workers before and does not after: ", ..." with the command that
 * lets it choose again. before: NULL: it is not known. */
void verb_append_end_of_choice(const json_t *before, const json_t *after, struct buf *out);

/* Check the id of a task. -1: continue; else an exit code, and the problem was printed. */
int verb_check_task(const struct api_command *, const char *task);
/* Print a line for each pool of the answer; return an exit code. */
int verb_print(const struct api_command *, const json_t *answer);
/* The verb that takes a slot. */
int verb_kill_main(const struct api_verb *, int argc, char **argv);
/* The verb that can be waited for. */
int verb_restart_main(const struct api_verb *, int argc, char **argv);

#endif
