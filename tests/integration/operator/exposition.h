/* Prometheus' text format 0.0.4, read strictly: what a scraper might forgive is an error here.
 */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_EXPOSITION_H
#define PW_TESTS_INTEGRATION_OPERATOR_EXPOSITION_H

#include <stddef.h>

/* NULL: well formed; else what is wrong, with its line; the text lives until the next call. Each family has HELP and TYPE, once and
 * before its samples, which stand together; names, labels, escapes and values are as the format says; no series comes twice;
 * counters end in _total; a histogram's buckets rise, end in +Inf and agree with its count. */
const char *exposition_check(const char *text);
/* The value of a series, written as in the text ("name{label=\"x\"}"). Fails the test if there is none. */
double exposition_value(const char *text, const char *series);

#endif
