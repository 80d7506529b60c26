// The figures of a wait, a call and a function, as the panel shows them. Needs numbers.js, and the page's `data` and
// `duration`.

// The absolute time, as the commands print and take it. A number of JavaScript may not hold it.
function moment(time) {
  const at = BigInt(data.moment) + BigInt(Math.round(time));
  if (!data.ns) return 'tsc:' + at;
  const digits = String(at).padStart(10, '0');
  return digits.slice(0, -9) + '.' + digits.slice(-9);
}

function wordsOfWait(wait) {
  const held = wait.holder === null ? '' : `, ${wait.certain ? '' : 'perhaps '}held by ${wait.holder}`;
  return `waited ${duration(wait.time)} for ${data.sites[wait.site].slice(0, 400)}${held}`;
}
function figuresOfWait({ thread, wait }) {
  const figures = [['thread', thread.name], ['begins', '+' + duration(wait.begin)], ['at', moment(wait.begin)], ['waited', duration(wait.time)],
    ['spinning', duration(wait.time - wait.sleeping)], ['sleeping', duration(wait.sleeping)], ['trips', count(wait.trips)]];
  if (wait.holder !== null) figures.push([wait.certain ? 'held by' : 'perhaps held by', wait.holder]);
  return figures;
}

// The upper limit is one only where the cycles of all instructions are told. What is proven to a
// twentieth is a value, all else an estimate.
function about([likely, lo, hi, , untold]) {
  return untold === 0 && hi - lo <= likely / 20 ? '' : '~';
}
function ownCycles(cycles) {
  const [likely, lo, hi, , untold] = cycles;
  const bounds = untold === 0 ? `proven ${count(lo)} to ${count(hi)}` : `at least ${count(lo)}`;
  return `${about(cycles)}${count(likely)}, ${bounds}`;
}
function figuresOfCall({ thread, call: i }, fn) {
  const calls = thread.calls;
  const figures = [
    ['thread', thread.name],
    ['begins', '+' + duration(calls.begin[i])],
    ['at', moment(calls.begin[i])],
    ['took', duration(calls.duration[i]) + (calls.whole[i] ? '' : ', not seen whole')],
    ['proven', duration(calls.least[i]) + ' to ' + duration(calls.most[i])],
    ['instructions', count(calls.instructions[i])],
  ];
  if (calls.cycles && calls.cycles[i])
    figures.push(['cycles', `~${count(calls.cycles[i])}, at least ${count(calls.cycles_lo[i])}`],
      ['IPC', '~' + (calls.instructions[i] / calls.cycles[i]).toFixed(2)]);
  figures.push(['level', String(calls.depth[i])]);
  if (fn.file) figures.push(['file', fn.file]);
  if (fn.source) figures.push(['source', fn.source]);
  return figures;
}
function figuresOfAll(fn) {
  const figures = [['calls', count(fn.calls)], ['own time', duration(fn.self)], ['with calls', duration(fn.total)]];
  if (fn.quantiles)
    ['shortest', 'median', 'p99', 'longest'].forEach((name, i) => figures.push([name, duration(fn.quantiles[i])]));
  figures.push(['own instructions', count(fn.instructions)]);
  if (fn.cycles) {
    const [likely, , , counted, untold] = fn.cycles;
    figures.push(['own cycles', ownCycles(fn.cycles)]);
    if (untold) figures.push(['cycles not known of', count(untold) + ' instructions']);
    figures.push(['own IPC', about(fn.cycles) + (counted / Math.max(likely, 1)).toFixed(2)]);
  }
  return figures;
}
