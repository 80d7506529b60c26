// The timeline: the threads below each other, of each a strip and below it the calls by depth. Needs theme.js, numbers.js,
// tip.js, search.js, figures.js, zoom.js, minimap.js, strip.js, flame.js, and the other scripts of this folder.
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

// CPUs, then threads with their rows of calls, one for each depth.
const lanes = data.cpus.map((cpu) => ({ cpu, name: 'CPU ' + cpu.cpu, height: CPU, gap: 3, rows: [] }));
if (lanes.length) lanes.at(-1).gap += GAP;
for (const thread of data.threads) lanes.push({ thread, name: thread.name, gap: GAP, rows: callRows(thread.calls) });

// How many rows have a call in the time that is shown.
function rowsInSight({ thread, rows }) {
  let shown = rows.length;
  const { begin, length } = view.state;
  const isEmpty = (row) => {
    const first = row[firstIn(row, thread.calls, begin)];
    return first === undefined || thread.calls.begin[first] > begin + length;
  };
  while (shown > 0 && isEmpty(rows[shown - 1])) --shown;
  return shown;
}
// Places the lanes below each other: rows without a call in sight take no room. The lane at the upper edge stays there.
function layOut() {
  const first = lanes.find((lane) => lane.y !== undefined && lane.y + lane.height - view.state.top > AXIS);
  const offset = first ? first.y - view.state.top : 0;
  let below = AXIS;
  for (const lane of lanes) {
    lane.y = below;
    if (lane.thread) {
      lane.shown = rowsInSight(lane);
      lane.height = STRIP + 2 + lane.shown * ROW;
    }
    below += lane.height + lane.gap;
  }
  if (first && offset < AXIS) view.state.top = first.y - offset;
  view.reach(below);
}

