/* The table of pools. An open pool shows its plots and its workers, which are requested only then. */

/* [title, class, text for a pool, path of the figure in GET /v1/pools] */
const POOL_COLUMNS = [
	["State", "text", (pool, shown) => shown.state, "state"],
	["Ready", "", (pool) => `${asNumber(member(pool, "workers.ready"))}/${asNumber(member(pool, "workers.wanted"))}`,
		"workers.ready"],
	["Busy", "", (pool) => asNumber(member(pool, "workers.busy")), "workers.busy"],
	["In/s", "", (pool, shown) => asRate(shown.history.rate("in")), ""],
	["Done/s", "", (pool, shown) => asRate(shown.history.rate("done")), ""],
	["Done, lately", "wide", (pool, shown) => shown.spark.node, ""],
	["Median", "", (pool) => asSpan(member(pool, "task_time.p50_s")), "task_time.p50_s"],
	["99 %", "", (pool) => asSpan(member(pool, "task_time.p99_s")), "task_time.p99_s"],
	["In queue", "", (pool) => asAged(member(pool, "tasks.backlog"), member(pool, "tasks.backlog_age_s")), "tasks.backlog"],
	["Waiting", "", (pool) => asNumber(member(pool, "tasks.waiting")), "tasks.waiting"],
	["Open tasks", "", (pool) => `${asNumber(member(pool, "tasks.open"))}/${asNumber(member(pool, "tasks.places"))}`,
		"tasks.open"],
	["Done", "", (pool) => asNumber(member(pool, "totals.done")), "totals.done"],
	["Retried", "", (pool) => asNumber(member(pool, "totals.retried")), "totals.retried"],
	["Given up", "", (pool) => asNumber(member(pool, "totals.given_up")), "totals.given_up"],
	["Dead letters", "", (pool) => asAged(member(pool, "tasks.dead_letters"), member(pool, "tasks.dead_letters_age_s")),
		"tasks.dead_letters"],
	["Later", "", (pool) => asNumber(member(pool, "tasks.later")), "tasks.later"],
	["Last delivery", "", (pool) => member(pool, "last_delivery_age_s") === null ? "never" :
		`${asSpan(member(pool, "last_delivery_age_s"))} ago`, "last_delivery_age_s"],
];

const WORKER_COLUMNS = [
	["State", "text", (worker, shown) => shown.state],
	["Pid", "", (worker) => String(member(worker, "process.pid") ?? NOTHING)],
	["Answered", "", (worker) => asNumber(worker.tasks_answered)],
	["Open tasks", "", (worker) => asNumber(worker.tasks_open)],
	["In its pipe", "", (worker) => asNumber(worker.tasks_in_pipe)],
	["Memory", "", (worker) => asSize(member(worker, "process.memory_bytes"))],
	["CPU", "", (worker, shown) => shown.cpu(worker)],
	["Age", "", (worker) => asSpan(member(worker, "process.age_s"))],
	["Oldest task for", "", (worker) => asSpan(member(worker, "task.for_s"))],
	["Attempt", "", (worker) => asNumber(member(worker, "task.attempt"))],
	["Oldest task, or how the last process ended", "text wide", taskOf],
];

/* The other states need attention. */
const WORKER_LOOKS = {idle: "is-quiet", busy: "", failing: "is-bad", killed: "is-bad"};
const WORKERS_SHOWN = 50;

/* What it reported last (status -1); over TCP only when. */
function progressOf(progress) {
	return progress ? [`${progress.text ? `${progress.text}, ` : "progress "}${asSpan(progress.age_s)} ago`] : [];
}

/* Over TCP a task has no name. */
function taskOf(worker) {
	const parts = [];

	if (worker.task)
		parts.push(worker.task.name ?? "at work", ...progressOf(worker.task.progress));
	else if (worker.last_exit)
		parts.push(`${worker.last_exit.exit}, ${asSpan(worker.last_exit.age_s)} ago`);
	if (typeof worker.next_start_s === "number")
		parts.push(`next start in ${asSpan(worker.next_start_s)}`);
	return parts.join("; ") || NOTHING;
}

/* ---- tables that keep their rows, so that selection and focus stay ---- */

