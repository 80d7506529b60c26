// The timeline: the threads below each other, of each a strip and below it the calls by depth. Needs
// theme.js, numbers.js, tip.js, search.js, figures.js, zoom.js, strip.js and flame.js.
const canvas = document.getElementById('canvas');
const panel = document.getElementById('panel');
const CLASSES = ['executing', 'off', 'kernel', 'lost', 'filtered', 'undecodable'];
const WORDS = ['executing', 'off-CPU', 'kernel', 'lost', 'filtered', 'undecodable'];
if (data.sites) {  // --waits
  CLASSES.push('spinning', 'sleeping');
  WORDS.push('spinning', 'sleeping');
}
const NAMES = 150, STRIP = 14, ROW = 16, GAP = 10, AXIS = 22, CPU = 12;
const LEAST = 20;  // of the time's units in the whole width
const whole = Math.max(data.end - data.begin, 1);
const duration = durationIn(data.ns);
let colors = {}, kinds = [];

// Of each thread: its rows of calls, one for each depth.
const lanes = [];
let below = AXIS;
for (const cpu of data.cpus) {
  lanes.push({ cpu, name: 'CPU ' + cpu.cpu, y: below, height: CPU, rows: [] });
  below += CPU + 3;
}
if (data.cpus.length) below += GAP;
for (const thread of data.threads) {
  const rows = callRows(thread.calls);
  lanes.push({ thread, name: thread.name, rows, y: below, height: STRIP + 2 + rows.length * ROW });
  below += STRIP + 2 + rows.length * ROW + GAP;
}

const view = zoomable(canvas, {
  whole, least: LEAST, left: NAMES, bottom: below, draw, at: callAt, click: select,
  hover(event, hit) {
    if (!hit) return tip.hide();
    if (hit.wait) return tip.show(event, wordsOfWait(hit.wait));
    const calls = hit.thread.calls;
    tip.show(event, data.functions[calls.fn[hit.call]].name.slice(0, 400) + ', ' + duration(calls.duration[hit.call]));
  },
  open(hit) {
    if (hit.wait) return view.show(hit.wait.begin - hit.wait.length * 0.05, hit.wait.length * 1.1);
    const calls = hit.thread.calls;
    view.show(calls.begin[hit.call] - calls.duration[hit.call] * 0.05, calls.duration[hit.call] * 1.1);
  },
});
const state = Object.assign(view.state, { selected: null, matches: [], at: -1 });
const field = searchField({ find, next, leave: () => canvas.focus() });

function readColors() {
  colors = themeColors(['back', 'front', 'faint', 'line', 'panel', 'mark', ...CLASSES]);
  colors.of = data.functions.map((fn) => colorOfName(fn.name));
  kinds = CLASSES.map((name) => colors[name]);
}

function drawThread({ thread, rows }, y) {
  if (thread.spans) drawSpans(view, thread.spans, y, STRIP, kinds);
  else drawShares(view, thread.strip, whole, y, STRIP, kinds);
  if (thread.waits) drawWaits(thread.waits, y);
  const selected = state.selected && state.selected.thread === thread ? state.selected.call : null;
  rows.forEach((row, depth) => {
    const at = y + STRIP + 2 + depth * ROW;
    if (at + ROW > AXIS && at < view.height)
      drawCalls(view, row, thread.calls, at, ROW, { functions: data.functions, colors, selected });
  });
}

// The names of waits that are wide enough, and a frame around the one that is selected. The strip shows their colours.
function drawWaits(waits, y) {
  const { context, left, width } = view;
  for (const wait of waits) {
    if (wait.begin > state.begin + state.length) break;
    const x = Math.max(view.xOf(wait.begin), left), right = Math.min(view.xOf(wait.begin + wait.length), width);
    if (right < left) continue;
    if (right - x > 60) {
      context.fillStyle = colors.front;
      drawText(context, data.sites[wait.site], x + 3, y + 11, right - x - 4);
    }
    if (state.selected && state.selected.wait === wait) {
      context.strokeStyle = colors.front;
      context.lineWidth = 2;
      context.strokeRect(x, y, Math.max(right - x, 2), STRIP);
    }
  }
}

function draw() {
  clean(view, colors);
  drawTimes(view, AXIS, colors, duration);
  drawLanes(view, lanes, AXIS, colors, (lane, y) => {
    if (lane.cpu) drawNumbers(view, lane.cpu.tids, whole, y, CPU, colors.front);
    else drawThread(lane, y);
  });
}

