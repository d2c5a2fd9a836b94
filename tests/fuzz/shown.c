#include "fuzz/shown.h"

#include "base/utf8.h"
#include "fuzz/fuzz.h"

static bool is_obeyed(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

void shown_check(struct text t, const char *kept)
{
	while (t.len > 0) {
		size_t len;
		FUZZ_REQUIRE(utf8_first(t, &len));
		uint32_t code = utf8_code(text_of(t.ptr, len));
		bool is_kept = code != 0 && code < 0x80 && strchr(kept, (int)code);
		FUZZ_REQUIRE(is_kept || !is_obeyed(code));
		t = text_of(t.ptr + len, t.len - len);
	}
}