function addHead(table, first, columns) {
	const head = ([title, style]) => make("th", {scope: "col", role: "columnheader", class: style}, title);

	table.append(make("thead", {role: "rowgroup"},
		make("tr", {role: "row"}, ...[[first, "text"], ...columns].map(head))));
	return table.appendChild(make("tbody", {role: "rowgroup"}));
}

function addCells(row, columns) {
	return columns.map(([title, style, , of]) => row.appendChild(make("td",
		{role: "cell", class: style || null, "data-title": title, "data-of": of || null})));
}

/* Text is set; a node is inserted once, and its maker updates it. */
function setCell(cell, content) {
	if (typeof content === "string")
		setText(cell, content);
	else if (cell.firstChild !== content)
		cell.replaceChildren(content);
}

function setState(node, text, style) {
	setText(node, text);
	set(node, {class: `state ${style}`});
}

/* ---- a pool ---- */

function stateOf(pool) {
	if (pool.state === "consuming")
		return pool.consuming ? ["consuming", ""] : ["not consuming", "is-bad"];
	if (pool.state === "standby")
		return ["standby", "is-quiet"];
	return [pool.state, pool.state === "failing" ? "is-bad" : "is-warn"];
}

/* The reasons why it is not ready, then its warnings. replaced: older pools of its name. */
function whyOf(pool, replaced) {
	const why = [...pool.reasons ?? [], ...pool.warnings ?? []];

	if (member(pool, "workers.restarting"))
		why.push("restarting, one by one");
	for (const old of replaced)
		why.push(`it replaces a pool that is ${old.state}, with ${asCount(member(old, "tasks.open"), "open task")}`);
	return why.join("; ");
}

class PoolRow {
	constructor(name, id) {
		this.name = name;
		this.history = new History();
		this.spark = new Spark();
		this.state = make("span");
		this.button = make("button", {type: "button", "aria-expanded": "false", "aria-controls": id}, name);
		this.button.addEventListener("click", () => this.toggle());
		this.row = make("tr", {role: "row", "data-pool": name},
			make("th", {scope: "row", role: "rowheader", class: "text name"}, this.button));
		this.cells = addCells(this.row, POOL_COLUMNS);
		this.why = make("tr", {role: "row", class: "why", "data-why": name, hidden: ""},
			make("td", {role: "cell", colspan: POOL_COLUMNS.length + 1}));
		this.more = make("tr", {role: "row", class: "more", id, hidden: ""},
			make("td", {role: "cell", colspan: POOL_COLUMNS.length + 1}));
		this.inside = null;
	}

	toggle() {
		const isOpen = this.more.hidden;

		set(this.button, {"aria-expanded": isOpen});
		this.more.hidden = !isOpen;
		this.inside?.end();
		this.inside = isOpen ? new PoolInside(this) : null;
		this.more.firstChild.replaceChildren(...isOpen ? [this.inside.node] : []);
	}

	/* pools: those of its name, the latest first. While there are several, the name is as ready as one of them. */
	take(pools, now) {
		const [pool, ...replaced] = pools;
		const [text, style] = stateOf(pool);
		const why = whyOf(pool, replaced);
		const isReady = pools.some(({ready}) => ready);

		this.pool = pool;
		this.history.take(now, pools);
		this.spark.show(this.history, now);
		setState(this.state, text, style);
		POOL_COLUMNS.forEach(([, , of], i) => setCell(this.cells[i], of(pool, this)));
		const tone = style === "is-bad" || !isReady ? "is-bad" : why ? "is-warn" : "";
		setText(this.why.firstChild, why);
		this.why.hidden = !why;
		set(this.why, {class: `why ${tone}`});
		set(this.row, {class: tone || null});
		this.inside?.take(pool, now);
	}

	end() {
		this.inside?.end();
		this.row.remove();
		this.why.remove();
		this.more.remove();
	}
}

/* ---- an open pool ---- */

function reasonsIn(counts) {
	const found = Object.entries(counts ?? {});

	return found.length > 0 ? found.map(([reason, count]) => `${asNumber(count)} ${reason}`).join(", ") : "none";
}

/* A pool that chooses the number itself shows its bounds and its last change. */
function wantedOf({workers}) {
	const parts = [asNumber(workers?.wanted)];

	if (workers?.min < workers?.max)
		parts.push(`of ${asNumber(workers.min)} to ${asNumber(workers.max)}`);
	if (workers?.last_change)
		parts.push(`since ${asSpan(workers.last_change.age_s)} (${workers.last_change.why})`);
	return parts.join(" ");
}

