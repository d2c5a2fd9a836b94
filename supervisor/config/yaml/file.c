#include "config/yaml/file.h"

#include "config/keys.h"
#include "config/url/addresses.h"
#include "config/url/secrets.h"
#include "config/value/words.h"
#include "config/yaml/bindings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(const struct tree *node)
{
	static const char *const kinds[] = {
		[TREE_TEXT] = "a text", [TREE_LIST] = "a list", [TREE_MAP] = "a map"};
	return tree_is_nothing(node) ? "empty" : kinds[node->kind];
}

/* The text before its variables were expanded. */
static struct text written_of(const struct tree *node)
{
	return text_from(node->written ? node->written : node->text);
}

/* ---------- settings that may be lists ---------- */

static bool is_list_of_texts(const struct tree *node)
{
	for (const struct tree *member = node->first; member; member = member->next)
		if (member->kind != TREE_TEXT)
			return false;
	return node->kind == TREE_LIST && node->first;
}

static void read_addresses(
	struct draft *draft, const struct setting *setting, const struct tree *node)
{
	struct config *config = draft->base;
	struct addresses addresses = {0};
	const struct tree *member = node->kind == TREE_LIST ? node->first : node;
	bool good = true;
	draft_note(draft, setting, draft_line(draft, node->line));
	if (node->kind != TREE_TEXT && !is_list_of_texts(node)) {
		draft_wrong(draft, setting, kind_of(node), draft_line(draft, node->line));
		return;
	}
	for (; member; member = node->kind == TREE_LIST ? member->next : NULL)
		good &= !member->bad &&
			addresses_add(&addresses, text_from(member->text), setting->key,
				draft_line(draft, member->line), draft->problems);
	if (good)
		addresses_install(&addresses, config);
	addresses_release(&addresses);
}

static enum rc append_member(char ***words, const struct tree *member)
{
	if (member->bad)
		return RC_REFUSED;
	return member->key ? words_append_pair(words, member->key, member->text)
			   : words_append(words, text_from(member->text));
}

/* The member's name is shown if it cannot be a secret. */
static void report_pair(
	struct draft *draft, const struct setting *setting, const struct tree *member)
{
	draft_note(draft, setting, draft_line(draft, member->line));
	problems_add(draft->problems, draft_line(draft, member->line),
		"%s%s: %s is %s; a text is needed, such as \"\"", draft->prefix, setting->key,
		keys_is_presentable(member->key) ? member->key : "a member", kind_of(member));
}

/* The texts of a list, such as the words of a command, are not split. */
static void read_words(struct draft *draft, const struct setting *setting, const struct tree *node)
{
	char ***target = (char ***)(void *)((char *)draft->base + setting->offset);
	char **words = NULL;
	enum rc rc = RC_OK;
	for (const struct tree *member = node->first; member && rc == RC_OK; member = member->next)
		rc = append_member(&words, member);
	draft_note(draft, setting, draft_line(draft, node->line));
	if (rc == RC_OK) {
		words_free(*target);
		*target = words;
		return;
	}
	words_free(words);
	if (rc == RC_MEMORY)
		draft->problems->memory = true;
	else if (rc == RC_LIMIT)
		draft_wrong(draft, setting, "too long", draft_line(draft, node->line));
}

/* Only a map is accepted: a text would be split at blanks, which values may contain. */
static void read_pairs(struct draft *draft, const struct setting *setting, const struct tree *node)
{
	const struct tree *member = node->kind == TREE_MAP ? node->first : NULL;
	while (member && member->kind == TREE_TEXT && !tree_is_nothing(member))
		member = member->next;
	if (node->kind != TREE_MAP)
		draft_wrong(draft, setting, kind_of(node), draft_line(draft, node->line));
	else if (!member)
		read_words(draft, setting, node);
	else
		report_pair(draft, setting, member);
}

/* Append the members of a list, comma-separated. */
static void append_members(struct buf *out, const struct tree *node, bool as_written)
{
	buf_append_byte(out, '[');
	for (const struct tree *member = node->first; member; member = member->next) {
		buf_append_text(out, member == node->first ? TEXT_NONE : TEXT(", "));
		buf_append_text(out, as_written ? written_of(member) : text_from(member->text));
	}
	buf_append_byte(out, ']');
}

