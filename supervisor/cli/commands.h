/* The commands of wpool. Layer: cli.
 * Each takes its own name as argv[0] and returns an exit code of sysexits.h. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int serve_main(int argc, char **argv);
int publish_main(int argc, char **argv);
int request_main(int argc, char **argv);
int dead_letters_main(int argc, char **argv);
int status_main(int argc, char **argv);
int pools_main(int argc, char **argv);
int workers_main(int argc, char **argv);
int top_main(int argc, char **argv);
int steer_main(int argc, char **argv); /* pause, resume, restart, scale */
int stop_main(int argc, char **argv);
int reload_main(int argc, char **argv);
int logs_main(int argc, char **argv);
int log_level_main(int argc, char **argv);
int check_config_main(int argc, char **argv);

#endif
