/* Bank accounts. The key of the task's session is the account, and the body is one of its payments:
 *   {"Number": 3, "Amount": -150}
 * The payments of an account have the numbers 1, 2, 3... A payment that would make the balance
 * negative is declined, so the order matters. The reply is {"Balance": b, "Declined": false}.
 * No lock is needed: wpool never runs two payments of an account at once, in whichever worker. And
 * one number is enough to find repeats, because they come in order: a payment up to the last number
 * has been made before. The accounts are files in the folder that BANK names, so that all workers
 * share them. A payment out of order is refused and shows that the order was broken. BANK_MS: how
 * many milliseconds a payment takes, for a demonstration. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wpool/worker.h>

#define NAME_MAX_LEN  64
#define AMOUNT_MAX    1000000000000
#define NOT_A_PAYMENT 400
#define OUT_OF_RANGE  422
#define OUT_OF_ORDER  409
#define NO_STORE      503

struct account {
	char path[4096];
	long long number; /* of the last payment */
	long long balance;
};

struct payment {
	long long number;
	long long amount;
};

static bool read_payment(struct wpool_text body, struct payment *ret_payment)
{
	json_t *json = json_loadb(body.data, body.len, 0, NULL);
	json_int_t number, amount;
	bool is_good =
		json && json_unpack(json, "{s:I, s:I}", "Number", &number, "Amount", &amount) == 0;
	if (is_good)
		*ret_payment = (struct payment){number, amount};
	json_decref(json);
	return is_good;
}

static bool is_in_range(const struct payment *payment)
{
	return payment->number >= 1 && payment->amount >= -AMOUNT_MAX &&
	       payment->amount <= AMOUNT_MAX;
}

/* The name becomes that of a file. */
static bool is_name(struct wpool_text name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	return name.len > 0 && name.len <= NAME_MAX_LEN && strspn(name.data, letters) == name.len;
}

/* An account without a file is new. False: it cannot be read. */
static bool open_account(struct account *account, const char *folder, const char *name)
{
	int len = snprintf(account->path, sizeof account->path, "%s/%s", folder, name);
	FILE *file;
	bool is_good;
	account->number = account->balance = 0;
	if (len < 0 || (size_t)len >= sizeof account->path)
		return false;
	file = fopen(account->path, "re");
	if (!file)
		return errno == ENOENT;
	is_good = fscanf(file, "%lld %lld", &account->number, &account->balance) == 2;
	fclose(file);
	return is_good;
}

/* The new file replaces the old one as a whole, so that a worker can be killed at any time. */
static bool save_account(const struct account *account)
{
	char path[sizeof account->path + 8];
	bool is_written;
	FILE *file;
	snprintf(path, sizeof path, "%s.new", account->path);
	file = fopen(path, "we");
	if (!file)
		return false;
	is_written = fprintf(file, "%lld %lld\n", account->number, account->balance) > 0;
	is_written &= fclose(file) == 0;
	return is_written && rename(path, account->path) == 0;
}

static void answer(struct wpool_task *task, const struct account *account, bool is_declined)
{
	char reply[96];
	int len = snprintf(reply, sizeof reply, "{\"Balance\": %lld, \"Declined\": %s}",
		account->balance, is_declined ? "true" : "false");
	wpool_reply(task, reply, (size_t)len);
}

/* A payment of the same account in this time would be lost. */
static void take_time(void)
{
	const char *given = getenv("BANK_MS");
	usleep(given ? (useconds_t)atoi(given) * 1000 : 0);
}

static void pay(struct wpool_task *task, struct account *account, const struct payment *payment)
{
	bool is_declined = payment->amount < 0 && account->balance + payment->amount < 0;
	if (payment->number <= account->number) {
		answer(task, account, false);
		return;
	}
	if (payment->number > account->number + 1) {
		fprintf(stderr, "payment %lld comes before payment %lld\n", payment->number,
			account->number + 1);
		wpool_reject(task, OUT_OF_ORDER);
		return;
	}
	take_time();
	account->number = payment->number;
	if (!is_declined)
		account->balance += payment->amount;
	if (!save_account(account)) {
		perror(account->path);
		wpool_fail(task, NO_STORE);
		return;
	}
	answer(task, account, is_declined);
}

static void handle(struct wpool_task *task, void *context)
{
	const char *folder = context;
	struct wpool_text name = wpool_task_session(task);
	struct payment payment;
	struct account account;
	if (!read_payment(wpool_task_body(task), &payment)) {
		wpool_reject(task, NOT_A_PAYMENT);
	} else if (!is_name(name) || !is_in_range(&payment)) {
		wpool_reject(task, OUT_OF_RANGE);
	} else if (!open_account(&account, folder, name.data)) {
		perror(account.path);
		wpool_fail(task, NO_STORE);
	} else {
		pay(task, &account, &payment);
	}
}

int main(void)
{
	const char *given = getenv("BANK");
	const char *folder = given && *given ? given : "bank";
	if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
		perror(folder);
		return 1;
	}
	return wpool_worker_run(handle, (void *)folder);
}
