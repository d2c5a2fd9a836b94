/* Accessibility of the page at /: on a phone, in dark mode, by keyboard, and with a screen reader.
 */
#include "harness/page.h"
#include "system/system.h"

#include <string.h>

/* The worst contrast of a text with its background (WCAG 2.1, section 1.4.3), described. */
static const char contrast[] =
	"(() => {\n"
	"const parse = (words) => words.match(/[\\d.]+/g).map(Number);\n"
	"const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 :\n"
	"	((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);\n"
	"const below = (node) => { for (; node; node = node.parentElement) {\n"
	"	const c = parse(getComputedStyle(node).backgroundColor);\n"
	"	if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };\n"
	"const worst = [...document.querySelectorAll('body *')].filter((node) => node.checkVisibility() &&\n"
	"	[...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))\n"
	"	.map((node) => { const [a, b] = [light(parse(getComputedStyle(node).color)),\n"
	"		light(below(node))].sort((x, y) => y - x);\n"
	"		return [(a + 0.05) / (b + 0.05), node.outerHTML]; }).sort((x, y) => x[0] - y[0])[0];\n"
	"return worst[0] >= 4.5 ? 'good' : `${worst}`; })()";

static const struct {
	int width;
	bool is_phone;
	const char *scheme;
} views[] = {{1280, false, "light"}, {1280, false, "dark"}, {1190, false, "light"},
	{768, false, "light"}, {390, true, "light"}, {320, true, "dark"}};

enum { VIEWS = sizeof views / sizeof *views };

/* Ready and failing pools, an open and a folded pool, names of maximum length. */
START_TEST(page_is_readable_at_all_sizes)
{
	struct browser *browser;
	char *own = page_echo_pool(
		"a-pool-whose-name-is-as-long-as-a-name-may-be-in-a-configuration", 2);
	page_serve(
		scratch_text("%s- {name: other, queue: '%s.of-somebody', command: [/bin/false]}\n",
			own, fixture.queue),
		0);
	browser = browser_start(fixture.folder);
	browser_resize(browser, views[_i].width, 800, views[_i].is_phone);
	browser_emulate(browser, "prefers-color-scheme", views[_i].scheme);
	browser_open(browser, scratch_text("http://%s/", page_address()));
	browser_await(browser, "document.querySelector('#verdict').textContent.startsWith('Not')");
	browser_await(browser, "document.querySelectorAll('.name button').length === 2");
	json_decref(browser_value(browser, "document.querySelector('.name button').click()"));
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 2");
	/* As wide as they get. */
	browser_await(browser, "['tasks.backlog', 'tasks.dead_letters'].every((of) => "
			       "/ \\(\\d+ s\\)$/.test(document.querySelector(`[data-of='${of}']`)"
			       ".textContent))");
	ck_assert_str_eq(browser_text(browser, contrast), "good");
	json_t *width = browser_value(browser, "document.documentElement.scrollWidth");
	ck_assert_int_le(json_integer_value(width), views[_i].width);
	browser_free(browser);
}
END_TEST

/* ---------- for those who hear it ---------- */

static const char *role_of(const json_t *node)
{
	const char *role =
		json_string_value(json_object_get(json_object_get(node, "role"), "value"));

	return role ? role : "";
}

static const char *name_of(const json_t *node)
{
	const char *name =
		json_string_value(json_object_get(json_object_get(node, "name"), "value"));

	return name ? name : "";
}

static json_int_t level_of(const json_t *node)
{
	size_t i;
	json_t *property;

	json_array_foreach(json_object_get(node, "properties"), i,
		property) if (strcmp(json_string_value(json_object_get(property, "name")),
				      "level") ==
			      0) return json_integer_value(json_object_get(json_object_get(property,
										   "value"),
		"value"));
	return 0;
}

static int count_of(const json_t *nodes, const char *role)
{
	size_t i;
	json_t *node;
	int count = 0;

	json_array_foreach(nodes, i, node) count +=
		!json_is_true(json_object_get(node, "ignored")) && strcmp(role_of(node), role) == 0;
	return count;
}

/* Every control has a name, and heading levels increase by at most one. */
static void check_nodes(const json_t *nodes)
{
	static const char *const named[] = {"table", "button", "image", "img", "link", "heading",
		"columnheader", "region", "list"};
	json_int_t level = 0;
	size_t i;
	json_t *node;

	json_array_foreach(nodes, i, node)
	{
		if (json_is_true(json_object_get(node, "ignored")))
			continue;
		for (size_t n = 0; n < sizeof named / sizeof *named; n++)
			ck_assert_msg(strcmp(role_of(node), named[n]) != 0 || *name_of(node),
				"a %s without a name: %s", named[n], json_dumps(node, 0));
		if (strcmp(role_of(node), "heading") == 0) {
			ck_assert_int_le(level_of(node), level + 1);
			level = level_of(node);
		}
	}
}

START_TEST(page_has_labels_and_keyboard_access)
{
	struct browser *browser;
	char *second = scratch_text("- {name: second, queue: '%s', command: ['%s'], workers: 3}\n",
		fixture.queue, fixture_built("workers/echo"));
	page_serve(scratch_text("%s%s", page_echo_pool("first", 2), second), 0);
	browser = browser_start(fixture.folder);
	browser_resize(browser, _i ? 390 : 1280, 800, _i);
	browser_open(browser, scratch_text("http://%s/", page_address()));
	browser_await(browser, "document.querySelectorAll('.name button').length === 2");
	browser_press(browser, "Tab");
	ck_assert_str_eq(
		browser_text(browser, "document.activeElement.textContent"), "To the pools");
	browser_press(browser, "Enter");
	browser_await(browser, "document.activeElement.id === 'pools'");
	browser_press(browser, "Tab");
	browser_press(browser, "Tab");
	ck_assert_str_eq(browser_text(browser, "document.activeElement.textContent"), "second");
	browser_press(browser, "Enter");
	browser_await(browser, "document.querySelectorAll('.more tbody tr').length === 3");
	browser_await(browser, "document.activeElement.textContent === 'second' && "
			       "document.activeElement.ariaExpanded === 'true'");
	json_t *tree = browser_command(browser, "Accessibility.getFullAXTree", NULL);
	const json_t *nodes = json_object_get(tree, "nodes");
	check_nodes(nodes);
	ck_assert_int_eq(count_of(nodes, "banner"), 1);
	ck_assert_int_eq(count_of(nodes, "main"), 1);
	ck_assert_int_eq(count_of(nodes, "contentinfo"), 1);
	ck_assert_int_eq(count_of(nodes, "status"), 1);
	ck_assert_int_eq(count_of(nodes, "table"), 3);
	ck_assert_int_eq(count_of(nodes, "rowheader"), 2 + 3 + 2);
	ck_assert_int_ge(count_of(nodes, "columnheader"), 15);
	browser_free(browser);
}
END_TEST

int main(void)
{
	return SYSTEM_RUN("page_access", {page_is_readable_at_all_sizes, VIEWS},
		{page_has_labels_and_keyboard_access, 2});
}
