/* A request is for us only if its Host is an address or one of our names, whole. */
#include "http/host.h"
#include "unit/unit.h"

static char first[] = "supervisor", second[] = "Wpool.Example.org";
static char *const names[] = {first, second, NULL};

START_TEST(addresses_and_our_names_are_ours)
{
	static const char *const cases[] = {"127.0.0.1", "127.0.0.1:9464", "192.0.2.7:80", "[::1]",
		"[::1]:9464", "[2001:db8::1]:", "localhost", "LocalHost:9464", "localhost.",
		"localhost.:9464", "localhost:", "wpool", "WPOOL:1", "supervisor",
		"Supervisor:9464", "supervisor.", "wpool.example.org", "wpool.example.org.:9464"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(host_is_ours(text_from(cases[i]), names), "%s", cases[i]);
}
END_TEST

START_TEST(every_other_name_is_foreign)
{
	static const char *const cases[] = {"", ".", ":", ":9464", "evil.example",
		"evil.example:9464", "localhost.evil.example", "localhostevil.example",
		"wpool.evil.example", "wpool.example", "supervisor.evil.example", "supervisors",
		"supervisor-x", "supervisor..", "superviso", "x.localhost", "evil.wpool",
		"evil.supervisor", "127.0.0.1.evil.example", "127.0.0.1.", "127.0.0", "127.1",
		"127.0.0.1x", "1.2.3.4.5", "0x7f.0.0.1", "2130706433", "::1", "[::1", "[]",
		"[::1]x", "[::1].evil.example", "[evil.example]", "[127.0.0.1]", "localhost:x",
		"localhost:80x", "localhost:80:80", "localhost:65536", "localhost@evil.example",
		" localhost", "localhost evil.example", "localhost, evil.example"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(!host_is_ours(text_from(cases[i]), names), "%s", cases[i]);
	ck_assert(!host_is_ours(TEXT("localhost\0.evil.example"), names));
	ck_assert(!host_is_ours(TEXT("127.0.0.1\0.evil.example"), names));
}
END_TEST

START_TEST(without_configured_names_only_the_fixed_ones_are_ours)
{
	ck_assert(host_is_ours(TEXT("localhost"), NULL));
	ck_assert(!host_is_ours(TEXT("supervisor"), NULL));
	ck_assert(!host_is_ours(TEXT("supervisor"), (char *const[]){NULL}));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("http/host");
	TCase *tcase = tcase_create("host");
	tcase_add_test(tcase, addresses_and_our_names_are_ours);
	tcase_add_test(tcase, every_other_name_is_foreign);
	tcase_add_test(tcase, without_configured_names_only_the_fixed_ones_are_ours);
	suite_add_tcase(s, tcase);
	return s;
}

UNIT_MAIN(suite)
