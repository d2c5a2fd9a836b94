#include "workers/report.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

/* Bytes that are not UTF-8 are reported in hex, because JSON cannot hold them. */
static json_t *text_json(struct wpool_text text)
{
	json_t *json = json_stringn(text.data, text.len);
	if (json)
		return json;
	char *hex = malloc(2 * text.len + 1);
	if (!hex)
		return NULL;
	for (size_t i = 0; i < text.len; i++)
		sprintf(hex + 2 * i, "%02x", (unsigned char)text.data[i]);
	json = json_pack("{s:s}", "hex", hex);
	free(hex);
	return json;
}

static json_t *value_json(const struct wpool_value *value)
{
	switch (value->kind) {
	case WPOOL_NIL:
		return json_null();
	case WPOOL_BOOL:
		return json_boolean(value->boolean);
	case WPOOL_INTEGER:
		return json_integer(value->integer);
	case WPOOL_REAL:
		return json_real(value->real);
	case WPOOL_TEXT:
		return text_json(value->text);
	case WPOOL_BYTES:
		return json_pack("{s:o}", "bytes", text_json(value->text));
	case WPOOL_TIME:
		return json_pack("{s:I}", "time", (json_int_t)value->integer);
	case WPOOL_OTHER:
		break;
	}
	return json_pack("{s:b}", "nested", 1);
}

static json_t *headers_json(const struct wpool_task *task)
{
	json_t *headers = json_object();
	struct wpool_text name;
	struct wpool_value value;
	for (size_t i = 0; wpool_task_header_at(task, i, &name, &value); i++)
		json_object_set_new(headers, name.data, value_json(&value));
	return headers;
}

static json_t *properties_json(const struct wpool_task *task)
{
	static const char *const names[] = {"message_id", "type", "app_id", "content_type",
		"content_encoding", "reply_to", "timestamp", "priority", "exchange", "routing_key",
		"redelivered", "attempt", "attempts", "deadline_ms"};
	json_t *properties = json_object();
	struct wpool_value value;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (wpool_task_property(task, names[i], &value))
			json_object_set_new(properties, names[i], value_json(&value));
	return properties;
}

static json_t *task_json(struct wpool_task *task)
{
	int64_t remaining_ms = wpool_task_remaining_ms(task);
	return json_pack("{s:o, s:b, s:s, s:s, s:o, s:o, s:o, s:I}", "body",
		text_json(wpool_task_body(task)), "is_text", wpool_task_body_is_text(task),
		"correlation_id", wpool_task_correlation_id(task), "queue", wpool_task_queue(task),
		"session", text_json(wpool_task_session(task)), "headers", headers_json(task),
		"properties", properties_json(task), "remaining_ms",
		(json_int_t)(remaining_ms == WPOOL_NO_LIMIT ? -1 : remaining_ms));
}

/* Every descriptor but the one that reads the folder, with what it is open on. */
static json_t *descriptors_json(void)
{
	json_t *descriptors = json_object();
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char target[PATH_MAX];
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
		if (len < 0 || atoi(entry->d_name) == dirfd(folder))
			continue;
		target[len] = '\0';
		json_object_set_new(descriptors, entry->d_name, json_string(target));
	}
	if (folder)
		closedir(folder);
	return descriptors;
}

/* The lines SigBlk, SigIgn and SigCgt of /proc/self/status: masks in hex. */
static json_t *signals_json(void)
{
	json_t *signals = json_object();
	FILE *status = fopen("/proc/self/status", "re");
	char line[256], name[16], mask[32];
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "%15[A-Za-z]: %31s", name, mask) == 2 &&
			strncmp(name, "Sig", 3) == 0 && strcmp(name, "SigQ") != 0)
			json_object_set_new(signals, name, json_string(mask));
	if (status)
		fclose(status);
	return signals;
}

static json_t *environment_json(void)
{
	json_t *environment = json_object();
	for (char **at = environ; *at; at++) {
		char *equals = strchr(*at, '=');
		if (equals)
			json_object_setn_new(
				environment, *at, (size_t)(equals - *at), json_string(equals + 1));
	}
	return environment;
}

/* Of the first thread: tasks run in others, which inherit none. */
static int death_signal;

__attribute__((constructor)) static void read_death_signal(void)
{
	prctl(PR_GET_PDEATHSIG, &death_signal);
}

static json_t *process_json(void)
{
	struct rlimit files = {0, 0};
	char cwd[PATH_MAX] = "";
	getrlimit(RLIMIT_NOFILE, &files);
	if (!getcwd(cwd, sizeof cwd))
		*cwd = '\0';
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:i, s:I, s:o, s:o, s:o}", "pid",
		(int)getpid(), "ppid", (int)getppid(), "pgid", (int)getpgrp(), "sid",
		(int)getsid(0), "uid", (int)getuid(), "gid", (int)getgid(), "cwd", cwd,
		"parent_death_signal", death_signal, "open_files", (json_int_t)files.rlim_cur,
		"descriptors", descriptors_json(), "signals", signals_json(), "environment",
		environment_json());
}

static json_t *make_json(const char *wish, struct wpool_task *task)
{
	if (strcmp(wish, "pid") == 0)
		return json_integer(getpid());
	if (strcmp(wish, "task") == 0)
		return task_json(task);
	if (strcmp(wish, "process") == 0)
		return process_json();
	return NULL;
}

char *report_make(const char *wish, struct wpool_task *task)
{
	json_t *json = make_json(wish, task);
	char *text = json ? json_dumps(json, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;
	json_decref(json);
	return text;
}
