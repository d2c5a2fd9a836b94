/* Ask the supervisor once a second, and show its state, or since when there is no answer. */

const EVERY_MS = 1000;
const TIMEOUT_MS = 5000;
const SEED_MS = 15000;   /* of many pools it is long */
const SEED_AGAIN_S = 60; /* after a failure */

/* The characters of utf8_is_control (base/utf8.h), as `wpool status` shows them: all but tab. */
const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escaped(key, value) {
	return typeof value !== "string" ? value : value.replace(CONTROLS, (character) => {
		const code = character.charCodeAt(0).toString(16);
		if (character === "\n" || character === "\r")
			return character === "\n" ? "\\n" : "\\r";
		return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : `\\u${code.padStart(4, "0")}`;
	});
}

/* Relative, so that the page also works below a path of a proxy. */
async function ask(path, limit = TIMEOUT_MS) {
	const answer = await fetch(path, {headers: operator.headers(), cache: "no-store",
		signal: AbortSignal.timeout(limit)});

	if (!answer.ok)
		throw new Error(`${path}: ${answer.status}`);
	return JSON.parse(await answer.text(), escaped);
}

/* Call again a second after the last call began, and never before it has ended. A failed call is repeated. */
function repeat(call) {
	const repeating = {isOver: false, end() { this.isOver = true; }};

	async function turn() {
		const begun = performance.now();
		try {
			await call();
		} catch {
			/* Watch shows it */
		}
		if (!repeating.isOver)
			setTimeout(turn, Math.max(0, EVERY_MS - (performance.now() - begun)));
	}
	turn();
	return repeating;
}

/* ---- the state of the supervisor ---- */

/* [title, figure, small text behind it, whether it needs attention] */
function figuresOf(pools, history) {
	const wanted = sumUp(pools, "workers.wanted");
	const ready = sumUp(pools, "workers.ready");
	const backlog = sumOfQueues(pools, "queue", "tasks.backlog");
	const dead = sumOfQueues(pools, "dead_letter_queue", "tasks.dead_letters");

	return [
		["Incoming", asRate(history.rate("in")), "per second"],
		["Done", asRate(history.rate("done")), "per second"],
		["Workers ready", asNumber(ready), `of ${asNumber(wanted)}`, ready < wanted],
		["Workers busy", asNumber(sumUp(pools, "workers.busy")), ready ? `of ${asNumber(ready)}` : ""],
		["In the queues", asNumber(backlog.sum), asAge(backlog.age) && `(${asAge(backlog.age)})`],
		["Waiting for a worker", asNumber(sumUp(pools, "tasks.waiting")), ""],
		["Retried", asNumber(sumUp(pools, "totals.retried")), "in all"],
		["Dead letters", asNumber(dead.sum), asAge(dead.age) ? `(${asAge(dead.age)})` : "now", dead.sum > 0],
	];
}

class Figures {
	constructor(list) {
		this.list = list;
	}

	show(figures) {
		figures.forEach(([title, figure, unit, isWarning], i) => {
			const box = this.list.children[i] ?? this.list.appendChild(make("div", {"data-of": title},
				make("dt", {}, title), make("dd", {}, make("span"), make("small"))));
			setText(box.lastChild.firstChild, figure);
			setText(box.lastChild.lastChild, unit);
			set(box, {class: isWarning ? "is-warn" : null});
		});
	}
}

function verdictOf(status) {
	const reasons = status.reasons?.length ?? 0;
	const warnings = status.warnings?.length ?? 0;

	if (status.ready)
		return warnings > 0 ? `Ready, with ${asCount(warnings, "warning")}` : "Ready";
	if (status.phase !== "serving")
		return `Not ready: ${status.phase}`;
	return reasons > 1 ? `Not ready, for ${reasons} reasons` : "Not ready";
}

function styleOf(status) {
	if (!status.ready)
		return "is-bad";
	return status.warnings?.length > 0 ? "is-warn" : "is-good";
}

const LINK_COLUMNS = [
	["State", "text", (link) => link.state],
	["Reconnects", "", (link) => asNumber(link.reconnects)],
	["Last failure", "text wide", (link) => link.last_failure ?? "none"],
];

const PROCESS = [
	["Version", (status) => String(status.version)],
	["Process", (status) => `pid ${status.pid}, ${status.phase} for ${asSpan(status.uptime_s)}`],
	["Memory", (status) => asSize(member(status, "process.memory_bytes"))],
	["Longest turn of its loop", (status) => asSpan(member(status, "longest_turn.total_s"))],
	["Log lines lost", (status) => asNumber(status.log_lines_lost)],
];

