/* What operators may do: control pools, and handle dead letters. Without their access none of it is in the page. */

const TOKEN = "wpool-token";
const LETTERS_SHOWN = 100;
const LIST_MS = 45000;
const CHANGE_MS = 660000;
const SURE_MS = 5000;

/* The access of this browser (GET /v1/status), and the token by which it has it over TCP; of this tab only. */
class Operator {
	constructor(form) {
		[this.form, this.isAllowed] = [form, false];
		this.input = form.querySelector("input");
		this.outcome = form.querySelector("span");
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			sessionStorage.setItem(TOKEN, this.input.value);
			this.input.value = "";
		});
	}

	headers() {
		const token = sessionStorage.getItem(TOKEN);

		/* Other characters would be an error of fetch. */
		return /^[\x21-\x7e]+$/.test(token ?? "") ? {Authorization: `Bearer ${token}`} : {};
	}

	take(access) {
		this.isAllowed = access === "operator";
		this.form.hidden = access !== "token";
		setText(this.outcome, sessionStorage.getItem(TOKEN) ? "The supervisor does not accept this token." : "");
	}
}

const operator = new Operator(byId("token"));

/* The answer of a request whose failure is shown: {error} or what the supervisor sent. */
async function order(method, path, limit = TIMEOUT_MS) {
	try {
		const answer = await fetch(path, {method, headers: operator.headers(), cache: "no-store",
			signal: AbortSignal.timeout(limit)});
		return JSON.parse(await answer.text(), escaped);
	} catch (failure) {
		return {error: `no answer: ${failure.message}`};
	}
}

function addButton(node, text, act) {
	const button = node.appendChild(make("button", {type: "button", class: "act"}, text));

	button.addEventListener("click", () => act(button));
	return button;
}

/* A button that acts at its second click: what it does cannot be undone. choose(): at the first click, what it will act
 * on, with the question as `question`; or nothing. Its disarm() forgets the first click. */
function addCarefulButton(node, text, act, choose = () => ({question: text.toLowerCase()})) {
	let chosen = null;

	function show(button, choice) {
		clearTimeout(button.timer);
		chosen = choice;
		button.toggleAttribute("data-sure", Boolean(choice));
		setText(button, choice ? `Really ${choice.question}?` : text);
	}

	const careful = addButton(node, text, (button) => {
		const sure = chosen;

		show(button, sure ? null : choose());
		if (sure)
			return act(sure);
		if (chosen)
			button.timer = setTimeout(() => show(button, null), SURE_MS);
	});

	careful.disarm = () => show(careful, null);
	return careful;
}

/* ---- a pool ---- */

class PoolControls {
	/* workersOf(): as they are shown. */
	constructor(name, workersOf) {
		this.workersOf = workersOf;
		this.path = `v1/pools/${encodeURIComponent(name)}`;
		this.node = make("div", {class: "controls"});
		const row = this.node.appendChild(make("div", {class: "acts"}));
		this.pause = addCarefulButton(row, "Pause", () => this.order("pause"));
		this.resume = addButton(row, "Resume", () => this.order("resume"));
		addCarefulButton(row, "Restart", () => this.order("restart"));
		this.workers = row.appendChild(make("input", {type: "text", size: 8, placeholder: "4, 2..8, auto",
			"aria-label": `Workers of ${name}`}));
		addButton(row, "Scale", () => this.order(`scale?workers=${encodeURIComponent(this.workers.value)}`));
		this.slot = row.appendChild(make("input", {type: "text", size: 4, placeholder: "slot",
			"aria-label": `Slot of a worker of ${name}`}));
		addCarefulButton(row, "Kill its task", (task) => this.order(task.kill), () => this.chooseTask("kill"));
		addCarefulButton(row, "Give up its task", (task) => this.order(`${task.kill}&give_up=true`),
			() => this.chooseTask("give up"));
		this.show = addButton(row, "Dead letters", () => this.letters.open());
		this.outcome = this.node.appendChild(make("p", {class: "outcome"}));
		this.letters = new Letters(this.path, name);
		this.node.append(this.letters.node);
	}

	take(pool) {
		this.pause.hidden = pool.state === "paused";
		this.resume.hidden = !this.pause.hidden;
	}

	/* The task that is shown now: a later one of the same worker is not killed. */
	chooseTask(what) {
		const worker = this.workersOf().find(({slot}) => String(slot) === this.slot.value.trim());

		if (!worker?.task) {
			setText(this.outcome, worker ? `The worker in slot ${worker.slot} has no task.` : "There is no worker in this slot.");
			return null;
		}
		setText(this.outcome, `Task ${worker.task.id}: ${taskOf(worker)}, for ${asSpan(worker.task.for_s)}`);
		return {question: `${what} task ${worker.task.id} of the worker in slot ${worker.slot}`,
			kill: `kill?slot=${worker.slot}&task=${worker.task.id}`};
	}

	async order(verb) {
		const answer = await order("POST", `${this.path}/${verb}`);

		setText(this.outcome, answer.error ?? `Done: ${verb.split("?")[0]}`);
	}
}

/* ---- its dead letters ---- */

/* A header's or property's value, and a table of headers as JSON. */
function asValue(value) {
	if (typeof value === "string")
		return value;
	return value === undefined || value === null ? NOTHING : JSON.stringify(value);
}

function headersOf(letter) {
	const headers = Object.entries(letter.headers ?? {});
	const list = headers.flatMap(([name, {value, value_base64}]) =>
		[make("dt", {}, name), make("dd", {}, asValue(value ?? value_base64))]);

	return make("details", {}, make("summary", {}, asCount(headers.length, "header")), make("dl", {}, ...list));
}

