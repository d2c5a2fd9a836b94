/* Plays a corpus without libFuzzer: PROGRAM [FILE|FOLDER...]; without one, the target's folder in
 * the tree, seen from the top folder. Its last line is that of a check program, for
 * tools/run-checks; what it printed last names the file that failed. */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define CORPUS "tests/fuzz/corpus/"

static int played;

static void stop(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static void play_file(const char *name)
{
	struct stat facts;
	FILE *file = fopen(name, "rb");
	if (!file || fstat(fileno(file), &facts) < 0)
		stop(name);
	size_t size = (size_t)facts.st_size;
	uint8_t *data = malloc(size > 0 ? size : 1);
	if (!data || fread(data, 1, size, file) != size)
		stop(name);
	fclose(file);
	printf("%s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	played++;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void play(const char *name)
{
	struct stat facts;
	struct dirent **entries;
	char path[4096];
	if (stat(name, &facts) < 0)
		stop(name);
	if (!S_ISDIR(facts.st_mode)) {
		play_file(name);
		return;
	}
	int count = scandir(name, &entries, is_shown, alphasort);
	if (count < 0)
		stop(name);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "%s/%s", name, entries[i]->d_name);
		play_file(path);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	char folder[4096];
	const char *slash = strrchr(argv[0], '/');
	snprintf(folder, sizeof folder, CORPUS "%s", slash ? slash + 1 : argv[0]);
	if (argc < 2)
		play(folder);
	for (int i = 1; i < argc; i++)
		play(argv[i]);
	if (played == 0) {
		fprintf(stderr, "%s: no file to play\n", argc < 2 ? folder : argv[1]);
		return EXIT_FAILURE;
	}
	printf("100%%: Checks: %d, Failures: 0, Errors: 0\n", played);
	return EXIT_SUCCESS;
}
