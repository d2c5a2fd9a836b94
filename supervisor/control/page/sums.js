/* Sums over pools. Two pools have one name while a reload replaces one by the other, and pools may share a queue. */

/* The entries of a list by the member that has their name, in the order of the list; of one name the latest comes first. */
function byName(list, member) {
	const groups = new Map();

	for (const one of list)
		groups.set(one[member], [...groups.get(one[member]) ?? [], one].sort((a, b) => b.serial - a.serial));
	return groups;
}

function sumUp(pools, path) {
	return pools.reduce((sum, pool) => sum + (member(pool, path) ?? 0), 0);
}

/* The same for what each pool reads of its queue: once for each queue, as it was read last, and the age of the oldest. */
function sumOfQueues(pools, queue, path) {
	const latest = new Map();

	for (const pool of pools) {
		const figure = member(pool, path);
		const age = member(pool, `${path}_age_s`);
		if (typeof figure === "number" && !(latest.get(pool[queue])?.age <= age))
			latest.set(pool[queue], {figure, age});
	}
	const found = [...latest.values()];
	return {sum: found.reduce((sum, {figure}) => sum + figure, 0), age: Math.max(0, ...found.map(({age}) => age))};
}

/* A counter that fell has started again with its pool. */
function grown(now, then) {
	return Math.max(0, now - then);
}

/* What pools have done, as one set of counters, which does not fall when one of them leaves. */
class Work {
	constructor() {
		this.sum = Object.fromEntries(Object.keys(COUNTED).map((name) => [name, 0]));
		this.buckets = new Map();
		this.forget();
	}

	/* Call when the counters have started again. */
	forget() {
		this.last = new Map(); /* by serial */
	}

	/* Count what the pools have done since the last call, and return the counters. */
	count(pools) {
		const last = this.last;

		this.forget();
		for (const pool of pools) {
			const id = pool.serial ?? pool.name;
			this.last.set(id, pool);
			this.add(pool, last.get(id));
		}
		return {...this.sum, buckets: [...this.buckets.values()].sort(([a], [b]) => a - b)};
	}

	/* then: undefined: it has begun since the last call. */
	add(now, then) {
		const before = new Map((member(then, "task_time.buckets") ?? []).map(([low, , count]) => [low, count]));

		for (const [name, path] of Object.entries(COUNTED))
			this.sum[name] += grown(member(now, path) ?? 0, member(then, path) ?? 0);
		for (const [low, high, count] of member(now, "task_time.buckets") ?? [])
			this.buckets.set(low, [low, high, (this.buckets.get(low)?.[2] ?? 0) + grown(count, before.get(low) ?? 0)]);
	}
}
