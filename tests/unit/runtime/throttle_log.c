/* The starts of a throttle outlive its process: killed at any point, damaged, locked, on a full
 * disk, over boots. Times are made up; the files are real. */
#include "runtime/throttles/throttle_log.h"
#include "base/log.h"
#include "runtime/throttles/throttle_file.h"
#include "unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define BOOT   (1000000 * MTIME_SECOND) /* in the time of throttles */
#define PERIOD (20 * MTIME_SECOND)
#define KEYS   3

static char folder_path[] = "/tmp/wpool-unit-XXXXXX";
static struct throttle_log_place place;
static struct throttle *throttle;
static struct throttle_log *throttle_log; /* NULL: no process is there */
static struct throttle_figures figures;
static mtime now;
static int said;

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder_path));
	place = (struct throttle_log_place){.folder = open(folder_path, O_RDONLY | O_DIRECTORY),
		.path = folder_path,
		.name = "erp",
		.boot_began = BOOT};
	ck_assert_int_ge(place.folder, 0);
	figures = (struct throttle_figures){.limit = 3, .period = PERIOD, .max_keys = 100};
	now = BOOT + 500 * MTIME_SECOND;
	said = memfd_create("log", MFD_CLOEXEC);
	log_setup(said, LOG_INFO, LOG_TEXT, false);
	srandom(20);
}

static void tear_down(void)
{
	DIR *folder = opendir(folder_path);
	const struct dirent *entry;
	throttle_log_close(throttle_log);
	throttle_free(throttle);
	while ((entry = readdir(folder)))
		unlinkat(place.folder, entry->d_name, 0);
	closedir(folder);
	close(place.folder);
	rmdir(folder_path);
	log_setup(2, LOG_INFO, LOG_TEXT, false);
	close(said);
}

static bool has_logged(const char *text)
{
	static char lines[16 * 1024];
	ssize_t len = pread(said, lines, sizeof lines - 1, 0);
	ck_assert_int_ge(len, 0);
	lines[len] = '\0';
	return strstr(lines, text);
}

static bool has_file(const char *name)
{
	return faccessat(place.folder, name, F_OK, 0) == 0;
}

/* ---------- the process ---------- */

static enum throttle_past start_process(void)
{
	enum throttle_past past;
	throttle_log = throttle_log_open(&place, now, &past);
	ck_assert_ptr_nonnull(throttle_log);
	bool is_known = past == THROTTLE_PAST_KNOWN;
	throttle = throttle_new(&figures, is_known ? throttle_log_seed(throttle_log) : 77);
	ck_assert_ptr_nonnull(throttle);
	if (is_known) {
		throttle_log_restore(throttle_log, throttle, now);
		return past;
	}
	mtime before = past == THROTTLE_PAST_DAMAGED ? now : now - PERIOD;
	throttle_missed(throttle, before);
	throttle_log_begin(throttle_log, throttle, before, now);
	return past;
}

static void end_process(void)
{
	throttle_log_close(throttle_log);
	throttle_free(throttle);
	throttle_log = NULL;
	throttle = NULL;
}

/* Its files stay as they are now, whatever an orderly end would write. */
static void kill_process(void)
{
	static uint8_t bytes[2][1024 * 1024];
	ssize_t lens[2];
	const char *const names[] = {"throttle-erp.0", "throttle-erp.1"};
	for (int i = 0; i < 2; i++) {
		int fd = openat(place.folder, names[i], O_RDONLY);
		lens[i] = read(fd, bytes[i], sizeof bytes[i]);
		ck_assert(lens[i] >= 0 && lens[i] < (ssize_t)sizeof bytes[i]);
		close(fd);
	}
	end_process();
	for (int i = 0; i < 2; i++) {
		int fd = openat(place.folder, names[i], O_WRONLY | O_TRUNC);
		ck_assert_int_eq(write(fd, bytes[i], (size_t)lens[i]), lens[i]);
		close(fd);
	}
}

static uint64_t key_of(int key)
{
	static const char *const names[KEYS] = {"", "a", "b"};
	return key == 0 ? THROTTLE_NO_KEY : throttle_key(throttle, text_from(names[key]));
}

