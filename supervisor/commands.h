/* The commands of wpool. Layer: top.
 * Each takes its own name as argv[0] and returns an exit code of sysexits.h. */
#ifndef COMMANDS_H
#define COMMANDS_H

int serve_main(int argc, char **argv);
int publish_main(int argc, char **argv);
int request_main(int argc, char **argv);
int dead_letters_main(int argc, char **argv);
int status_main(int argc, char **argv);
int pools_main(int argc, char **argv);
int workers_main(int argc, char **argv);
int top_main(int argc, char **argv);
int verb_main(int argc, char **argv); /* those of api/verbs.def */
int sessions_main(int argc, char **argv);
int session_main(int argc, char **argv);
int throttles_main(int argc, char **argv);
int throttle_main(int argc, char **argv);
int stop_main(int argc, char **argv);
int reload_main(int argc, char **argv);
int logs_main(int argc, char **argv);
int log_level_main(int argc, char **argv);
int declare_main(int argc, char **argv);
int check_config_main(int argc, char **argv);
int check_worker_main(int argc, char **argv);

#endif
