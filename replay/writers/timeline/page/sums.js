// What happened in a span of time: the threads' time by class, and the functions by their own time there. Needs flame.js.
// `threads` are those of the page, with `rows` of calls by depth; kinds is the number of classes.

// The time of each class between `from` and `to`.
function classesIn({ spans, strip }, from, to, whole, kinds) {
  const sums = new Array(kinds).fill(0);
  const inside = (begin, length) => Math.max(Math.min(begin + length, to) - Math.max(begin, from), 0);
  if (spans) {
    spans.begin.forEach((begin, i) => { sums[spans.kind[i]] += inside(begin, spans.length[i]); });
    return sums;
  }
  // A column's time is taken to be even in it.
  const columns = strip.length / kinds, length = whole / columns;
  for (let i = 0; i < strip.length; ++i)
    sums[i % kinds] += strip[i] * inside(Math.floor(i / kinds) * length, length) / length;
  return sums;
}

// Adds the own time between `from` and `to` of the functions that one thread was in, to sums[function].
function functionsIn({ calls }, rows, from, to, sums) {
  const inside = (call) => Math.max(Math.min(calls.begin[call] + calls.duration[call], to) - Math.max(calls.begin[call], from), 0);
  rows.forEach((row, depth) => {
    for (let i = firstIn(row, calls, from); i < row.length && calls.begin[row[i]] < to; ++i) {
      const time = inside(row[i]), fn = calls.fn[row[i]];
      const sum = sums[fn] || (sums[fn] = { fn, calls: 0, own: 0 });
      sum.own += time;
      if (calls.begin[row[i]] >= from) ++sum.calls;
      const outer = depth ? callerOf(row[i], rows[depth - 1], calls) : null;
      if (outer !== null) sums[calls.fn[outer]].own -= time;
    }
  });
}
// The call in the row above that made this call; null if there is none.
function callerOf(call, above, calls) {
  const begin = calls.begin[call], end = begin + calls.duration[call];
  for (let i = firstIn(above, calls, begin); i < above.length && calls.begin[above[i]] <= begin; ++i)
    if (calls.begin[above[i]] + calls.duration[above[i]] >= end) return above[i];
  return null;
}