/* Begin as many tasks as the limit lets, up to count. Return how many. */
static int charge(int key, int count)
{
	struct window *window = NULL;
	int charged = 0;
	while (charged < count && throttle_ask(throttle, key_of(key), now, &window) <= now) {
		throttle_charge(throttle, window, now);
		charged++;
	}
	return charged;
}

static void end_turn(void)
{
	throttle_end_turn(throttle, now);
	throttle_log_end_turn(throttle_log, now);
}

/* A turn that starts so many. */
static void turn(int key, int count)
{
	ck_assert_int_eq(charge(key, count), count);
	throttle_log_save(throttle_log, throttle, now);
	end_turn();
}

static mtime wait_of(int key)
{
	struct window *window;
	mtime at = throttle_ask(throttle, key_of(key), now, &window);
	return at > now ? at - now : 0;
}

/* ---------- killed ---------- */

START_TEST(an_orderly_end_costs_nothing)
{
	ck_assert_int_eq(start_process(), THROTTLE_PAST_UNKNOWN);
	turn(0, 2);
	now += MTIME_SECOND;
	turn(0, 1);
	turn(1, 1);
	now += 5 * MTIME_SECOND;
	end_process();
	now += MTIME_SECOND;
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), 13 * MTIME_SECOND);
	ck_assert_int_eq(wait_of(1), 0);
	turn(1, 2);
	ck_assert_int_eq(wait_of(1), 14 * MTIME_SECOND);
	ck_assert_int_eq(wait_of(2), 0);
	ck_assert_uint_eq(throttle_starts(throttle), 2);
}
END_TEST

START_TEST(killed_before_it_writes_the_time_counts_until_the_next_start)
{
	start_process();
	turn(0, 3);
	now += 5 * MTIME_SECOND;
	kill_process();
	now += MTIME_SECOND;
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), PERIOD);
	now += 4 * MTIME_SECOND;
	kill_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), PERIOD - 4 * MTIME_SECOND);
}
END_TEST

START_TEST(one_turn_later_the_time_is_known)
{
	start_process();
	turn(0, 3);
	now += MTIME_SECOND;
	turn(0, 0);
	now += 5 * MTIME_SECOND;
	kill_process();
	start_process();
	ck_assert_int_eq(wait_of(0), PERIOD - 6 * MTIME_SECOND);
}
END_TEST

/* All that was ever written to a worker, and when. */
#define TRUTH_MAX 200000
static mtime truth[KEYS][TRUTH_MAX];
static int truth_count[KEYS];

static void write_to_worker(int key, int count)
{
	uint32_t limit = figures.limit;
	while (count-- > 0) {
		int i = truth_count[key]++;
		ck_assert_int_lt(i, TRUTH_MAX);
		truth[key][i] = now;
		if (i >= (int)limit)
			ck_assert_msg(now - truth[key][i - (int)limit] >= PERIOD,
				"start %d of key %d is one too many", i, key);
	}
}

/* The process may be stopped for a while, and killed, at each point. Return whether it lives. */
static bool passes_point(void)
{
	now += random() % 50 ? 0 : random() % (PERIOD / 4);
	if (random() % 500)
		return true;
	kill_process();
	return false;
}

static void random_turn(void)
{
	int charged[KEYS] = {0};
	for (int key = 0; key < KEYS; key++)
		charged[key] = random() % 2 ? charge(key, (int)(random() % 3)) : 0;
	if (!passes_point())
		return;
	throttle_log_save(throttle_log, throttle, now);
	if (!passes_point())
		return;
	for (int key = 0; key < KEYS; key++)
		write_to_worker(key, charged[key]);
	if (passes_point())
		end_turn();
}

START_TEST(no_start_is_one_too_many_wherever_it_is_killed)
{
	int kills = 0;
	figures.limit = 40;
	for (int i = 0; i < 60000; i++) {
		if (!throttle_log) {
			kills++;
			now += random() % MTIME_SECOND;
			ck_assert_int_eq(start_process(),
				i == 0 ? THROTTLE_PAST_UNKNOWN : THROTTLE_PAST_KNOWN);
		}
		now += random() % (MTIME_SECOND / 2);
		random_turn();
	}
	ck_assert_int_gt(kills, 100);
	for (int key = 0; key < KEYS; key++)
		ck_assert_int_gt(truth_count[key], 10000);
}
END_TEST

/* ---------- two files ---------- */