const SESSION_STATES = ["ready", "running", "parked", "blocked", "paused", "waiting", "detached", "held", "idle"];

/* What `of` returns for a pool that has sessions; the others have no such facts. */
function ofSessions(of) {
	return (pool) => pool.sessions ? of(pool) : null;
}

function statesOf({sessions}) {
	const found = SESSION_STATES.filter((state) => sessions[state] > 0);

	return found.length > 0 ? found.map((state) => `${asNumber(sessions[state])} ${state}`).join(", ") : "none";
}

function throttledIn(pool) {
	if (!pool.throttles)
		return null;
	return `${asNumber(member(pool, "tasks.throttled"))}` +
		(pool.throttled_by ? ` for ${pool.throttled_by}` : "");
}

/* null: the pool has no such fact. */
const FACTS = [
	["Queue", (pool) => pool.queue],
	["Program", (pool) => pool.program],
	["Workers wanted", wantedOf],
	["Concurrency", (pool) => asNumber(member(pool, "workers.concurrency"))],
	["Suspects waiting", (pool) => asNumber(member(pool, "tasks.suspects"))],
	["Waiting for a throttle", throttledIn],
	["Unacked", (pool) => asNumber(member(pool, "tasks.unacked"))],
	["Prefetch window", (pool) => asNumber(member(pool, "tasks.window"))],
	["Longest task", (pool) => asSpan(member(pool, "task_time.max_s"))],
	["Median wait for a worker", (pool) => asSpan(member(pool, "queue_wait.p50_s"))],
	["99 %", (pool) => asSpan(member(pool, "queue_wait.p99_s"))],
	["Worker deaths", (pool) => asNumber(member(pool, "totals.worker_deaths"))],
	["Last worker death", (pool) => pool.last_death ?
		`${pool.last_death.exit}${pool.last_death.detail ? ` (${pool.last_death.detail})` : ""}, ` +
		`${asSpan(pool.last_death.age_s)} ago` : "none"],
	["Retried", (pool) => reasonsIn(pool.retried_by_reason)],
	["Given up", (pool) => reasonsIn(pool.given_up_by_reason)],
	["This supervisor", ofSessions((pool) => pool.active ? "is the active one" :
		`stands by${pool.token?.holder ? ` for ${pool.token.holder}` : ""}`)],
	["Sessions", ofSessions(statesOf)],
	["Oldest wait for a turn", ofSessions((pool) => asSpan(pool.sessions.oldest_wait_s))],
	["Of the window cannot run", ofSessions((pool) =>
		`${asNumber(pool.sessions.stuck)} of ${asNumber(member(pool, "tasks.window"))}`)],
	["Turns that used up the quantum", ofSessions((pool) => asNumber(pool.sessions.used_up))],
	["Sessions that ended", ofSessions((pool) => reasonsIn(pool.sessions_ended_by_cause))],
	["Delivered again in place", ofSessions((pool) =>
		`${asNumber(pool.sessions.reattached)}, given up ${asNumber(pool.sessions.given_up)}`)],
	["Channels renewed", ofSessions((pool) => reasonsIn(pool.renewals_by_reason))],
];

class PoolInside {
	constructor(row) {
		this.row = row;
		this.facts = FACTS.map(() => make("dd"));
		this.plots = [new Plot(RATES), new Plot(TIMES)];
		this.caption = make("caption", {}, `Workers of ${row.name}`);
		this.table = make("table", {role: "table"}, this.caption);
		this.body = addHead(this.table, "Slot", WORKER_COLUMNS);
		this.workers = new Map();
		this.rest = make("button", {type: "button", class: "rest", hidden: ""});
		this.rest.addEventListener("click", () => this.showAll());
		this.node = make("div", {},
			make("dl", {class: "facts"}, ...FACTS.map(([title], i) => make("div", {}, make("dt", {}, title), this.facts[i]))),
			make("div", {class: "plots"}, ...this.plots.map((plot) => plot.node)), this.table, this.rest);
		this.asking = repeat(() => this.ask());
		if (row.pool)
			this.take(row.pool, row.history.readings.at(-1).t);
	}

	end() {
		this.asking.end();
	}

