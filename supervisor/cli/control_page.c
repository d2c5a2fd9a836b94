/* GET /: the page for people, made of supervisor/cli/page by tools/page. */
#include "cli/control_routes.h"
#include "cli/page.inc"

#define HTML_TYPE "text/html; charset=utf-8"

/* It asks us, and nobody else; what would come into it by a hole is not run. */
#define POLICY                                                                                     \
	"default-src 'none'; connect-src 'self'; script-src '" PAGE_SCRIPT "'; "                   \
	"style-src '" PAGE_STYLE "'; img-src data:; base-uri 'none'; form-action 'none'; "         \
	"frame-ancestors 'none'"

static const uint8_t page[] = {
	PAGE_BYTES,
};

void control_answer_page(const struct overview *overview, const struct http_request *request)
{
	(void)overview;
	http_answer_page(request, HTML_TYPE, text_of((const char *)page, sizeof page), POLICY);
}
