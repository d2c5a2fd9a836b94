/* Changes of source files are noticed however an editor makes them; a burst is one; caches and what
 * editors leave beside a file are none. */
#include "os/source_watch.h"
#include "base/log.h"
#include "os/clock.h"
#include "os/loop.h"
#include "unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char folder[64];
static struct ev_loop *loop;
static struct source_watch *watch;
static int reports;
static bool had_others;
static char reported[PATH_MAX];

static void on_change(void *ctx, const char *path, bool has_others)
{
	ck_assert_ptr_eq(ctx, folder);
	snprintf(reported, sizeof reported, "%s", path);
	had_others = has_others;
	reports++;
}

static const char *in_folder(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name)
{
	FILE *file = fopen(in_folder(name), "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs("code\n", file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static void make_folder(const char *name)
{
	ck_assert_int_eq(mkdir(in_folder(name), 0700), 0);
}

static void move(const char *from, const char *to)
{
	ck_assert_int_eq(rename(in_folder(from), in_folder(to)), 0);
}

static void open_watch(const char *path)
{
	watch = source_watch_new(loop, (const char *const[]){path, NULL}, on_change, folder);
	ck_assert_ptr_nonnull(watch);
}

static void set_up(void)
{
	strcpy(folder, "/tmp/wpool-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	loop = loop_default();
	reports = 0;
}

static void tear_down(void)
{
	char command[128];

	source_watch_free(watch);
	ev_loop_destroy(loop);
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

/* The loop's waits end at the next event: of inotify, or of the timer. */
static void expect_report(const char *name)
{
	int before = reports;

	while (reports == before)
		ev_run(loop, EVRUN_ONCE);
	ck_assert_str_eq(reported, in_folder(name));
}

START_TEST(sources_are_told_from_what_lies_beside_them)
{
	static const char *const sources[] = {"worker.py", "worker", "a.b.c", "templates", "x.pyx",
		"swp", "pycache", "14913", "Makefile"};
	static const char *const others[] = {".git", ".hidden.py", "__pycache__", "worker.pyc",
		"worker.pyo", ".worker.py.swp", "worker.swp", "worker.py~", "#worker.py#",
		".#worker.py", "4913", "worker.py___jb_tmp___", "worker.py___jb_old___", ".", ".."};

	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
		ck_assert_msg(source_watch_is_source(sources[i]), "%s", sources[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!source_watch_is_source(others[i]), "%s", others[i]);
}
END_TEST

START_TEST(code_is_told_from_what_workers_write)
{
	static const char *const code[] = {"worker.py", "worker.min.js", "x.pyx", "main.go",
		"lib.so", "page.html", "settings.yaml", "query.sql"};
	static const char *const others[] = {"out.log", "out.log.1", "result.json", "table.csv",
		"notes.txt", "worker.pid", "data.db", "data.db-journal", "core", "1234",
		"sedHLGO5G", "picture.png", "worker.py.bak"};

	for (size_t i = 0; i < sizeof code / sizeof *code; i++)
		ck_assert_msg(source_watch_is_code(code[i], false), "%s", code[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!source_watch_is_code(others[i], false), "%s", others[i]);
	ck_assert(source_watch_is_code("worker", true));
}
END_TEST

START_TEST(a_burst_ends_when_it_is_quiet_or_lasts_long)
{
	mtime first = 5 * MTIME_SECOND;

	ck_assert_int_eq(source_watch_wait(first, first), SOURCE_WATCH_QUIET);
	ck_assert_int_eq(
		source_watch_wait(first, first + SOURCE_WATCH_LIMIT - 2 * MTIME_MS), 2 * MTIME_MS);
	ck_assert_int_eq(source_watch_wait(first, first + SOURCE_WATCH_LIMIT), 0);
	ck_assert_int_eq(source_watch_wait(first, first + 2 * SOURCE_WATCH_LIMIT), 0);
}
END_TEST

START_TEST(every_way_to_save_is_noticed)
{
	write_file("worker.py");
	write_file("old.py");
	open_watch(folder);
	write_file("worker.py");
	expect_report("worker.py");
	ck_assert(!had_others);
	write_file(".new"); /* not a source, as its name stands */
	move(".new", "worker.py");
	expect_report("worker.py");
	ck_assert(!had_others);
	ck_assert_int_eq(unlink(in_folder("old.py")), 0);
	expect_report("old.py");
	ck_assert_int_eq(symlink("worker.py", in_folder("link.py")), 0);
	expect_report("link.py");
	ck_assert_int_eq(reports, 4);
}
END_TEST

/* As a worker does, which would restart without end. */
START_TEST(what_workers_write_is_no_change)
{
	open_watch(folder);
	write_file("out.log");
	write_file("1234");
	make_folder("results");
	write_file("results/a.json");
	write_file("worker.py");
	expect_report("worker.py");
	ck_assert(!had_others);
	ck_assert_int_eq(reports, 1);
}
END_TEST

/* A linker writes it first. */
START_TEST(program_is_a_change_when_it_can_be_executed)
{
	open_watch(folder);
	write_file("worker");
	ck_assert_int_eq(chmod(in_folder("worker"), 0755), 0);
	expect_report("worker");
	write_file("worker");
	expect_report("worker");
	ck_assert_int_eq(reports, 2);
}
END_TEST

/* Also where the file beside it looks like code. */
START_TEST(file_that_is_still_there_is_named)
{
	write_file("worker.py");
	open_watch(folder);
	write_file("new.py");
	move("new.py", "worker.py");
	expect_report("worker.py");
	ck_assert(!had_others);
	write_file("gone.py");
	ck_assert_int_eq(unlink(in_folder("gone.py")), 0);
	write_file("worker.py");
	expect_report("worker.py");
	ck_assert(had_others);
}
END_TEST

START_TEST(a_burst_is_one_report)
{
	open_watch(folder);
	write_file(".worker.py.swp");
	write_file("4913");
	write_file("worker.pyc");
	write_file("a.py");
	write_file("b.py");
	write_file("a.py");
	expect_report("a.py");
	ck_assert(had_others);
	write_file("b.py");
	expect_report("b.py");
	ck_assert(!had_others);
	ck_assert_int_eq(reports, 2);
}
END_TEST

START_TEST(folders_may_come_move_and_go)
{
	make_folder("lib");
	make_folder("__pycache__");
	open_watch(folder);
	write_file("lib/a.py");
	expect_report("lib/a.py");
	make_folder("new");
	make_folder("new/deep");
	write_file("new/deep/b.py"); /* perhaps before the folder is watched */
	expect_report("new/deep/b.py");
	write_file("new/deep/b.py");
	expect_report("new/deep/b.py");
	move("new", "moved");
	expect_report("moved/deep/b.py");
	write_file("moved/deep/b.py");
	expect_report("moved/deep/b.py");
	write_file("__pycache__/a.cpython-311.pyc");
	write_file("lib/c.py");
	expect_report("lib/c.py");
	ck_assert(!had_others);
	ck_assert_int_eq(unlink(in_folder("lib/a.py")) | unlink(in_folder("lib/c.py")) |
				 rmdir(in_folder("lib")),
		0);
	expect_report("lib/a.py");
	make_folder("lib");
	write_file("lib/d.py");
	expect_report("lib/d.py");
}
END_TEST

/* The path is a file: others beside it do not count. */
START_TEST(a_single_file_is_watched)
{
	write_file(".worker"); /* named by the user, whatever its name */
	open_watch(in_folder(".worker"));
	write_file("other.py");
	write_file("new.py");
	move("new.py", ".worker");
	expect_report(".worker");
	ck_assert(!had_others);
	write_file(".worker");
	expect_report(".worker");
	ck_assert_int_eq(reports, 2);
}
END_TEST

START_TEST(a_watched_folder_may_be_replaced)
{
	make_folder("src");
	write_file("src/a.py");
	make_folder("next");
	write_file("next/a.py");
	open_watch(in_folder("src"));
	move("src", "old");
	move("next", "src");
	expect_report("src/a.py");
	write_file("old/a.py");
	write_file("src/b.py");
	expect_report("src/b.py");
	ck_assert(!had_others);
}
END_TEST

START_TEST(a_missing_path_is_refused)
{
	const char *const paths[] = {folder, in_folder("missing"), NULL};

	watch = source_watch_new(loop, paths, on_change, folder);
	ck_assert_ptr_null(watch);
}
END_TEST

/* Enter a user namespace of our own that may have so many watches. False: the kernel refuses. */
static bool limit_watches(int count)
{
	if (unshare(CLONE_NEWUSER) != 0)
		return false;
	int limit = open("/proc/sys/user/max_inotify_watches", O_WRONLY);
	bool is_limited = limit >= 0 && dprintf(limit, "%d\n", count) > 0;
	if (limit >= 0)
		close(limit);
	return is_limited;
}

START_TEST(a_lack_of_watches_is_named)
{
	char lines[4096] = "", needed[128];
	int log = memfd_create("log", MFD_CLOEXEC);

	make_folder("a");
	make_folder("a/b");
	if (!limit_watches(2)) {
		printf("not run: %s: no user namespace with limits of its own\n", __func__);
		return;
	}
	log_setup(log, LOG_INFO, LOG_TEXT, false);
	watch = source_watch_new(loop, (const char *const[]){folder, NULL}, on_change, folder);
	ck_assert_ptr_null(watch);
	ck_assert_int_gt(pread(log, lines, sizeof lines - 1, 0), 0);
	snprintf(needed, sizeof needed, "cannot watch %s/a/b: ", folder);
	ck_assert_msg(strstr(lines, needed) != NULL, "%s", lines);
	ck_assert_msg(strstr(lines, "fs.inotify.max_user_watches") != NULL, "%s", lines);
}
END_TEST

/* Make the kernel drop events until the loop has read the others. */
static void overflow(void)
{
	FILE *limit = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
	int events = 0;

	ck_assert_ptr_nonnull(limit);
	ck_assert_int_eq(fscanf(limit, "%d", &events), 1);
	fclose(limit);
	for (int i = 0; i <= events; i++) { /* of one file they would be one event */
		int fd = open(in_folder(i % 2 ? "a.py" : "b.py"), O_WRONLY | O_CREAT, 0600);
		ck_assert_int_ge(fd, 0);
		close(fd);
	}
}

START_TEST(nothing_is_missed_after_an_overflow)
{
	make_folder("gone");
	make_folder("lib");
	open_watch(folder);
	overflow();
	make_folder("late");
	move("gone", "late/moved");
	expect_report("b.py");
	ck_assert(had_others);
	write_file("late/c.py");
	expect_report("late/c.py");
	write_file("late/moved/d.py");
	expect_report("late/moved/d.py");
	write_file("lib/e.py");
	expect_report("lib/e.py");
	write_file("a.py");
	expect_report("a.py");
}
END_TEST

/* That of the given path, too, is watched again. */
START_TEST(a_single_file_is_watched_after_an_overflow)
{
	write_file("a.py");
	open_watch(in_folder("a.py"));
	overflow();
	expect_report("a.py");
	write_file("b.py");
	write_file("new.py");
	move("new.py", "a.py");
	expect_report("a.py");
	ck_assert(!had_others);
}
END_TEST

static Suite *source_watch_suite(void)
{
	Suite *suite = suite_create("source_watch");
	TCase *files = tcase_create("files");

	UNIT_CASE(suite, "decisions", sources_are_told_from_what_lies_beside_them,
		code_is_told_from_what_workers_write, a_burst_ends_when_it_is_quiet_or_lasts_long);
	tcase_add_checked_fixture(files, set_up, tear_down);
	tcase_add_test(files, every_way_to_save_is_noticed);
	tcase_add_test(files, what_workers_write_is_no_change);
	tcase_add_test(files, program_is_a_change_when_it_can_be_executed);
	tcase_add_test(files, file_that_is_still_there_is_named);
	tcase_add_test(files, a_burst_is_one_report);
	tcase_add_test(files, folders_may_come_move_and_go);
	tcase_add_test(files, a_single_file_is_watched);
	tcase_add_test(files, a_watched_folder_may_be_replaced);
	tcase_add_test(files, a_missing_path_is_refused);
	tcase_add_test(files, a_lack_of_watches_is_named);
	tcase_add_test(files, nothing_is_missed_after_an_overflow);
	tcase_add_test(files, a_single_file_is_watched_after_an_overflow);
	suite_add_tcase(suite, files);
	return suite;
}

UNIT_MAIN(source_watch_suite)
