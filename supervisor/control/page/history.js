/* The counters of the last minutes: what the supervisor kept of them when the page was opened, then rates,
 * and the times of tasks, between two answers. */

const KEPT_S = 900;
const RATE_S = 5;    /* a shown rate is the mean of these seconds */
const TIMES_S = 10;  /* a quantile is of the tasks of these seconds */
const GAP_S = 6;     /* no rate is computed over a longer time without an answer */
const COUNTED = {in: "totals.deliveries", done: "totals.done", retried: "totals.retried"};
const SECOND = ["in", "done", "retried", "p50", "p95", "p99"]; /* in GET /v1/history */
const PARTS = {p50: 0.5, p95: 0.95, p99: 0.99};

/* buckets: [above, up to, count], from the shortest times, as the supervisor's
 * histogram_quantile(). null: there are none. */
function quantile(buckets, part) {
	let left = part * buckets.reduce((sum, [, , count]) => sum + count, 0);

	for (const [low, high, count] of buckets) {
		if (left <= count)
			return low + (high - low) * left / count;
		left -= count;
	}
	return buckets.at(-1)?.[1] ?? null;
}

function bucketsBetween(now, then) {
	const before = new Map(then.map(([low, , count]) => [low, count]));

	return now.map(([low, high, count]) => [low, high, grown(count, before.get(low) ?? 0)])
		.filter(([, , count]) => count > 0);
}

/* The seconds of an entry of GET /v1/history, as samples. A second without times shows those of the seconds
 * before it, as a live one does. */
function samplesOf({age_s, kept, seconds}, now) {
	const samples = Array.from({length: kept}, (_, i) => ({t: now - age_s - (kept - 1 - i), in: 0, done: 0, retried: 0}));
	let timed = null;

	for (const [back, ...figures] of seconds)
		SECOND.forEach((name, i) => { samples[kept - 1 - back][name] = figures[i]; });
	for (const sample of samples) {
		if (typeof sample.p50 === "number")
			timed = sample;
		else if (timed && sample.t - timed.t < TIMES_S)
			for (const name of Object.keys(PARTS))
				sample[name] = timed[name];
	}
	return samples;
}

class History {
	constructor() {
		this.samples = [];
		this.readings = [];
		this.work = new Work();
	}

	/* Call when the counters have started again. */
	forget() {
		this.readings = [];
		this.work.forget();
	}

	/* Replace the samples by those that the supervisor kept until now, also the gap after them. */
	seed(entry, now) {
		const samples = samplesOf(entry, now);
		const isLater = (sample) => sample.t > samples.at(-1).t && "in" in sample;

		if (samples.length > 0)
			this.samples = [...this.samples.filter(({t}) => t < samples[0].t), ...samples, ...this.samples.filter(isLater)];
	}

	/* t: seconds. */
	take(t, pools) {
		const last = this.readings.at(-1);
		const now = {t, ...this.work.count(pools)};

		if (last && t - last.t > GAP_S)
			this.readings = [];
		else if (last)
			this.samples.push(this.between(now, last));
		if (this.readings.length === 0)
			this.samples.push({t}); /* the lines have a gap */
		this.readings.push(now);
		while (this.readings.length > 1 && t - this.readings[1].t >= TIMES_S)
			this.readings.shift();
		while (this.samples.length > 0 && t - this.samples[0].t > KEPT_S)
			this.samples.shift();
	}

	between(now, then) {
		const sample = {t: now.t};
		const times = bucketsBetween(now.buckets, this.readings[0].buckets);

		for (const name of Object.keys(COUNTED))
			sample[name] = grown(now[name], then[name]) / (now.t - then.t);
		for (const [name, part] of Object.entries(PARTS))
			sample[name] = quantile(times, part);
		return sample;
	}

	/* Per second, recently; undefined: not known yet. */
	rate(name) {
		const last = this.readings.at(-1);
		const first = this.readings.find((reading) => last.t - reading.t <= RATE_S);

		return first && first !== last ? grown(last[name], first[name]) / (last.t - first.t) : undefined;
	}

	latest(name) {
		return this.samples.at(-1)?.[name];
	}

	max(name) {
		return this.samples.reduce((max, sample) => Math.max(max, sample[name] ?? 0), 0);
	}
}
