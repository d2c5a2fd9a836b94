/* The broker's password in a file, which is read for every login, so that a new password needs
 * neither a restart nor a reload. Layer: net. */
#ifndef NET_PASSWORD_FILE_H
#define NET_PASSWORD_FILE_H

#include "base/rc.h"

#include <stdbool.h>

#define PASSWORD_SIZE 1025

/* Read the file, without a newline at its end. False: *ret_problem is why not, without the
 * file's name, valid until the next system call fails. Only a regular file is read, so that no FIFO
 * can block it. */
bool password_file_read(
	const char *path, char ret_password[PASSWORD_SIZE], const char **ret_problem) MUST_CHECK;

#endif
