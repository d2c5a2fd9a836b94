#include "net/certificate_end.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

static int64_t end_of(const X509 *certificate)
{
	struct tm tm;
	if (!ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm))
		return 0;
	return timegm(&tm);
}

static int64_t read_first_end(const char *path)
{
	int64_t first = 0;
	X509 *certificate;
	BIO *file = BIO_new_file(path, "re");
	while (file && (certificate = PEM_read_bio_X509(file, NULL, NULL, NULL))) {
		int64_t end = end_of(certificate);
		if (first == 0 || end < first)
			first = end;
		X509_free(certificate);
	}
	BIO_free(file);
	ERR_clear_error(); /* at the latest the end of the file is one */
	return first;
}

int64_t certificate_end_read(struct certificate_end *end, const char *path)
{
	if (!end->stamp.exists || !file_stamp_holds(&end->stamp, path)) {
		end->stamp = file_stamp_take(path);
		end->wall_s = end->stamp.is_regular ? read_first_end(path) : 0;
	}
	return end->wall_s;
}