/* Both move in. */
static void set_and_release(struct draft *draft, const struct setting *setting,
	const struct tree *node, struct buf *value, struct buf *written)
{
	if (value->failed || written->failed)
		draft->problems->memory = true;
	else
		draft_set(draft, setting, buf_text(value), buf_text(written),
			draft_line(draft, node->line));
	buf_release(value);
	buf_release(written);
}

static void read_list(struct draft *draft, const struct setting *setting, const struct tree *node)
{
	struct buf value, written;
	for (const struct tree *member = node->first; member; member = member->next) {
		if (member->bad) {
			draft_note(draft, setting, draft_line(draft, node->line));
			return;
		}
	}
	buf_init(&value, SIZE_MAX);
	buf_init(&written, SIZE_MAX);
	append_members(&value, node, false);
	append_members(&written, node, true);
	set_and_release(draft, setting, node, &value, &written);
}

/* {min: 2, max: 32}, which means "2..32". */
static bool is_min_and_max(const struct tree *node)
{
	const struct tree *first = node->first, *second = first ? first->next : NULL;
	return node->kind == TREE_MAP && second && !second->next && first->kind == TREE_TEXT &&
	       second->kind == TREE_TEXT &&
	       ((strcmp(first->key, "min") == 0 && strcmp(second->key, "max") == 0) ||
		       (strcmp(first->key, "max") == 0 && strcmp(second->key, "min") == 0));
}

static void read_range(struct draft *draft, const struct setting *setting, const struct tree *node)
{
	const struct tree *min = node->first, *max = min->next;
	struct buf value, written;
	if (min->bad || max->bad) {
		draft_note(draft, setting, draft_line(draft, node->line));
		return;
	}
	if (strcmp(min->key, "max") == 0) {
		min = max;
		max = node->first;
	}
	buf_init(&value, SIZE_MAX);
	buf_init(&written, SIZE_MAX);
	buf_printf(&value, "%s..%s", min->text, max->text);
	buf_printf(&written, "%.*s..%.*s", TEXT_ARGS(written_of(min)), TEXT_ARGS(written_of(max)));
	set_and_release(draft, setting, node, &value, &written);
}

/* A map that is not {min: 2, max: 32}. */
static void report_range(
	struct draft *draft, const struct setting *setting, const struct tree *node)
{
	bool has_min = false, is_reported = false;
	char shown[PROBLEMS_QUOTED_SIZE];
	draft_note(draft, setting, draft_line(draft, node->line));
	for (const struct tree *member = node->first; member; member = member->next) {
		bool is_min = strcmp(member->key, "min") == 0;
		bool is_max = strcmp(member->key, "max") == 0;
		has_min |= is_min;
		if ((is_min || is_max) && member->kind == TREE_TEXT)
			continue;
		is_reported = true;
		if (is_min || is_max)
			problems_add(draft->problems, draft_line(draft, member->line),
				"%s%s.%s is %s; a number is needed", draft->prefix, setting->key,
				member->key, kind_of(member));
		else
			problems_add(draft->problems, draft_line(draft, member->line),
				"%s%s: %s is unknown; there are min, max", draft->prefix,
				setting->key, problems_quote(text_from(member->key), shown));
	}
	if (!is_reported)
		problems_add(draft->problems, draft_line(draft, node->line), "%s%s.%s is missing",
			draft->prefix, setting->key, has_min ? "max" : "min");
}

static void read_setting(
	struct draft *draft, const struct setting *setting, const struct tree *node)
{
	if (tree_is_nothing(node))
		draft_wrong(draft, setting, "empty", draft_line(draft, node->line));
	else if (setting->type == SETTING_ADDRESSES)
		read_addresses(draft, setting, node);
	else if (setting->type == SETTING_WORDS && is_list_of_texts(node))
		read_words(draft, setting, node);
	else if (setting->type == SETTING_PAIRS)
		read_pairs(draft, setting, node);
	else if (setting->type == SETTING_BINDINGS)
		bindings_read(draft, setting, node);
	else if ((setting->type == SETTING_DELAYS || setting->type == SETTING_SET ||
			 setting->type == SETTING_NAMES || setting->type == SETTING_LOG_RATE) &&
		 node->kind == TREE_LIST && (!node->first || is_list_of_texts(node)))
		read_list(draft, setting, node);
	else if (setting->type == SETTING_RANGE && is_min_and_max(node))
		read_range(draft, setting, node);
	else if (setting->type == SETTING_RANGE && node->kind == TREE_MAP)
		report_range(draft, setting, node);
	else if (node->kind != TREE_TEXT)
		draft_wrong(draft, setting, kind_of(node), draft_line(draft, node->line));
	else
		draft_set(draft, setting, text_from(node->text), written_of(node),
			draft_line(draft, node->line));
}