static off_t size_of(const char *name)
{
	struct stat status;
	return fstatat(place.folder, name, &status, 0) == 0 ? status.st_size : 0;
}

/* A start every so often: a file is left for the other one when it is large enough, or when the
 * other one's starts are out of the window, whatever comes later. */
static const mtime paces[] = {25 * MTIME_MS, 5 * MTIME_MS};

START_TEST(the_files_do_not_grow_for_ever)
{
	mtime pace = paces[_i];
	off_t of_a_period = PERIOD / pace * 2 * THROTTLE_FILE_ENTRY, largest = 0;
	int emptied = 0;
	start_process();
	figures.limit = 10000;
	throttle_configure(throttle, &figures);
	for (int i = 0; i < 40000; i++) {
		off_t before = size_of("throttle-erp.0") + size_of("throttle-erp.1");
		now += pace;
		turn(0, 1);
		off_t after = size_of("throttle-erp.0") + size_of("throttle-erp.1");
		emptied += after < before;
		largest = after > largest ? after : largest;
	}
	ck_assert_int_gt(emptied, 8);
	ck_assert_int_le(largest, 2 * (of_a_period > 65536 ? of_a_period : 65536) + 1000);
	now += MTIME_SECOND;
	end_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	uint64_t starts = 0;
	ck_assert(throttle_in_windows(throttle, now, 1, &starts));
	ck_assert_uint_eq(starts, (PERIOD - MTIME_SECOND) / pace);
}
END_TEST

/* What the files do not have any more may be in a longer window. */
START_TEST(a_longer_period_after_the_start_counts_what_was_left_out)
{
	start_process();
	figures.limit = 1000;
	throttle_configure(throttle, &figures);
	for (int i = 0; i < 6000; i++) {
		now += 25 * MTIME_MS;
		turn(0, 1);
	}
	end_process();
	figures.period = 1000 * MTIME_SECOND;
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	mtime wait = wait_of(1);
	ck_assert_int_gt(wait, 1000 * MTIME_SECOND - 4000 * 25 * MTIME_MS);
	ck_assert_int_lt(wait, 1000 * MTIME_SECOND - PERIOD);
}
END_TEST

START_TEST(each_key_setting_has_files_of_its_own)
{
	start_process();
	turn(0, 3);
	end_process();
	place.key = "header:tenant";
	ck_assert_int_eq(start_process(), THROTTLE_PAST_UNKNOWN);
	ck_assert_int_eq(wait_of(0), 0);
	turn(1, 3);
	end_process();
	place.key = NULL;
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), PERIOD);
	ck_assert_int_eq(wait_of(1), 0);
}
END_TEST

START_TEST(removed_files_are_gone)
{
	start_process();
	turn(0, 3);
	ck_assert(has_file("throttle-erp.0"));
	throttle_log_remove(throttle_log);
	throttle_log = NULL;
	ck_assert(!has_file("throttle-erp.0") && !has_file("throttle-erp.1"));
	throttle_free(throttle);
	ck_assert_int_eq(start_process(), THROTTLE_PAST_UNKNOWN);
}
END_TEST

/* ---------- boots ---------- */