	take(pool, now) {
		FACTS.forEach(([, of], i) => {
			const text = of(pool);
			setText(this.facts[i], text ?? "");
			this.facts[i].parentNode.hidden = text === null;
		});
		for (const plot of this.plots)
			plot.show(this.row.history, now);
		this.takeControls(pool);
	}

	/* They are made for operators, and removed when the access ends. */
	takeControls(pool) {
		if (!operator.isAllowed) {
			this.controls?.node.remove();
			this.controls = null;
			return;
		}
		this.controls ??= new PoolControls(this.row.name, () => this.all ?? []);
		if (!this.controls.node.parentNode)
			this.node.prepend(this.controls.node);
		this.controls.take(pool);
	}

	async ask() {
		const answer = await ask(`v1/workers?pool=${encodeURIComponent(this.row.name)}`);

		this.all = answer.workers;
		this.show();
	}

	showAll() {
		this.showsAll = true;
		this.show();
		this.table.querySelector("tbody tr:last-child")?.scrollIntoView({block: "nearest"});
	}

	show() {
		const shown = this.showsAll ? this.all : this.all.slice(0, WORKERS_SHOWN);
		const gone = new Set(this.workers.keys());

		setText(this.caption, `${asCount(this.all.length, "worker")} of ${this.row.name}`);
		for (const worker of shown) {
			gone.delete(worker.slot);
			this.showWorker(worker);
		}
		for (const slot of gone) {
			this.workers.get(slot).row.remove();
			this.workers.delete(slot);
		}
		this.rest.hidden = shown.length === this.all.length;
		setText(this.rest, `Show all ${asNumber(this.all.length)}`);
	}

	showWorker(worker) {
		let shown = this.workers.get(worker.slot);

		if (!shown) {
			shown = new WorkerRow(worker.slot);
			this.workers.set(worker.slot, shown);
			const next = [...this.workers.keys()].filter((slot) => slot > worker.slot);
			this.body.insertBefore(shown.row, next.length > 0 ? this.workers.get(Math.min(...next)).row : null);
		}
		shown.take(worker);
	}
}

class WorkerRow {
	constructor(slot) {
		this.state = make("span");
		this.row = make("tr", {role: "row", "data-slot": slot},
			make("th", {scope: "row", role: "rowheader", class: "text"}, `${slot}`));
		this.cells = addCells(this.row, WORKER_COLUMNS);
	}

	take(worker) {
		setState(this.state, worker.state, WORKER_LOOKS[worker.state] ?? "is-warn");
		WORKER_COLUMNS.forEach(([, , of], i) => setCell(this.cells[i], of(worker, this)));
		this.before = {worker, t: performance.now() / 1000};
	}

	/* Share of one processor since the last answer about the same process. */
	cpu(worker) {
		const then = member(this.before, "worker.process");
		const used = member(worker, "process.cpu_s");

		if (!then || then.pid !== member(worker, "process.pid") || typeof used !== "number")
			return NOTHING;
		return `${Math.round(100 * grown(used, then.cpu_s) / (performance.now() / 1000 - this.before.t))} %`;
	}
}

/* ---- all pools ---- */

class Pools {
	constructor(table) {
		this.rows = new Map();
		this.made = 0;
		this.body = addHead(table, "Pool", POOL_COLUMNS);
	}

	take(pools, now) {
		const gone = new Set(this.rows.keys());
		const groups = byName(pools, "name");

		for (const [name, ofName] of groups) {
			gone.delete(name);
			this.rowOf(name).take(ofName, now);
		}
		for (const name of gone) {
			this.rows.get(name).end();
			this.rows.delete(name);
		}
		this.arrange([...groups.keys()]);
	}

	rowOf(name) {
		if (!this.rows.has(name))
			this.rows.set(name, new PoolRow(name, `pool-${this.made++}`));
		return this.rows.get(name);
	}

	/* In the order of the supervisor. Rows that are in their place are not moved. */
	arrange(names) {
		let at = this.body.firstChild;

		for (const name of names) {
			const {row, why, more} = this.rows.get(name);
			if (at !== row)
				this.body.insertBefore(row, at);
			if (row.nextSibling !== why)
				row.after(why, more);
			at = more.nextSibling;
		}
	}

	forget() {
		for (const row of this.rows.values())
			row.history.forget();
	}

	/* A single pool is opened at once. */
	openIfAlone() {
		if (this.rows.size === 1)
			this.rows.values().next().value.toggle();
	}
}