function callAt(x, y) {
  if (x < NAMES || y < AXIS) return null;
  const at = y + state.top;
  for (const lane of lanes) {
    if (lane.cpu || at < lane.y || at >= lane.y + lane.height) continue;
    if (at < lane.y + STRIP + 2) return waitAt(lane.thread, view.timeOf(x));
    const row = lane.rows[Math.floor((at - lane.y - STRIP - 2) / ROW)];
    if (!row) return null;
    const call = nearestCall(view, row, lane.thread.calls, view.timeOf(x));
    return call === null ? null : { thread: lane.thread, call };
  }
  return null;
}

function waitAt(thread, time) {
  const slack = 3 * view.pixel();
  let best = null, least = Infinity;
  for (const wait of thread.waits || []) {
    const off = Math.max(wait.begin - time, time - wait.begin - wait.length, 0);
    if (off > slack || off > least || (off === least && best && wait.length > best.length)) continue;
    best = wait;
    least = off;
  }
  return best && { thread, wait: best };
}
function wordsOfWait(wait) {
  const held = wait.holder === null ? '' : `, ${wait.certain ? '' : 'perhaps '}held by ${wait.holder}`;
  return `waited ${duration(wait.time)} for ${data.sites[wait.site].slice(0, 400)}${held}`;
}
function figuresOfWait({ thread, wait }) {
  const figures = [['thread', thread.name], ['begins', '+' + duration(wait.begin)], ['waited', duration(wait.time)],
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
function select(hit) {
  state.selected = hit;
  panel.replaceChildren();
  view.redraw();
  if (!hit) {
    panel.textContent = data.sites ? 'Click a call or a wait for its figures.' : 'Click a call for its figures.';
    return;
  }
  if (hit.wait) return panel.append(figureHeading(data.sites[hit.wait.site]), figureList(figuresOfWait(hit)));
  const fn = data.functions[hit.thread.calls.fn[hit.call]];
  panel.append(figureHeading(fn.name), figureList(figuresOfCall(hit, fn)));
  if (fn.text) panel.append(figureCode(fn.text));
  panel.append(figureHeading('All its calls'), figureList(figuresOfAll(fn)));
}

function find(query) {
  state.matches = [];
  state.at = -1;
  const word = query.toLowerCase();
  for (const fn of data.functions) fn.match = word !== '' && fn.name.toLowerCase().includes(word);
  if (word)
    for (const lane of lanes)
      if (lane.thread)
        lane.thread.calls.fn.forEach((fn, i) => {
          if (data.functions[fn].match) state.matches.push({ thread: lane.thread, call: i, lane });
        });
  field.say(word ? count(state.matches.length) + ' calls' : '');
  view.redraw();
}
function next(step) {
  if (!state.matches.length) return;
  state.at = (state.at + step + state.matches.length) % state.matches.length;
  const hit = state.matches[state.at];
  const calls = hit.thread.calls;
  const length = Math.max(calls.duration[hit.call] * 4, state.length / 50, LEAST);
  view.show(calls.begin[hit.call] + calls.duration[hit.call] / 2 - length / 2, length);
  const y = hit.lane.y + STRIP + 2 + calls.depth[hit.call] * ROW;
  if (y - state.top < AXIS || y - state.top > view.height - ROW) view.scroll(y - view.height / 2 - state.top);
  field.say(`${state.at + 1} of ${count(state.matches.length)} calls`);
  select({ thread: hit.thread, call: hit.call });
}

onKeys({
  ...view.keys, Escape: () => select(null), n: () => next(1), N: () => next(-1), '/': () => field.focus(),
});
document.getElementById('all').addEventListener('click', () => view.show(0, whole));

const said = document.getElementById('said');
for (const sentence of data.said) {
  const line = document.createElement('p');
  line.textContent = sentence;
  said.append(line);
}
document.getElementById('title').textContent = data.title;
const legend = document.getElementById('legend');
CLASSES.forEach((name, i) => {
  const item = document.createElement('span'), patch = document.createElement('i');
  patch.style.background = `var(--${name})`;
  item.append(patch, WORDS[i]);
  legend.append(item);
});
legend.append('wheel, + and \u2212: zoom; drag, arrows: move; shift and wheel: up and down; /: search; n: next; 0: all');
followTheme(() => {
  readColors();
  view.redraw();
});
readColors();
select(null);
view.start();
// For tests, and for who looks closer in a browser's console.
window.timeline = { data, state, ownCycles, lanes, wordsOfWait, xOf: view.xOf, timeOf: view.timeOf, draw,
  yOf: (lane, depth) => lane.y + STRIP + 2 + depth * ROW - state.top + ROW / 2 };
