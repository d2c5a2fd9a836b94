/* Warnings about what others can read or change because of a configuration. Layer: config. Each is
 * one line with its remedy, and contains no password. */
#ifndef CONFIG_EXPOSURE_H
#define CONFIG_EXPOSURE_H

#include "config/config.h"

/* Who can do what with a file. */
struct exposure_file {
	const char *path; /* NULL, or a file that does not exist: no warning */
	const char *what; /* "the configuration", "the key of the certificate" */
	bool is_secret;   /* no other user should read it */
};

/* file: the configuration's path, or NULL. Add a warning for
 *  - the configuration, or a certificate's key, that other users can write, or read if it has a
 *    secret in it;
 *  - a password that goes to another machine without encryption, and a broker whose certificate is
 *    not checked;
 *  - pools whose workers run as root, where this process is root;
 *  - an http.listen that takes connections at all addresses, and a token that goes to one of them
 *    without encryption, or whose file other users can read. */
void exposure_add_warnings(const struct config *, const char *file, struct problems *);
void exposure_add_file(const struct exposure_file *, struct problems *);
/* Whether a configuration's text has an address with a secret password: neither a variable nor
 * RabbitMQ's public "guest". Pure. */
bool exposure_has_password(struct text);

#endif
