// Call paths: what the mean slow and the mean normal instance, and single ones, spend in each.
// Needs numbers.js.
const noCost = () => ({ instances: 0, entries: 0, instructions: 0, cycles: 0, times: [0, 0, 0, 0, 0, 0] });
function addCost(to, from) {
  to.entries += from.entries;
  to.instructions += from.instructions;
  to.cycles += from.cycles;
  from.times.forEach((time, i) => { to.times[i] += time; });
}

// A path: {name, full, site, line, parent, children, depth, match}.
const paths = data.paths.parent.map((parent, i) => ({
  i, parent, children: [], depth: 0, match: false,
  name: data.names[data.paths.name[i]], full: data.full[data.paths.full[i]],
  site: data.sites[data.paths.site[i]] || '', line: data.lines[data.paths.site[i]] || '',
}));
for (const path of paths.slice(1)) {
  paths[path.parent].children.push(path.i);
  path.depth = paths[path.parent].depth + 1;
}

// The paths' own costs and, in `all`, those with what is below them.
function withSums(own) {
  const all = own.map((cost) => ({ ...cost, times: [...cost.times] }));
  for (let i = paths.length - 1; i > 0; --i) {
    const { entries, instructions, cycles, times } = all[i];
    addCost(all[paths[i].parent], { entries: 0, instructions, cycles, times, was: entries });
  }
  return { own, all };
}
// Of all instances of a group, in the mean.
function meanCosts(flat, instances) {
  const each = Math.max(instances, 1);
  return withSums(paths.map((_, i) => {
    const [with_it, entries, instructions, cycles, ...times] = flat.slice(10 * i, 10 * i + 10);
    return { instances: with_it, entries: entries / each, instructions: instructions / each, cycles: cycles / each, times: times.map((time) => time / each) };
  }));
}
// Of one instance, whose costs are [path, entries, instructions, cycles, times...].
function costsOf(rows) {
  const own = paths.map(noCost);
  for (const [i, entries, instructions, cycles, ...times] of rows) own[i] = { instances: 1, entries, instructions, cycles, times };
  return withSums(own);
}
const slowMean = meanCosts(data.paths.slow, report.slow);
const normalMean = meanCosts(data.paths.normal, report.normal);