const view = zoomable(canvas, {
  whole, least: LEAST, left: NAMES, bottom: 0, draw, at: callAt, click: select, mark: markSpan,
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
const state = Object.assign(view.state, { selected: null, span: null, word: '', matches: [], at: -1, absolute: false });
const field = searchField({ find, next, leave: () => canvas.focus() });

function readColors() {
  colors = themeColors(['back', 'front', 'faint', 'line', 'panel', 'mark', ...CLASSES]);
  colors.of = data.functions.map((fn) => colorOfName(fn.name));
  kinds = CLASSES.map((name) => colors[name]);
}

function drawThread({ thread, rows, shown }, y) {
  if (thread.spans) drawSpans(view, thread.spans, y, STRIP, kinds);
  else drawShares(view, thread.strip, whole, y, STRIP, kinds);
  if (thread.waits) drawWaits(thread.waits, y);
  const selected = state.selected && state.selected.thread === thread ? state.selected.call : null;
  rows.slice(0, shown).forEach((row, depth) => {
    const at = y + STRIP + 2 + depth * ROW;
    if (at + ROW > AXIS && at < view.height)
      drawCalls(view, row, thread.calls, at, ROW, { functions: data.functions, colors, selected, dims: state.word !== '' });
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

// With enough digits to tell apart times that lie `step` apart.
function absolute(time, step) {
  const words = moment(time);
  return data.ns ? words.slice(0, words.length - Math.min(Math.max(Math.floor(Math.log10(step)), 0), 8)) : words;
}
function drawSpan() {
  if (!state.span) return;
  const { context, left, width, height } = view;
  const x = Math.max(view.xOf(state.span.from), left), right = Math.min(view.xOf(state.span.to), width);
  if (right < left || x > width) return;
  context.globalAlpha = 0.18;
  context.fillStyle = colors.mark;
  context.fillRect(x, AXIS, Math.max(right - x, 1), height);
  context.globalAlpha = 1;
  context.fillRect(x, AXIS - 3, Math.max(right - x, 1), 3);
}
function drawCorner() {
  const { context } = view;
  context.fillStyle = colors.back;
  context.fillRect(0, 0, NAMES, AXIS);
  context.fillStyle = colors.faint;
  drawText(context, moment(state.begin), 6, AXIS - 8, NAMES - 10);
}
function draw() {
  layOut();
  clean(view, colors);
  drawTimes(view, AXIS, colors, duration, state.absolute ? absolute : undefined);
  drawCorner();
  drawLanes(view, lanes, AXIS, colors, (lane, y) => {
    if (lane.cpu) drawNumbers(view, lane.cpu.tids, whole, y, CPU, colors.front);
    else drawThread(lane, y);
  });
  drawSpan();
  map.draw();
}

// The threads' strips, as high as there is room for.
function drawMap(of) {
  const threads = lanes.filter((lane) => lane.thread);
  const high = of.height / Math.max(threads.length, 1);
  const step = Math.max(Math.ceil(1 / Math.max(high, 1e-9)), 1);
  for (let i = 0; i < threads.length; i += step) {
    const { thread } = threads[i], y = i * high, room = Math.max(high * step - (high > 3 ? 1 : 0), 1);
    if (thread.spans) drawSpans(of, thread.spans, y, room, kinds);
    else drawShares(of, thread.strip, whole, y, room, kinds);
  }
}
const map = minimap(document.getElementById('map'), view, { whole, left: NAMES, drawAll: drawMap, colorsOf: () => colors });

function callAt(x, y) {
  if (x < NAMES || y < AXIS) return null;
  const at = y + state.top;
  for (const lane of lanes) {
    if (lane.cpu || at < lane.y || at >= lane.y + lane.height) continue;
    if (at < lane.y + STRIP + 2) return waitAt(lane.thread, view.timeOf(x));
    const depth = Math.floor((at - lane.y - STRIP - 2) / ROW);
    if (depth >= lane.shown) return null;
    const row = lane.rows[depth];
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
function select(hit) {
  state.selected = hit;
  state.span = null;
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

// A span of time was chosen: sums over all threads.
function markSpan(from, to, done) {
  state.selected = null;
  state.span = { from, to };
  view.redraw();
  if (!done) return;
  const classes = new Array(CLASSES.length).fill(0), sums = {};
  for (const { thread, rows } of lanes) {
    if (!thread) continue;
    classesIn(thread, from, to, whole, CLASSES.length).forEach((time, i) => { classes[i] += time; });
    functionsIn(thread, rows, from, to, sums);
  }
  const figures = [['from', moment(from)], ['to', moment(to)], ['length', duration(to - from)]];
  CLASSES.forEach((_, i) => classes[i] > 0 && figures.push([WORDS[i], duration(classes[i])]));
  const most = Object.values(sums).filter(({ own }) => own > 0).sort((a, b) => b.own - a.own).slice(0, 15);
  panel.replaceChildren(figureHeading('Selected time, all threads'), figureList(figures));
  state.sums = { classes, functions: Object.values(sums) };
  if (!most.length) return;
  panel.append(figureHeading('Own time of the calls shown'),
    figureList(most.map(({ fn, own, calls }) => [duration(own), `${data.functions[fn].name.slice(0, 200)}, ${count(calls)} calls begin`])));
}
// What is selected: the time of a call, of a wait, or the chosen span.
function selectedTime() {
  const hit = state.selected;
  if (!hit) return state.span;
  if (hit.wait) return { from: hit.wait.begin, to: hit.wait.begin + hit.wait.length };
  const { begin, duration: length } = hit.thread.calls;
  return { from: begin[hit.call], to: begin[hit.call] + length[hit.call] };
}
function focusSelected() {
  const time = selectedTime();
  if (time) view.show(time.from - (time.to - time.from) * 0.05, (time.to - time.from) * 1.1);
}
function markSelected() {
  const time = selectedTime();
  if (time) markSpan(time.from, time.to, true);
}

function find(query) {
  state.matches = [];
  state.at = -1;
  const word = state.word = query.toLowerCase();
  graph.dims = word !== '';
  for (const fn of data.functions) fn.match = word !== '' && fn.name.toLowerCase().includes(word);
  if (word)
    for (const lane of lanes)
      if (lane.thread)
        lane.thread.calls.fn.forEach((fn, i) => {
          if (data.functions[fn].match) state.matches.push({ thread: lane.thread, call: i, lane });
        });
  field.say(word ? count(state.matches.length) + ' calls' : '');
  view.redraw();
  graph.view.redraw();
}
function next(step) {
  if (!state.matches.length) return;
  state.at = (state.at + step + state.matches.length) % state.matches.length;
  const hit = state.matches[state.at];
  const calls = hit.thread.calls;
  const length = Math.max(calls.duration[hit.call] * 4, state.length / 50, LEAST);
  view.show(calls.begin[hit.call] + calls.duration[hit.call] / 2 - length / 2, length);
  layOut();
  const y = hit.lane.y + STRIP + 2 + calls.depth[hit.call] * ROW;
  if (y - state.top < AXIS || y - state.top > view.height - ROW) view.scroll(y - view.height / 2 - state.top);
  field.say(`${state.at + 1} of ${count(state.matches.length)} calls`);
  select({ thread: hit.thread, call: hit.call });
}

const element = (name) => document.getElementById(name);
const measures = [
  { name: 'time', of: data.paths.time, words: duration },
  { name: 'instructions', of: data.paths.instructions, words: (value) => count(value) + ' instructions' },
];
if (data.emulated) measures.reverse();
const graph = flameGraph(element('flame'), {
  data, measures, colorsOf: () => colors,
  chosen(fn) {
    panel.replaceChildren();
    if (fn === null) return;
    panel.append(figureHeading(data.functions[fn].name), figureList(figuresOfAll(data.functions[fn])));
  },
});
for (const [i, { name }] of measures.entries()) element('measure').append(new Option(name, i));
element('measure').addEventListener('change', () => graph.measure(Number(element('measure').value)));
function showFlame(shows) {
  document.body.classList.toggle('flames', shows);
  element('flames').textContent = shows ? 'timeline (g)' : 'flame graph (g)';
}
const shownView = () => (document.body.classList.contains('flames') ? graph.view : view);
const toggleFlame = () => showFlame(!document.body.classList.contains('flames'));
const toggleTimes = () => {
  state.absolute = !state.absolute;
  element('times').textContent = state.absolute ? 'times from begin (t)' : 'absolute times (t)';
  view.redraw();
};
const keys = Object.fromEntries(Object.keys(view.keys).map((key) => [key, () => shownView().keys[key]()]));
onKeys({
  ...keys, Escape: () => select(null), n: () => next(1), N: () => next(-1), '/': () => field.focus(),
  f: focusSelected, m: markSelected, g: toggleFlame, t: toggleTimes, b: () => shownView().back(), Backspace: () => shownView().back(),
  q: () => panel.classList.toggle('hidden'), '?': () => element('keys').classList.toggle('hidden'),
});
element('all').addEventListener('click', () => shownView().keys[0]());
element('back').addEventListener('click', () => shownView().back());
element('flames').addEventListener('click', toggleFlame);
element('times').addEventListener('click', toggleTimes);
element('help').addEventListener('click', () => element('keys').classList.toggle('hidden'));

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
legend.append('wheel: zoom; drag: move; shift and drag: select a span; ?: keys');
followTheme(() => {
  readColors();
  view.redraw();
  graph.view.redraw();
});
readColors();
select(null);
view.start();
graph.view.start();
// For tests, and for who looks closer in a browser's console.
window.timeline = { data, state, ownCycles, lanes, view, graph, map: map.map, moment, wordsOfWait, xOf: view.xOf, timeOf: view.timeOf, draw,
  yOf: (lane, depth) => lane.y + STRIP + 2 + depth * ROW - state.top + ROW / 2 };
