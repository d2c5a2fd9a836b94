#!/usr/bin/env node
/* What the supervisor kept, among what the page has seen itself. */
"use strict";

const assert = require("node:assert/strict");
const {load, run} = require("./support/page.js");

const {History} = load(["figures.js", "sums.js", "history.js"], ["History"]);

function pool(done) {
	return {name: "one", serial: 1, totals: {deliveries: done, done, retried: 0}, task_time: {buckets: []}};
}

/* An entry of GET /v1/history: so many done in each of the last seconds. */
function kept(age_s, ...done) {
	return {age_s, kept: done.length, seconds: done.map((count, i) => [done.length - 1 - i, 0, count, 0, null, null, null])};
}

function linesOf(history) {
	return history.samples.map(({t, done}) => [t, done]);
}

run({
	"it goes before what was seen, without a gap": () => {
		const history = new History();

		history.take(100, [pool(10)]);
		history.seed(kept(0.5, 3, 4), 100);
		history.take(101, [pool(15)]);
		assert.deepEqual(linesOf(history), [[98.5, 3], [99.5, 4], [101, 5]]);
	},
	"what was seen meanwhile stays": () => {
		const history = new History();

		history.take(100, [pool(10)]);
		history.take(101, [pool(15)]);
		history.take(102, [pool(21)]);
		history.seed(kept(0.5, 3, 4), 100);
		assert.deepEqual(linesOf(history), [[98.5, 3], [99.5, 4], [101, 5], [102, 6]]);
	},
	"it fills a gap": () => {
		const history = new History();

		history.take(100, [pool(10)]);
		history.take(101, [pool(15)]);
		history.take(111, [pool(40)]);
		history.seed(kept(0, 2, 2, 2), 111);
		history.take(112, [pool(41)]);
		assert.deepEqual(linesOf(history).slice(1), [[101, 5], [109, 2], [110, 2], [111, 2], [112, 1]]);
	},
	"without it there is a gap": () => {
		const history = new History();

		history.take(100, [pool(10)]);
		history.seed({age_s: null, kept: 0, seconds: []}, 100);
		history.take(101, [pool(15)]);
		assert.deepEqual(linesOf(history), [[100, undefined], [101, 5]]);
	},
});