static void write_file(const char *name, struct buf *bytes)
{
	int fd = openat(place.folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert(!bytes->failed);
	ck_assert_int_eq(write(fd, buf_text(bytes).ptr, buf_len(bytes)), (ssize_t)buf_len(bytes));
	close(fd);
}

static void append(struct buf *out, const struct throttle_file_header *header,
	struct throttle_file_entry entry)
{
	throttle_file_append(out, header, buf_len(out), &entry);
}

/* Two starts 7 s before the last one of 97 s, in another boot. */
static const struct throttle_file_header of_another_boot = {
	.generation = 1, .seed = 77, .before = 10 * MTIME_SECOND};

static void put_another_boot(struct buf *bytes)
{
	const struct throttle_file_header *header = &of_another_boot;
	buf_init(bytes, SIZE_MAX);
	throttle_file_append_header(bytes, header);
	append(bytes, header,
		(struct throttle_file_entry){THROTTLE_FILE_BOOT, 0, 4711, 50 * MTIME_SECOND});
	append(bytes, header, (struct throttle_file_entry){THROTTLE_FILE_START, 2, 0, 0});
	append(bytes, header,
		(struct throttle_file_entry){THROTTLE_FILE_WRITTEN, 0, 0, 90 * MTIME_SECOND});
	append(bytes, header, (struct throttle_file_entry){THROTTLE_FILE_START, 1, 0, 0});
	append(bytes, header,
		(struct throttle_file_entry){THROTTLE_FILE_WRITTEN, 0, 0, 97 * MTIME_SECOND});
}

/* How long the machine, which may be another one, has been up says nothing. */
static const mtime uptimes[] = {0, 4 * MTIME_SECOND, 30 * 24 * 60 * MTIME_MINUTE};

START_TEST(starts_of_another_boot_do_not_age_until_now)
{
	struct buf bytes;
	put_another_boot(&bytes);
	write_file("throttle-erp.0", &bytes);
	buf_release(&bytes);
	now = BOOT + uptimes[_i];
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), PERIOD - 7 * MTIME_SECOND);
	ck_assert_int_eq(wait_of(1), 0);
	now += MTIME_SECOND;
	kill_process(); /* and again in this boot */
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), PERIOD - 8 * MTIME_SECOND);
	now += PERIOD - 8 * MTIME_SECOND;
	turn(0, 2);
	end_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(0), 7 * MTIME_SECOND);
}
END_TEST

/* The machine ended before that was recorded: it was at any time until now. */
START_TEST(a_start_at_the_end_of_another_boot_counts_from_now)
{
	struct buf bytes;
	put_another_boot(&bytes);
	append(&bytes, &of_another_boot,
		(struct throttle_file_entry){THROTTLE_FILE_START, 3, 0, 0});
	write_file("throttle-erp.0", &bytes);
	buf_release(&bytes);
	now = BOOT + uptimes[_i];
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
		ck_assert_int_eq(wait_of(0), PERIOD - i * MTIME_SECOND);
		now += MTIME_SECOND;
		kill_process();
	}
}
END_TEST

/* ---------- damaged ---------- */

static void change_byte(const char *name, off_t at)
{
	int fd = openat(place.folder, name, O_RDWR);
	uint8_t byte;
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void expect_one_period(void)
{
	ck_assert_int_eq(start_process(), THROTTLE_PAST_DAMAGED);
	ck_assert_int_eq(wait_of(0), PERIOD);
	ck_assert(has_logged("is damaged"));
	ck_assert(has_file("throttle-erp.0.damaged"));
	now += PERIOD - 5 * MTIME_SECOND;
	end_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(1), 5 * MTIME_SECOND);
}

START_TEST(a_damaged_file_is_put_aside_and_one_period_waited)
{
	start_process();
	turn(0, 1);
	end_process();
	change_byte("throttle-erp.0", 60);
	expect_one_period();
}
END_TEST

/* It was whole when it was opened. */
START_TEST(a_file_that_cannot_be_read_any_more_costs_one_period)
{
	enum throttle_past past;
	start_process();
	turn(0, 1);
	end_process();
	throttle_log = throttle_log_open(&place, now, &past);
	ck_assert_ptr_nonnull(throttle_log);
	ck_assert_int_eq(past, THROTTLE_PAST_KNOWN);
	throttle = throttle_new(&figures, throttle_log_seed(throttle_log));
	ck_assert_ptr_nonnull(throttle);
	int fd = openat(place.folder, "throttle-erp.0", O_WRONLY);
	ck_assert_int_eq(ftruncate(fd, THROTTLE_FILE_HEADER), 0);
	close(fd);
	throttle_log_restore(throttle_log, throttle, now);
	ck_assert_int_eq(wait_of(1), PERIOD);
	ck_assert(has_logged("cannot be read any more"));
}
END_TEST

START_TEST(times_in_the_future_are_damage)
{
	start_process();
	turn(0, 1);
	end_process();
	now -= MTIME_SECOND;
	expect_one_period();
}
END_TEST

START_TEST(files_that_do_not_belong_together_are_damage)
{
	const struct throttle_file_header header = {.generation = 7, .seed = 77};
	struct buf bytes;
	buf_init(&bytes, SIZE_MAX);
	throttle_file_append_header(&bytes, &header);
	append(&bytes, &header, (struct throttle_file_entry){THROTTLE_FILE_BOOT, 0, 4711, 0});
	start_process();
	turn(0, 1);
	end_process();
	write_file("throttle-erp.1", &bytes);
	buf_release(&bytes);
	expect_one_period();
	ck_assert(has_file("throttle-erp.1.damaged"));
}
END_TEST