class Supervisor {
	constructor(table, list) {
		const body = addHead(table, "Connection", LINK_COLUMNS);

		this.links = ["consume", "publish"].map((name) => {
			const row = body.appendChild(make("tr", {role: "row", "data-link": name},
				make("th", {scope: "row", role: "rowheader", class: "text"}, name)));
			return {name, row, state: make("span"), cells: addCells(row, LINK_COLUMNS)};
		});
		this.facts = PROCESS.map(([title]) => {
			const fact = make("dd");
			list.append(make("dt", {}, title), fact);
			return fact;
		});
	}

	show(status) {
		const isBlocked = member(status, "connections.publishes_blocked");

		for (const {name, row, state, cells} of this.links) {
			const link = member(status, `connections.${name}`) ?? {};
			const isHeld = link.up && isBlocked && name === "publish";
			setState(state, !link.up ? "not connected" : isHeld ? "blocked by an alarm of the broker" : "connected",
				!link.up ? "is-bad" : isHeld ? "is-warn" : "");
			set(row, {class: link.up ? null : "is-bad"});
			LINK_COLUMNS.forEach(([, , of], i) => setCell(cells[i], of({...link, state})));
		}
		PROCESS.forEach(([, of], i) => setText(this.facts[i], of(status)));
	}
}

class Watch {
	constructor() {
		this.figures = new Figures(byId("figures"));
		this.pools = new Pools(byId("pools-table"));
		this.supervisor = new Supervisor(byId("links"), byId("process"));
		this.history = new History();
		this.plots = [new Plot(RATES), new Plot(TIMES)];
		byId("plots").append(...this.plots.map((plot) => plot.node));
		setText(byId("host"), location.host);
	}

	async refresh() {
		try {
			const {status, pools} = await ask("v1/pools?status=true");
			this.take(status, pools, performance.now() / 1000);
		} catch {
			this.showNoAnswer();
		}
	}

	/* When the page is opened, and after a gap. Nothing waits for it, and without it there is only what the page sees. */
	async seed(now) {
		this.seedAt = Infinity;
		try {
			const {history} = await ask("v1/history", SEED_MS);
			for (const [name, [latest]] of byName(history, "pool"))
				(name === null ? this.history : this.pools.rows.get(name)?.history)?.seed(latest, now);
		} catch {
			this.seedAt = Math.min(this.seedAt, now + SEED_AGAIN_S);
		}
	}

	take(status, pools, now) {
		const isFirst = !this.status;

		if (!(now - this.takenAt <= GAP_S))
			this.seedAt = now;
		this.takenAt = now;
		if (!isFirst && this.status.pid !== status.pid) {
			this.history.forget();
			this.pools.forget();
		}
		this.status = status;
		operator.take(status.access);
		this.answeredAt = new Date();
		this.history.take(now, pools);
		this.showVerdict(verdictOf(status), styleOf(status), [...status.reasons ?? [], ...status.warnings ?? []]);
		setText(byId("answered"), `${asCount(byName(pools, "name").size, "pool")}, as of ${asTime(this.answeredAt)}`);
		this.figures.show(figuresOf(pools, this.history));
		for (const plot of this.plots)
			plot.show(this.history, now);
		this.pools.take(pools, now);
		this.supervisor.show(status);
		document.querySelector("main").hidden = false;
		if (isFirst)
			this.pools.openIfAlone();
		if (now >= this.seedAt)
			this.seed(now);
	}

	showNoAnswer() {
		this.lostAt ??= this.answeredAt ?? new Date();
		const gone = Math.round((Date.now() - this.lostAt) / 1000);

		this.showVerdict(`No answer since ${asTime(this.lostAt)}`, "is-lost", []);
		setText(byId("answered"), `for ${asSpan(gone)}: the supervisor has ended, hangs, or cannot be reached; ` +
			(this.status ? "the figures below are from then" : "a request is sent every second"));
	}

	/* Screen readers read the verdict out when it changes, so it contains nothing that changes each second. */
	showVerdict(text, style, reasons) {
		const list = byId("reasons");

		if (style !== "is-lost")
			this.lostAt = null;
		setText(byId("verdict"), text);
		document.body.className = style;
		document.title = `${text} – wpool ${location.host}`;
		while (list.children.length > reasons.length)
			list.lastChild.remove();
		reasons.forEach((reason, i) => setText(list.children[i] ?? list.appendChild(make("li")), reason));
	}
}

const watch = new Watch();

repeat(() => watch.refresh());
