#include "harness/tmux.h"

#include "harness/control.h"
#include "harness/deadline.h"
#include "harness/fixture.h"
#include "harness/scratch.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ARGUMENTS_MAX 32
/* More than any output of a test has, so that nothing scrolls away. */
#define WIDTH  "2000"
#define HEIGHT "300"
/* What programs can change, as one line. */
#define STATE                                                                                      \
	"#{pane_title}|#{window_name}|#{alternate_on}|#{cursor_flag}|#{insert_flag}|"              \
	"#{keypad_flag}|#{keypad_cursor_flag}|#{mouse_any_flag}|#{origin_flag}|#{wrap_flag}|"      \
	"#{window_bell_flag}|#{scroll_region_upper}"

static char *server; /* its socket; NULL: not started yet */

/* Run `tmux ARGUMENT...`; what it printed moves out. */
static char *command(const char *const arguments[])
{
	const char *argv[ARGUMENTS_MAX] = {"tmux", "-u", "-S", server, "-f", "/dev/null"};
	for (size_t i = 0; arguments[i]; i++) {
		ck_assert_uint_lt(i, ARGUMENTS_MAX - 7);
		argv[6 + i] = arguments[i];
	}
	struct proc *proc = proc_start(fixture.folder, argv, NULL);
	int status = proc_wait(proc);
	char *errors = proc_stderr(proc), *out = proc_stdout(proc);
	ck_assert_msg(status == 0, "tmux %s: %s", arguments[0], errors);
	free(errors);
	proc_free(proc);
	return out;
}

#define COMMAND(...) command((const char *const[]){__VA_ARGS__, NULL})

/* Its socket is there a moment before it listens. */
static bool listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_uint_lt(strlen(path), sizeof address.sun_path);
	strcpy(address.sun_path, path);
	bool is_connected = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
	close(fd);
	return is_connected;
}

/* It is no daemon, so it dies with the test, and with it what runs in it. */
static void start_server(void)
{
	int64_t deadline = deadline_in(DEADLINE_DEFAULT_MS);
	server = scratch_path(fixture.folder, "tmux");
	proc_start(fixture.folder,
		(const char *const[]){"tmux", "-u", "-S", server, "-f", "/dev/null", "-D", NULL},
		NULL);
	while (!listens(server))
		fixture_poll(deadline, 20, "tmux listens");
	free(COMMAND("set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g",
		"automatic-rename", "off", ";", "set-option", "-g", "allow-rename", "on", ";",
		"set-option", "-g", "monitor-bell", "on"));
}

/* In single quotes, for the shell. */
static char *quoted(const char *argument)
{
	char *out = malloc(4 * strlen(argument) + 3), *at = out;
	ck_assert_ptr_nonnull(out);
	*at++ = '\'';
	for (; *argument; argument++) {
		if (*argument == '\'')
			at = stpcpy(at, "'\\''");
		else
			*at++ = *argument;
	}
	stpcpy(at, "'");
	return out;
}

/* A script that waits for the test, runs the command, tells the test its exit status, and stays, so
 * that tmux writes nothing about its end. */
static char *script_of(const char *const argv[], const char *status)
{
	char *tmux = scratch_text("tmux -S %s wait-for", quoted(server)), *text = strdup("");
	for (size_t i = 0; argv[i]; i++)
		text = scratch_text("%s %s", text, quoted(argv[i]));
	char *path = scratch_path(fixture.folder, "in-tmux");
	scratch_write(path, scratch_text("export NO_COLOR=1 WPOOL_CONTROL_SOCKET=%s\n"
					 "%s begin\n"
					 "%s\n"
					 "echo $? >%s\n"
					 "%s -S end\n"
					 "exec cat\n",
				    quoted(control_socket()), tmux, text, quoted(status), tmux));
	return path;
}

struct tmux_screen tmux_run(const char *const argv[])
{
	struct tmux_screen screen;
	char *status = scratch_path(fixture.folder, "status-in-tmux"), *before, *styled;
	if (!server)
		start_server();
	free(COMMAND("new-session", "-d", "-s", "shown", "-n", "name", "-x", WIDTH, "-y", HEIGHT,
		"sh", script_of(argv, status)));
	free(COMMAND("select-pane", "-t", "shown", "-T", "title"));
	before = COMMAND("display-message", "-p", "-t", "shown", STATE);
	free(COMMAND("wait-for", "-S", "begin"));
	free(COMMAND("wait-for", "end"));
	screen.changes = COMMAND("display-message", "-p", "-t", "shown", STATE);
	screen.text = COMMAND("capture-pane", "-p", "-J", "-t", "shown");
	styled = COMMAND("capture-pane", "-p", "-J", "-e", "-t", "shown");
	screen.is_changed = strcmp(before, screen.changes) != 0 || strcmp(screen.text, styled) != 0;
	screen.status = atoi(scratch_read(status, NULL));
	free(COMMAND("kill-session", "-t", "shown"));
	free(before);
	free(styled);
	return screen;
}
