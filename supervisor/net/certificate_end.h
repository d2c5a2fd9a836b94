/* When the client certificate in a file ends. Layer: net. Of the file as it is now: the connection
 * may have been opened with an older one, but the next will take this one. */
#ifndef NET_CERTIFICATE_END_H
#define NET_CERTIFICATE_END_H

#include "os/file_stamp.h"

#include <stdint.h>

/* Zero before the first read. */
struct certificate_end {
	struct file_stamp stamp;
	int64_t wall_s;
};

/* The end, in seconds since 1970, of the certificate in this PEM file that ends first (it may have
 * those of authorities besides); 0: none can be read. The file is read when it has changed, and
 * only a regular one, so that it cannot block. */
int64_t certificate_end_read(struct certificate_end *, const char *path);

#endif
