#include "dead_letters/letter_fingerprint.h"

#include "amqp/table.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST_SIZE 32

struct digest {
	uint8_t bytes[DIGEST_SIZE];
};

struct hash {
	EVP_MD_CTX *ctx;
	bool has_failed;
};

static void hash_begin(struct hash *hash)
{
	hash->has_failed |= EVP_DigestInit_ex(hash->ctx, EVP_sha256(), NULL) != 1;
}

static void hash_end(struct hash *hash, struct digest *ret)
{
	hash->has_failed |= EVP_DigestFinal_ex(hash->ctx, ret->bytes, NULL) != 1;
}

static void hash_bytes(struct hash *hash, const void *bytes, size_t len)
{
	hash->has_failed |= EVP_DigestUpdate(hash->ctx, bytes, len) != 1;
}

static void hash_number(struct hash *hash, uint64_t number)
{
	uint8_t bytes[sizeof number];

	for (size_t i = sizeof bytes; i-- > 0; number >>= 8)
		bytes[i] = (uint8_t)number;
	hash_bytes(hash, bytes, sizeof bytes);
}

/* With its length, so that no two rows of texts are the same bytes. */
static void hash_text(struct hash *hash, struct text text)
{
	hash_number(hash, text.len);
	hash_bytes(hash, text.ptr, text.len);
}

static int compare_digests(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct digest));
}

/* Also of a table that is too deep or too long for table_check: it has its fields all the same. */
static struct text raw_headers(const struct dead_letter *letter)
{
	return letter->properties.value[PROPERTY_HEADERS];
}

static size_t count_headers(struct text headers)
{
	struct table_field field;
	size_t count = 0;

	while (table_next(&headers, true, &field))
		count++;
	return count;
}

/* Return what follows the last field that can be parsed.
 *
 * A quorum queue sorts the headers when it adds one of its own, so their order must not count. A
 * sum of their hashes would not do: with thousands of headers others of the same sum can be found.
 */
static struct text digest_headers(
	struct hash *hash, struct text headers, struct digest *digests, size_t *ret_count)
{
	struct table_field field;
	size_t count = 0;

	while (table_next(&headers, true, &field)) {
		if (dead_letter_is_counter(field.key))
			continue;
		hash_begin(hash);
		hash_number(hash, (uint8_t)field.type);
		hash_text(hash, field.key);
		hash_text(hash, field.value);
		hash_end(hash, &digests[count++]);
	}
	qsort(digests, count, sizeof *digests, compare_digests);
	*ret_count = count;
	return headers;
}

static void digest_letter(struct hash *hash, const struct dead_letter *letter,
	struct digest *of_headers, struct digest *ret)
{
	struct properties properties = letter->properties;
	struct text rest;
	size_t header_count;

	/* Its queue gives headers to a message that had none. */
	properties_clear(&properties, PROPERTY_HEADERS);
	rest = digest_headers(hash, raw_headers(letter), of_headers, &header_count);
	hash_begin(hash);
	hash_text(hash, letter->exchange);
	hash_text(hash, letter->routing_key);
	hash_text(hash, letter->unreadable);
	hash_number(hash, properties.present);
	for (unsigned i = 0; i < PROPERTY_COUNT; i++)
		if (properties_has(&properties, i))
			hash_text(hash, properties.value[i]);
	hash_number(hash, header_count);
	hash_bytes(hash, of_headers, header_count * sizeof *of_headers);
	hash_text(hash, rest);
	hash_text(hash, letter->body);
	hash_end(hash, ret);
}

bool dead_letter_fingerprint(const struct dead_letter *letter, char ret[FINGERPRINT_SIZE])
{
	struct digest *of_headers =
		malloc((count_headers(raw_headers(letter)) + 1) * sizeof *of_headers);
	struct hash hash = {.ctx = EVP_MD_CTX_new()};
	struct digest digest;
	bool is_made = of_headers && hash.ctx;

	if (is_made) {
		digest_letter(&hash, letter, of_headers, &digest);
		is_made = !hash.has_failed;
	}
	for (size_t i = 0; is_made && i < FINGERPRINT_DIGITS / 2; i++)
		snprintf(&ret[2 * i], 3, "%02x", digest.bytes[i]);
	EVP_MD_CTX_free(hash.ctx);
	free(of_headers);
	return is_made;
}
