/* A strict reader of Prometheus' text format 0.0.4: what a lenient scraper accepts fails the
 * test, with its line. */
#ifndef HARNESS_EXPOSITION_H
#define HARNESS_EXPOSITION_H

/* Check that names, labels and values are well-formed; that each family has HELP and TYPE once,
 * before its samples, and its samples together; that no series appears twice; that counters end
 * in _total; that histograms rise and add up to their count. */
void exposition_check(const char *text);
/* The value of a series, given as it is written ("wpool_ready", "x{pool=\"a\"}"); fails the test
 * if there is none. */
double exposition_value(const char *text, const char *series);

#endif
