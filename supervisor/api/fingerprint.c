#include "api/fingerprint.h"

bool fingerprint_is_valid(struct text text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < text.len; i++)
		if (!memchr(digits, text.ptr[i], sizeof digits - 1))
			return false;
	return text.len == FINGERPRINT_DIGITS;
}