/* ---------- keys ---------- */

static void report_unknown_key(struct draft *draft, const struct tree *member, const char *section)
{
	struct buf meant;
	if (draft->scope == SETTING_DEFAULTS && !*section &&
		settings_find(SETTING_POOL, member->key)) {
		problems_add(draft->problems, draft_line(draft, member->line),
			"%s%s cannot be a default; each pool has its own, under pools",
			draft->prefix, member->key);
		return;
	}
	buf_init(&meant, 1024);
	keys_append_meant(draft->scope, section, member->key, &meant);
	if (keys_is_presentable(member->key))
		problems_add(draft->problems, draft_line(draft, member->line),
			"%s%s%s is unknown; %.*s", draft->prefix, section, member->key,
			TEXT_ARGS(buf_text(&meant)));
	else
		problems_add(draft->problems, draft_line(draft, member->line),
			"a key here is unknown, and no name; %.*s", TEXT_ARGS(buf_text(&meant)));
	buf_release(&meant);
}

/* If it has none and is not empty, report that keys are needed in "pools[0].retry", "pools[0]" or
 * "the file". */
static bool has_members(struct draft *draft, const struct tree *node, const char *section)
{
	struct buf words;
	if (node->kind == TREE_MAP)
		return true;
	if (tree_is_nothing(node))
		return false;
	buf_init(&words, 1024);
	buf_printf(&words, "%s%s", draft->prefix, section);
	if (buf_len(&words) == 0)
		buf_append_text(&words, TEXT("the file"));
	else
		buf_truncate(&words, buf_len(&words) - 1); /* the dot */
	buf_printf(&words, " is %s; keys are needed: ", kind_of(node));
	keys_append(draft->scope, section, &words);
	problems_add(draft->problems, draft_line(draft, node->line), "%.*s",
		TEXT_ARGS(buf_text(&words)));
	buf_release(&words);
	return false;
}

static void read_members(struct draft *, const struct tree *map, const char *section);

static void read_section(struct draft *draft, const struct tree *map, const char *section)
{
	if (draft->scope == SETTING_POOL && strcmp(section, "session.") == 0)
		draft->session_place = draft_line(draft, map->line);
	read_members(draft, map, section);
}

/* section: of the map that contains member, "" or "limits.". */
static void read_member(struct draft *draft, const struct tree *member, const char *section)
{
	char key[KEYS_LONGEST + 2];
	int len = snprintf(key, KEYS_LONGEST + 1, "%s%s", section, member->key);
	const struct setting *setting =
		strchr(member->key, '.') ? NULL : settings_find(draft->scope, key);
	if (setting && member->bad) {
		draft_note(draft, setting,
			draft_line(draft, member->line)); /* it counts as given, though invalid */
	} else if (setting) {
		read_setting(draft, setting, member);
	} else if (len < KEYS_LONGEST && keys_is_section(draft->scope, key)) {
		strcat(key, ".");
		if (has_members(draft, member, key))
			read_section(draft, member, key);
	} else {
		report_unknown_key(draft, member, section);
	}
}

/* True for the parts of the file that file_read_root returns. */
static bool is_part(const char *key)
{
	return strcmp(key, "pools") == 0 || strcmp(key, "defaults") == 0 ||
	       strcmp(key, "throttles") == 0;
}

/* Recurses as deep as the table's keys. */
static void read_members(struct draft *draft, const struct tree *map, const char *section)
{
	bool is_root = draft->scope == SETTING_ROOT && !*section;
	for (const struct tree *member = map->first; member; member = member->next)
		if (!is_root || !is_part(member->key))
			read_member(draft, member, section);
}

/* ---------- the file ---------- */

static enum rc read_bytes(int fd, struct buf *bytes)
{
	ssize_t count;
	do {
		uint8_t *data = buf_reserve(bytes, 16 * 1024);
		if (!data)
			return bytes->limit - buf_len(bytes) < 16 * 1024 ? RC_LIMIT : RC_MEMORY;
		count = read(fd, data, 16 * 1024);
		if (count > 0)
			buf_commit(bytes, (size_t)count);
	} while (count > 0 || (count < 0 && errno == EINTR));
	return count < 0 ? RC_SYSTEM : RC_OK;
}

