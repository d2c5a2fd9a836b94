/* Plots of the last minute, or of 5 or 15 minutes if more is known. The texts beside a plot are HTML, so that they are not stretched. */

const WIDTH = 600;
const HEIGHT = 100;
const SPANS_S = [60, 300, KEPT_S];
const SPARK_S = 300;

/* Series by their class: line one is solid, two has dashes, three has dots. */
const RATES = {
	title: "Messages a second", of: asRate, scale: linear, hasArea: true,
	series: [["in", "coming in", "one"], ["done", "done", "two"], ["retried", "retried", "three"]],
};
const TIMES = {
	title: "Time of a task", of: asSpan, scale: decades,
	series: [["p50", "median", "one"], ["p95", "95 %", "two"], ["p99", "99 %", "three"]],
};

/* ---- scales: {levels, at}, at() being 0 at the bottom and 1 at the top ---- */

/* 1, 2 or 5 times a power of ten, and not below the value. */
function roundUp(value) {
	const power = 10 ** Math.floor(Math.log10(value));

	return power * [1, 2, 5, 10].find((step) => value <= step * power * (1 + 1e-9));
}

function linear(values) {
	const top = roundUp(Math.max(1, ...values));

	return {levels: [0, top / 2, top], at: (value) => value / top};
}

/* By powers of ten, because times differ that much. */
function decades(values) {
	const low = Math.floor(Math.log10(Math.max(1e-5, Math.min(...values, 1e-2))));
	const high = Math.max(low + 2, Math.ceil(Math.log10(Math.max(...values, 1e-2))));
	const step = Math.ceil((high - low) / 4);
	const levels = [];

	for (let power = low; power <= high; power += step)
		levels.push(10 ** power);
	return {levels, at: (value) => (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)};
}

/* ---- lines ---- */

/* A series as lists of [x, y] points, one for each run of known values. */
function segmentsOf(samples, name, now, span, height, at) {
	const segments = [];
	let segment = null;

	for (const sample of samples) {
		const value = sample[name];
		if (typeof value !== "number") {
			segment = null;
			continue;
		}
		if (!segment)
			segments.push(segment = []);
		segment.push([(WIDTH * (1 - (now - sample.t) / span)).toFixed(1), (height * (1 - at(value))).toFixed(1)]);
	}
	return segments;
}

function linePath(segments) {
	return segments.map((points) => `M${points.map(([x, y]) => `${x} ${y}`).join("L")}`).join("");
}

function areaPath(segments, height) {
	return segments.map((points) =>
		`M${points[0][0]} ${height}${points.map(([x, y]) => `L${x} ${y}`).join("")}L${points.at(-1)[0]} ${height}Z`).join("");
}

/* Seconds. */
function spanOf(history, now) {
	const known = history.samples.length > 0 ? now - history.samples[0].t : 0;

	return SPANS_S.find((span) => known <= span) ?? KEPT_S;
}

function asMinutes(s) {
	return s === 60 ? "minute" : `${s / 60} minutes`;
}

function valuesOf(samples, series) {
	return samples.flatMap((sample) => series.map(([name]) => sample[name]))
		.filter((value) => typeof value === "number");
}

class Plot {
	constructor(kind) {
		this.kind = kind;
		this.levels = make("div", {"aria-hidden": "true"});
		this.lines = kind.series.map(([, , style]) => draw("path", {class: style}));
		this.values = kind.series.map(() => make("span", {class: "value"}));
		this.svg = draw("svg", {role: "img", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none"},
			...this.lines);
		this.begin = make("span");
		if (kind.hasArea)
			this.area = this.svg.insertBefore(draw("path", {class: "area"}), this.svg.firstChild);
		this.node = make("figure", {class: "plot"}, this.caption(),
			make("div", {class: "field"}, this.levels, this.svg),
			make("div", {class: "ages", "aria-hidden": "true"}, this.begin, make("span", {}, "now")));
	}

	caption() {
		const keys = this.kind.series.map(([, text, style], i) => make("span", {class: "key"},
			draw("svg", {viewBox: "0 0 24 8", "aria-hidden": "true"}, draw("path", {class: style, d: "M1 4H23"})),
			text, this.values[i]));

		return make("figcaption", {}, make("b", {}, this.kind.title), ...keys);
	}

	show(history, now) {
		const {series, of, scale, title} = this.kind;
		const {levels, at} = scale(valuesOf(history.samples, series));
		const span = spanOf(history, now);

		series.forEach(([name], i) => {
			const segments = segmentsOf(history.samples, name, now, span, HEIGHT, at);
			set(this.lines[i], {d: linePath(segments)});
			setText(this.values[i], of(history.latest(name)));
			if (i === 0 && this.area)
				set(this.area, {d: areaPath(segments, HEIGHT)});
		});
		setText(this.begin, `${span / 60} min ago`);
		this.showLevels(levels.map((level) => [of(level).replace(/\.0\b/, ""), at(level)]));
		set(this.svg, {"aria-label": `${title} of the last ${asMinutes(span)}: ` + series.map(([name, text]) =>
			`${text} ${of(history.latest(name))} now, ${of(history.max(name))} at most`).join("; ")});
	}

	showLevels(levels) {
		while (this.levels.children.length > levels.length)
			this.levels.lastChild.remove();
		levels.forEach(([text, part], i) => {
			const level = this.levels.children[i] ??
				this.levels.appendChild(make("div", {class: "level"}, make("span")));
			level.style.top = `${100 * (1 - part)}%`;
			setText(level.firstChild, text);
		});
	}
}

/* For a cell of the table: tasks done. The figures beside it show the same. */
class Spark {
	constructor() {
		this.area = draw("path", {class: "area"});
		this.line = draw("path", {class: "one"});
		this.node = draw("svg", {class: "spark", viewBox: `0 0 ${WIDTH} 20`, preserveAspectRatio: "none",
			"aria-hidden": "true"}, this.area, this.line);
	}

	show(history, now) {
		const samples = history.samples.filter(({t}) => now - t <= SPARK_S);
		const top = Math.max(1, ...valuesOf(samples, [["done"]]));
		const segments = segmentsOf(samples, "done", now, Math.min(spanOf(history, now), SPARK_S), 19, (value) => 0.9 * value / top);

		set(this.area, {d: areaPath(segments, 20)});
		set(this.line, {d: linePath(segments)});
	}
}
