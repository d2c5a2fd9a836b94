/* Parts of the page at / as functions, and checks of them that tools/run-checks counts. */
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const FOLDER = path.join(__dirname, "../../../supervisor/control/page");

/* What those files of the page declare with these names. They use no document when they are loaded. */
function load(files, names) {
	const source = files.map((file) => fs.readFileSync(path.join(FOLDER, file), "utf8")).join("\n");

	return vm.runInThisContext(`(() => {${source}\nreturn {${names.join(", ")}}; })()`, "page");
}

/* checks: {"what it shows": function that throws}. */
function run(checks) {
	let failures = 0;

	for (const [name, check] of Object.entries(checks)) {
		try {
			check();
		} catch (failure) {
			failures++;
			console.log(`${name}: ${failure.stack}`);
		}
	}
	const count = Object.keys(checks).length;
	console.log(`${Math.floor(100 * (count - failures) / count)}%: Checks: ${count}, Failures: ${failures}, Errors: 0`);
	process.exitCode = failures ? 1 : 0;
}

module.exports = {load, run};
