/* The end of the certificate in a file, as the file is now. */
#include "net/certificate_end.h"
#include "unit/support/net/certificate.h"
#include "unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

static void expect_days(struct certificate_end *end, const char *path, int days)
{
	int64_t wanted = time(NULL) + days * INT64_C(86400),
		found = certificate_end_read(end, path);
	ck_assert_msg(found >= wanted - 60 && found <= wanted + 60, "%lld, not %lld",
		(long long)found, (long long)wanted);
}

START_TEST(the_file_of_now_counts)
{
	struct certificate first, second;
	struct certificate_end end = {0};
	certificate_make(&first, "DNS:a", 5);
	certificate_make(&second, "DNS:a", 9);
	expect_days(&end, first.path, 5);
	ck_assert_int_eq(rename(second.path, first.path), 0);
	expect_days(&end, first.path, 9);
	ck_assert_int_eq(unlink(first.path), 0);
	ck_assert_int_eq(certificate_end_read(&end, first.path), 0);
	certificate_release(&first);
	certificate_release(&second);
}
END_TEST

/* With those of authorities behind it. */
START_TEST(the_first_end_of_a_chain_counts)
{
	struct certificate first, second;
	struct certificate_end end = {0};
	char command[200];
	certificate_make(&first, "DNS:a", 9);
	certificate_make(&second, "DNS:b", 5);
	snprintf(command, sizeof command, "cat %s >>%s", second.path, first.path);
	ck_assert_int_eq(system(command), 0);
	expect_days(&end, first.path, 5);
	ck_assert_int_eq(certificate_end_read(&end, first.key_path), 0);
	certificate_release(&first);
	certificate_release(&second);
}
END_TEST

/* Opening it must not wait for a writer. */
START_TEST(fifo_does_not_block)
{
	char path[] = "/tmp/wpool-unit-XXXXXX";
	struct certificate_end end = {0};
	close(mkstemp(path));
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(certificate_end_read(&end, path), 0);
	ck_assert_int_eq(certificate_end_read(&end, "/dev/zero"), 0);
	unlink(path);
}
END_TEST

static Suite *suite(void)
{
	Suite *suite = suite_create("net/certificate_end");
	UNIT_CASE(suite, "end", the_file_of_now_counts, the_first_end_of_a_chain_counts,
		fifo_does_not_block);
	return suite;
}

UNIT_MAIN(suite)