/* The condition of a request, from HEADER=VALUE. */
function matchOf(filter) {
	return filter && `match=${encodeURIComponent(filter)}`;
}

/* [title, class, content for a letter] */
const LETTER_COLUMNS = [
	["First failed", "text", ({wpool}) => typeof wpool.first_failed === "number" ?
		new Date(wpool.first_failed * 1000).toLocaleString("en-GB") : NOTHING],
	["Reason", "text", ({wpool}) => asValue(wpool.reason)],
	["Attempts", "", ({wpool}) => asValue(wpool.attempt)],
	["Exit", "text", ({wpool}) => wpool.exit ?? (wpool.status === undefined ? NOTHING : `status ${wpool.status}`)],
	["Last stderr line", "text wide", ({wpool}) => asValue(wpool.stderr)],
	["Message id", "text", ({properties}) => asValue(properties.message_id)],
	["Size", "", ({size}) => asSize(size)],
	["Headers", "text", headersOf],
];

class Letters {
	constructor(path, name) {
		[this.path, this.skip, this.listed] = [`${path}/dead-letters`, 0, null];
		this.node = make("div", {class: "letters", hidden: ""});
		const row = this.node.appendChild(make("div", {class: "acts"}));
		this.filter = row.appendChild(make("input", {type: "text", size: 28, placeholder: "x-wpool-reason=crashed",
			"aria-label": "Only those with this header"}));
		addButton(row, "Show", () => this.open());
		this.back = addButton(row, "Back", () => this.load(this.skip - LETTERS_SHOWN));
		this.next = addButton(row, "Next", () => this.load(this.skip + LETTERS_SHOWN));
		this.changes = ["replay", "drop"].map((verb) => addCarefulButton(row, `${verb === "replay" ? "Replay" : "Drop"} all that match`,
			({selection}) => this.change(verb, selection), () => this.chooseListed(verb)));
		this.outcome = this.node.appendChild(make("p", {class: "outcome"}));
		const table = make("table", {role: "table"}, make("caption", {}, `Dead letters of ${name}`));
		this.body = addHead(table, "Position", [...LETTER_COLUMNS, ["Decide", "text"]]);
		this.node.append(table);
		this.setListed(null);
	}

	open() {
		this.node.hidden = false;
		this.load(0);
	}

	/* Those that the list is of, by its condition, and not those that came since then. How many more match a condition
	 * than were shown is not known: they stay. */
	chooseListed(verb) {
		const {filter, count, isAll} = this.listed;
		const which = `${isAll ? "" : "the first "}${asCount(count, "message")}${filter && ` with ${filter}`}`;

		return {question: `${verb} ${which}`, selection: `${matchOf(filter) || "all=true"}&limit=${count}`};
	}

	/* null: no list is shown. A question was about the list before. */
	setListed(listed) {
		this.listed = listed;
		for (const button of this.changes) {
			button.disabled = !listed?.count;
			button.disarm();
		}
	}

	async load(skip, before = "") {
		const filter = this.filter.value;

		this.skip = Math.max(skip, 0);
		this.setListed(null);
		setText(this.outcome, "Asking …");
		const asked = this.asked = order("GET", `${this.path}?limit=${LETTERS_SHOWN}&skip=${this.skip}&${matchOf(filter)}`, LIST_MS);
		const answer = await asked;

		if (asked === this.asked)
			this.show(answer, filter, before);
	}

	show(answer, filter, before) {
		const letters = answer.result?.messages ?? [];
		const inQueue = answer.result?.count ?? 0;
		const seen = letters.length > 0 ? this.skip + letters.length : 0;
		const isAll = !filter || letters.length < LETTERS_SHOWN;

		this.setListed(answer.result ? {filter, count: filter ? seen : inQueue, isAll} : null);
		this.body.replaceChildren(...letters.map((letter) => this.rowOf(letter)));
		this.back.hidden = this.skip === 0;
		this.next.hidden = letters.length < LETTERS_SHOWN;
		setText(this.outcome, [before, this.problemsOf(answer) ||
			`${asNumber(letters.length)} of ${asCount(inQueue, "message")}`].filter((text) => text).join("; "));
	}

	problemsOf(answer) {
		return [...answer.problems ?? [], ...answer.error && !answer.problems?.length ? [answer.error] : []].join("; ");
	}

	rowOf(letter) {
		const row = make("tr", {role: "row", "data-fingerprint": letter.fingerprint},
			make("th", {scope: "row", role: "rowheader"}, asNumber(letter.position)));
		const cells = addCells(row, LETTER_COLUMNS);

		LETTER_COLUMNS.forEach(([, , of], i) => setCell(cells[i], of(letter)));
		const acts = row.appendChild(make("td", {role: "cell", class: "text", "data-title": "Decide"}));
		addButton(acts, "Replay", () => this.change("replay", `fingerprint=${letter.fingerprint}`));
		addCarefulButton(acts, "Drop", () => this.change("drop", `fingerprint=${letter.fingerprint}`));
		return row;
	}

	async change(verb, selection) {
		this.setListed(null);
		setText(this.outcome, "Asking …");
		const answer = await order("POST", `${this.path}/${verb}?${selection}`, CHANGE_MS);
		const done = answer.result?.[verb === "replay" ? "replayed" : "dropped"];

		await this.load(this.skip, [done === undefined ? "" : `${asNumber(done)} ${verb === "replay" ? "replayed" : "dropped"}`,
			this.problemsOf(answer)].filter((text) => text).join("; "));
	}
}
