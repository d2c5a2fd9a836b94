#!/usr/bin/env node
/* The sums and rates of the page while pools leave, come, and have one name or one queue. */
"use strict";

const assert = require("node:assert/strict");
const {load, run} = require("./support/page.js");

const {History, asAged, byName, sumOfQueues} = load(["figures.js", "sums.js", "history.js"],
	["History", "asAged", "byName", "sumOfQueues"]);

function pool(serial, done, more = {}) {
	return {name: "one", serial, totals: {deliveries: done, done, retried: 0},
		task_time: {buckets: done ? [[0.001, 0.002, done]] : []}, ...more};
}

/* The samples of `done` after an answer with those pools in each second. */
function ratesOf(...answers) {
	const history = new History();

	answers.forEach((pools, t) => history.take(t, pools));
	return history.samples.slice(1).map(({done}) => done);
}

run({
	"each name is found once, with the latest first": () => {
		const groups = byName([pool(2, 0), pool(7, 0), {name: "other", serial: 3}, pool(5, 0)], "name");

		assert.deepEqual([...groups.keys()], ["one", "other"]);
		assert.deepEqual(groups.get("one").map(({serial}) => serial), [7, 5, 2]);
	},
	"rates go on while a pool replaces another": () => {
		assert.deepEqual(ratesOf([pool(1, 1000)], [pool(1, 1010)], [pool(1, 1015), pool(2, 5)], [pool(1, 1015), pool(2, 15)],
			[pool(2, 25)], [pool(2, 35)]), [10, 10, 10, 10, 10]);
	},
	"the rate of the last seconds goes on, too": () => {
		const history = new History();

		history.take(0, [pool(1, 1000)]);
		history.take(1, [pool(1, 1010), pool(2, 0)]);
		history.take(2, [pool(2, 10)]);
		assert.equal(history.rate("done"), 10);
	},
	"the times go on": () => {
		const history = new History();

		history.take(0, [pool(1, 1000)]);
		history.take(1, [pool(1, 1000), pool(2, 0)]);
		history.take(2, [pool(2, 10)]);
		assert.ok(history.latest("p50") > 0.001);
	},
	"a pool that has started again counts from 0": () => {
		assert.deepEqual(ratesOf([pool(1, 1000)], [pool(1, 4)], [pool(1, 9)]), [0, 5]);
	},
	"another supervisor starts again": () => {
		const history = new History();

		history.take(0, [pool(1, 1000)]);
		history.forget();
		history.take(1, [pool(1, 7)]);
		history.take(2, [pool(1, 9)]);
		assert.equal(history.latest("done"), 2);
		assert.equal(history.samples.filter(({done}) => done > 2).length, 0);
	},
	"a figure that is not of the last second has its age": () => {
		assert.equal(asAged(1234, 0.9), "1,234");
		assert.equal(asAged(1234, 4.4), "1,234 (4 s)");
		assert.equal(asAged(1234, 120), "1,234 (old)");
		assert.equal(asAged(1234, null), "1,234");
		assert.equal(asAged(null, 4), "–");
	},
	"a queue is counted once, as it was read last": () => {
		const of = (queue, backlog, age) => ({queue, tasks: {backlog, backlog_age_s: age}});

		assert.deepEqual(sumOfQueues([of("a", 5, 3), of("a", 7, 1), of("a", 6, 2), of("b", 100, 0), of("c", null, null)],
			"queue", "tasks.backlog"), {sum: 107, age: 1});
	},
});
