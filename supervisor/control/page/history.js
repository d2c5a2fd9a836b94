/* The counters of the last minutes: rates, and the times of tasks between two answers. */

const KEPT_S = 300;
const RATE_S = 5;    /* a shown rate is the mean of these seconds */
const TIMES_S = 10;  /* a quantile is of the tasks of these seconds */
const GAP_S = 6;     /* no rate is computed over a longer time without an answer */
const COUNTED = {in: "totals.deliveries", done: "totals.done", retried: "totals.retried"};
const PARTS = {p50: 0.5, p95: 0.95, p99: 0.99};

/* buckets: [bound, count] pairs; as the supervisor's histogram_quantile(). null: there are none. */
function quantile(buckets, part) {
	let left = part * buckets.reduce((sum, [, count]) => sum + count, 0);
	let low = 0;

	if (left <= 0)
		return null;
	for (const [bound, count] of buckets) {
		if (bound === null)
			return low;
		if (count > 0 && left <= count)
			return low + (bound - low) * left / count;
		left -= count;
		low = bound;
	}
	return low;
}

/* A counter that fell has started again with its pool. */
function grown(now, then) {
	return Math.max(0, now - then);
}

function bucketsBetween(now, then) {
	return now.map(([bound, count], i) => [bound, grown(count, then[i]?.[1] ?? 0)]);
}

function countsOf(pool) {
	const counts = {buckets: member(pool, "task_time.buckets") ?? []};

	for (const [name, path] of Object.entries(COUNTED))
		counts[name] = member(pool, path) ?? 0;
	return counts;
}

function sumOf(all) {
	const sum = {buckets: [], in: 0, done: 0, retried: 0};

	for (const counts of all) {
		for (const name of Object.keys(COUNTED))
			sum[name] += counts[name];
		counts.buckets.forEach(([bound, count], i) => {
			sum.buckets[i] = [bound, (sum.buckets[i]?.[1] ?? 0) + count];
		});
	}
	return sum;
}

class History {
	constructor() {
		this.samples = [];
		this.forget();
	}

	/* Call when the counters have started again. */
	forget() {
		this.readings = [];
	}

	/* t: seconds. */
	take(t, counts) {
		const last = this.readings.at(-1);
		const now = {t, ...counts};

		if (last && t - last.t > GAP_S)
			this.forget();
		else if (last)
			this.samples.push(this.between(now, last));
		if (this.readings.length === 0)
			this.samples.push({t});
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
