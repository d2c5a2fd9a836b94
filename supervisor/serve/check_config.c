/* `wpool check-config`: print the effective configuration, or what is wrong with it. */
#include "commands.h"
#include "config/config.h"
#include "config/exposure.h"
#include "config/warnings.h"
#include "control/access.h"
#include "process/cgroups.h"
#include "runtime/command_check.h"
#include "tty/cli_options.h"
#include "tty/console.h"

#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#define COMMAND "check-config"

enum { OUTPUT_LIMIT = 16 * 1024 * 1024 };

static const char help[] =
	"usage: wpool check-config FILE        (or --config FILE, as serve has it)\n"
	"       wpool check-config --reference\n"
	"\n"
	"Prints the settings that would be in force with this file, defaults and variables\n"
	"filled in and passwords hidden; or says on standard error what is wrong, a line for\n"
	"each mistake.\n"
	"\n"
	"  --reference    print the page that explains every setting (Markdown)\n"
	"  --help         this text\n"
	"\n"
	"Exit status: 0 the file is right, 64 usage, 70 out of memory, 78 the file is wrong or\n"
	"cannot be read.\n";

static const struct option options[] = {
	{"config", required_argument, NULL, 'c'},
	{"reference", no_argument, NULL, 'r'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* Write the output whole, or not at all. */
static int put_out(const struct buf *out)
{
	size_t len = buf_len(out);
	if (out->failed) {
		fputs("wpool check-config: out of memory\n", stderr);
		return EX_SOFTWARE;
	}
	if (fwrite(buf_text(out).ptr, 1, len, stdout) != len || fflush(stdout) != 0) {
		perror("wpool check-config: standard output");
		return EX_IOERR;
	}
	return EX_OK;
}

static int print_reference(void)
{
	struct buf out;
	buf_init(&out, OUTPUT_LIMIT);
	config_print_reference(&out);
	int exit_code = put_out(&out);
	buf_release(&out);
	return exit_code;
}

static void print_warnings(const struct problems *problems, const char *file)
{
	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *problem = &problems->list[i];
		if (problem->line)
			console_print(stderr, "%s:%zu: warning: %s", file, problem->line,
				problem->message);
		else
			console_print(stderr, "%s: warning: %s", file, problem->message);
		fputc('\n', stderr);
	}
}

static void add_token(const struct config *config, struct problems *problems)
{
	const char *problem = access_token_problem(config);
	if (problem)
		problems_add_warning(problems, 0,
			"http.token_file %s: %s; no request over TCP would be an operator's",
			config->http_token_file, problem);
}

static int check(const char *file)
{
	struct config_flags flags = {.is_for_other_process = true, .file = file};
	struct config *config = NULL;
	struct problems problems = {0};
	struct buf out;
	int exit_code;
	enum rc rc = config_load(&flags, environ, &config, &problems);
	if (rc == RC_OK) {
		command_check_add_warnings(config, &problems);
		command_check_add_group_limits(config, cgroups_why_no_limits(), &problems);
		warnings_add_delivery_limits(config, &problems);
		exposure_add_warnings(config, file, &problems);
		add_token(config, &problems);
		print_warnings(&problems, file);
		buf_init(&out, OUTPUT_LIMIT);
		config_print(config, &out);
		exit_code = put_out(&out);
		buf_release(&out);
	} else {
		exit_code = console_problems(COMMAND, rc, &problems);
	}
	config_free(config);
	problems_release(&problems);
	return exit_code;
}

int check_config_main(int argc, char **argv)
{
	const char *file = NULL;
	int option;
	while ((option = cli_next_option(COMMAND, "+:", argc, argv, options)) != -1) {
		if (option == 'h') {
			fputs(help, stdout);
			return EX_OK;
		}
		if (option == 'c') {
			file = optarg;
			continue;
		}
		if (option != 'r')
			return EX_USAGE;
		if (optind < argc)
			return cli_problem(COMMAND, "--reference takes no file");
		return print_reference();
	}
	if (argc - optind + (file != NULL) != 1)
		return cli_problem(COMMAND, "one FILE is needed, %d are given",
			argc - optind + (file != NULL));
	return check(file ? file : argv[optind]);
}