/* RC_REFUSED: is_reload, and it is no regular file. */
static enum rc read_file(const char *file, bool is_reload, struct buf *bytes)
{
	struct stat status;
	int fd = open(file, O_RDONLY | O_CLOEXEC | (is_reload ? O_NONBLOCK : 0));
	if (fd < 0)
		return RC_SYSTEM;
	bool is_refused = is_reload && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode));
	enum rc rc = is_refused ? RC_REFUSED : read_bytes(fd, bytes);
	int saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

enum rc file_read(const char *file, bool is_reload, char *const *environment, struct tree **ret,
	struct problems *problems)
{
	struct buf bytes;
	struct tree *root = NULL;
	/* A larger limit, so that tree_read reports a file that is too large. */
	buf_init(&bytes, TREE_SOURCE_MAX + 32 * 1024);
	enum rc rc = read_file(file, is_reload, &bytes);
	if (rc == RC_REFUSED) {
		problems_add(problems, place_line(file, 0),
			"it is not a regular file, and only a start can wait for a pipe");
		rc = RC_NOT_FOUND;
	} else if (rc == RC_SYSTEM) {
		problems_add(problems, place_line(file, 0), "%s", strerror(errno));
		rc = RC_NOT_FOUND;
	}
	if (rc == RC_OK || rc == RC_LIMIT)
		rc = tree_read(buf_text(&bytes), file, &root, problems);
	size_t len = buf_len(&bytes);
	buf_release(&bytes);
	if (rc != RC_OK)
		return rc;
	tree_expand(root, len, file, environment, problems);
	*ret = root;
	return RC_OK;
}

/* key: may lead through sections, "limits.hard". NULL: it is not there. */
static const struct tree *find_member(const struct tree *map, const char *key)
{
	size_t len = strcspn(key, ".");
	const struct tree *member = map && map->kind == TREE_MAP ? map->first : NULL;
	while (member && !text_is(text_of(key, len), text_from(member->key)))
		member = member->next;
	return key[len] ? find_member(member, key + len + 1) : member;
}

void file_read_root(struct draft *draft, const struct tree *root, struct file_parts *ret_parts)
{
	const struct tree *pools = find_member(root, "pools");
	const struct tree *defaults = find_member(root, "defaults");
	if (has_members(draft, root, ""))
		read_members(draft, root, "");
	*ret_parts = (struct file_parts){.pools = pools && !pools->bad ? pools : NULL,
		.defaults = defaults && !defaults->bad ? defaults : NULL,
		.throttles = find_member(root, "throttles")};
}

enum rc file_add_secrets(const struct tree *root, char *const *environment, char ***names)
{
	const struct tree *node = find_member(find_member(root, "broker"), "url");
	bool is_list = node && node->kind == TREE_LIST;
	enum rc rc = RC_OK;
	if (is_list)
		node = node->first;
	for (; node && rc == RC_OK; node = is_list ? node->next : NULL)
		if (node->written)
			rc = secrets_add_expanded(names, text_from(node->written), environment);
	return rc;
}

static void read_defaults(struct draft *draft, const struct tree *defaults)
{
	const char *prefix = draft->prefix;
	draft->scope = SETTING_DEFAULTS;
	draft->prefix = "defaults.";
	if (has_members(draft, defaults, ""))
		read_members(draft, defaults, "");
	draft->scope = SETTING_POOL;
	draft->prefix = prefix;
}

void file_read_pool(struct draft *draft, const struct tree *pool, const struct tree *defaults)
{
	if (defaults)
		read_defaults(draft, defaults);
	if (has_members(draft, pool, ""))
		read_members(draft, pool, "");
}

size_t file_line_of(const struct tree *root, size_t pool, const char *key)
{
	const struct tree *pools = find_member(root, "pools"), *node = pools->first, *found;
	for (; pool > 0; pool--)
		node = node->next;
	found = find_member(node, key);
	if (!found)
		found = find_member(find_member(root, "defaults"), key);
	return found ? found->line : 0;
}

void file_read_throttle(struct draft *draft, const struct tree *throttle)
{
	if (has_members(draft, throttle, ""))
		read_members(draft, throttle, "");
}
