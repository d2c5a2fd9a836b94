/* A strict reader of Prometheus' text format 0.0.4, for tests: what a lenient scraper would let
 * pass fails the test, with its line. */
#ifndef HARNESS_EXPOSITION_H
#define HARNESS_EXPOSITION_H

/* Names, labels and values are well-formed; each family has its HELP and TYPE before its samples,
 * once, and its samples together; no series is there twice; counters are named so; histograms rise
 * and come to their count. */
void exposition_check(const char *text);
/* The value of a series, written as it stands there ("wpool_ready", "x{pool=\"a\"}"); fails the
 * test where there is none. */
double exposition_value(const char *text, const char *series);

#endif
