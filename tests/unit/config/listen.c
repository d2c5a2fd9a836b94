/* Addresses to listen at: numbers and nothing else. */
#include "config/url/listen.h"
#include "unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>

static const char *const good[] = {"127.0.0.1:9464", "0.0.0.0:0", "255.255.255.255:65535",
	"[::1]:9464", "[::]:1", "[fe80::1]:80", "[::ffff:127.0.0.1]:80"};

static const char *const bad[] = {"", ":", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536",
	"127.0.0.1:-1", "127.0.0.1:80x", "127.0.0.1:80:80", "127.0.0:80", "256.0.0.1:80",
	"localhost:80", "::1:80", "[::1]", "[::1]80", "[::1]:", "[::1:80", "[]:80",
	"[127.0.0.1]:80", "[localhost]:80", "[::1]]:80", "127.0.0.1:99999999999",
	"111111111111111111111111111111111111111111111111111:80"};

/* As it would be written by somebody else. */
static void write_back(const struct listen_address *address, char *words, size_t size)
{
	char host[INET6_ADDRSTRLEN];
	if (address->storage.ss_family == AF_INET) {
		const struct sockaddr_in *ip4 = (const struct sockaddr_in *)&address->storage;
		ck_assert_uint_eq(address->len, sizeof *ip4);
		inet_ntop(AF_INET, &ip4->sin_addr, host, sizeof host);
		snprintf(words, size, "%s:%u", host, ntohs(ip4->sin_port));
	} else {
		const struct sockaddr_in6 *ip6 = (const struct sockaddr_in6 *)&address->storage;
		ck_assert_uint_eq(address->len, sizeof *ip6);
		inet_ntop(AF_INET6, &ip6->sin6_addr, host, sizeof host);
		snprintf(words, size, "[%s]:%u", host, ntohs(ip6->sin6_port));
	}
}

START_TEST(what_is_right_is_read)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct listen_address address;
		char words[100];
		ck_assert_msg(listen_parse(text_from(good[i]), &address), "%s", good[i]);
		write_back(&address, words, sizeof words);
		ck_assert_str_eq(words, good[i]);
	}
}
END_TEST

START_TEST(what_is_wrong_is_not)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct listen_address address = {.len = 7};
		ck_assert_msg(!listen_parse(text_from(bad[i]), &address), "%s", bad[i]);
		ck_assert_uint_eq(address.len, 7);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("config/listen");
	UNIT_CASE(s, "listen", what_is_right_is_read, what_is_wrong_is_not);
	return s;
}

UNIT_MAIN(suite)
