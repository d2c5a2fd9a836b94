/* Figures as text, in the form of `wpool status`; and elements for them. */

const NOTHING = "–";

/* A member by its path, "workers.ready"; undefined: there is none (another version of the supervisor). */
function member(object, path) {
	return path.split(".").reduce((found, key) => found?.[key], object);
}

function asNumber(value) {
	return typeof value === "number" ? Math.round(value).toLocaleString("en-US") : NOTHING;
}

/* Small rates get a decimal. */
function asRate(value) {
	if (typeof value !== "number")
		return NOTHING;
	return value > 0 && value < 9.95 ? value.toFixed(1) : asNumber(value);
}

function asSpan(s) {
	if (typeof s !== "number")
		return NOTHING;
	if (s < 1)
		return `${Number((s * 1000).toPrecision(3))} ms`;
	if (s < 120)
		return `${s.toFixed(1)} s`;
	if (s < 7200)
		return `${Math.round(s / 60)} min`;
	return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

/* "4 s"; nothing for what was read in the last second. */
function asAge(s) {
	if (!(s > 1))
		return "";
	return s < 120 ? `${Math.round(s)} s` : "old";
}

/* A figure of the broker, which is read every few seconds, with its age, as `wpool status` shows it. */
function asAged(value, age) {
	return typeof value === "number" && asAge(age) ? `${asNumber(value)} (${asAge(age)})` : asNumber(value);
}

function asSize(bytes) {
	const units = ["B", "kB", "MB", "GB", "TB"];
	let unit = 0;

	if (typeof bytes !== "number")
		return NOTHING;
	for (; bytes >= 1000 && unit + 1 < units.length; unit++)
		bytes /= 1000;
	return `${bytes.toFixed(bytes < 10 && unit > 0 ? 1 : 0)} ${units[unit]}`;
}

function asTime(date) {
	return date.toLocaleTimeString("en-GB");
}

function asCount(count, word) {
	return `${asNumber(count)} ${word}${count === 1 ? "" : "s"}`;
}

/* ---- elements: what the supervisor sends is set as text, never as markup ---- */

function set(node, attributes) {
	for (const [name, value] of Object.entries(attributes))
		if (value === null)
			node.removeAttribute(name);
		else if (node.getAttribute(name) !== String(value))
			node.setAttribute(name, value);
	return node;
}

function make(tag, attributes = {}, ...children) {
	const node = set(document.createElement(tag), attributes);

	node.append(...children);
	return node;
}

function draw(tag, attributes = {}, ...children) {
	const node = set(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes);

	node.append(...children);
	return node;
}

function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

function byId(id) {
	return document.getElementById(id);
}