/* ---------- a file that cannot be used ---------- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(a_full_disk_stops_no_task_and_counts_as_damage)
{
	start_process();
	limit_files(80);
	turn(0, 1);
	limit_files(RLIM_INFINITY);
	ck_assert(has_logged("cannot record its starts"));
	now += MTIME_SECOND;
	turn(0, 1);
	kill_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_DAMAGED);
	ck_assert_int_eq(wait_of(1), PERIOD);
}
END_TEST

START_TEST(once_there_is_space_again_it_is_recorded_again)
{
	start_process();
	limit_files(80);
	turn(0, 1);
	limit_files(RLIM_INFINITY);
	now += 5 * MTIME_SECOND;
	turn(0, 1);
	ck_assert(has_logged("recorded again"));
	now += MTIME_SECOND;
	turn(0, 0);
	kill_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(1), PERIOD - MTIME_SECOND);
}
END_TEST

/* Holds the lock until it is killed. */
static pid_t start_other(void)
{
	int ends[2];
	char byte;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = openat(place.folder, "throttle-erp.0", O_RDWR | O_CREAT, 0600);
		if (flock(fd, LOCK_EX) == 0 && write(ends[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

START_TEST(what_another_process_records_is_left_alone)
{
	start_process();
	turn(0, 3);
	end_process();
	pid_t other = start_other();
	off_t size = size_of("throttle-erp.0");
	ck_assert_int_eq(start_process(), THROTTLE_PAST_UNKNOWN);
	ck_assert(has_logged("another supervisor"));
	turn(0, 1);
	now += 5 * MTIME_SECOND;
	turn(0, 1);
	ck_assert_int_eq(size_of("throttle-erp.0"), size);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	now += 5 * MTIME_SECOND;
	turn(0, 1);
	ck_assert(has_logged("recorded again"));
	end_process();
	ck_assert_int_eq(start_process(), THROTTLE_PAST_KNOWN);
	ck_assert_int_eq(wait_of(1), PERIOD);
}
END_TEST

START_TEST(what_is_no_file_is_left_alone)
{
	ck_assert_int_eq(mkdirat(place.folder, "throttle-erp.0", 0700), 0);
	ck_assert_int_eq(start_process(), THROTTLE_PAST_UNKNOWN);
	ck_assert(has_logged("cannot record its starts"));
	turn(0, 1);
	ck_assert_int_eq(unlinkat(place.folder, "throttle-erp.0", AT_REMOVEDIR), 0);
}
END_TEST

static Suite *throttle_log_suite(void)
{
	const TTest *const tests[] = {an_orderly_end_costs_nothing,
		killed_before_it_writes_the_time_counts_until_the_next_start,
		one_turn_later_the_time_is_known, no_start_is_one_too_many_wherever_it_is_killed,
		a_longer_period_after_the_start_counts_what_was_left_out,
		each_key_setting_has_files_of_its_own, removed_files_are_gone,
		a_damaged_file_is_put_aside_and_one_period_waited,
		a_file_that_cannot_be_read_any_more_costs_one_period,
		times_in_the_future_are_damage, files_that_do_not_belong_together_are_damage,
		a_full_disk_stops_no_task_and_counts_as_damage,
		once_there_is_space_again_it_is_recorded_again,
		what_another_process_records_is_left_alone, what_is_no_file_is_left_alone};
	Suite *suite = suite_create("runtime/throttle_log");
	TCase *tcase = tcase_create("files");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tcase_add_test(tcase, tests[i]);
	tcase_add_loop_test(
		tcase, the_files_do_not_grow_for_ever, 0, (int)(sizeof paces / sizeof *paces));
	tcase_add_loop_test(tcase, starts_of_another_boot_do_not_age_until_now, 0,
		(int)(sizeof uptimes / sizeof *uptimes));
	tcase_add_loop_test(tcase, a_start_at_the_end_of_another_boot_counts_from_now, 0,
		(int)(sizeof uptimes / sizeof *uptimes));
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}

UNIT_MAIN(throttle_log_suite)
