// The waits: the threads below each other, of each a strip of its time, and below it the longest waits, and when others
// waited for what it held. Needs theme.js, numbers.js, tip.js, search.js, figures.js, zoom.js and strip.js.
const canvas = document.getElementById('canvas');
const panel = document.getElementById('panel');
const { report } = data;
const KINDS = ['idle', 'spinning', 'sleeping'];
const WORDS = { idle: 'not waiting', spinning: 'spinning', sleeping: 'sleeping', holding: 'holding a lock that others wait for' };
const NAMES = 150, STRIP = 14, BAR = 12, HELD = 6, GAP = 12, AXIS = 22, LEAST = 20;
const HEIGHT = STRIP + 2 + BAR + 1 + HELD;
const whole = Math.max(report.end - report.begin, 1);
const duration = durationIn(report.nanoseconds);
const percent = (part, of) => (of ? (100 * part / of).toFixed(1) : '0') + ' %';
let colors = {}, kinds = [];

const lanes = data.lanes.map((lane, i) =>
  ({ ...lane, y: AXIS + i * (HEIGHT + GAP), height: HEIGHT, waits: [], held: [] }));
const laneOf = new Map(lanes.map((lane) => [lane.tid, lane]));
// Each wait once: `worst` has those that did not end, too.
const waits = report.worst.map((wait, number) => ({ ...wait, number, at: wait.begin - report.begin }));
for (const wait of waits) {
  const lane = laneOf.get(wait.tid), holder = wait.holder === null ? null : laneOf.get(wait.holder);
  if (lane) lane.waits.push(wait);
  if (holder) holder.held.push(wait);
}
for (const lane of lanes) {
  lane.waits.sort((a, b) => a.at - b.at);
  lane.held.sort((a, b) => a.at - b.at);
}

const view = zoomable(canvas, {
  whole, least: LEAST, left: NAMES, bottom: AXIS + lanes.length * (HEIGHT + GAP), draw, at: waitAt, click: select,
  hover(event, wait) {
    if (!wait) return tip.hide();
    tip.show(event, `${data.sites[wait.site]}, ${duration(wait.time)}${wait.holder === null ? '' : ', held by ' + nameOf(wait.holder)}`);
  },
  open(wait) { view.show(wait.at - wait.time * 0.1, wait.time * 1.2); },
});
const state = Object.assign(view.state, { selected: null, site: null, matches: [], at: -1 });
const field = searchField({ find, next, leave: () => canvas.focus() });
const nameOf = (tid) => (laneOf.has(tid) ? laneOf.get(tid).name : String(tid));

function readColors() {
  colors = themeColors(['back', 'front', 'faint', 'line', 'panel', 'mark', 'holding', ...KINDS]);
  kinds = KINDS.map((name) => colors[name]);
}

const isFaint = (wait) => state.site !== null && wait.site !== state.site;

// Bars of waits; neighbours that are too narrow to be seen apart are one.
function drawBars(list, y, high, colorOf) {
  const { context, left, width } = view;
  let drawn = -1;
  for (const wait of list) {
    if (wait.at > state.begin + state.length) break;
    const x = Math.max(view.xOf(wait.at), left), right = Math.min(view.xOf(wait.at + wait.time), width);
    if (right < left || (right < drawn + 0.3 && wait !== state.selected)) continue;
    context.fillStyle = colorOf(wait);
    context.fillRect(x, y, Math.max(right - x, 1), high);
    if (wait === state.selected) {
      context.strokeStyle = colors.front;
      context.lineWidth = 2;
      context.strokeRect(x, y, Math.max(right - x, 2), high);
    }
    if (high >= BAR && right - x > 40) {
      context.fillStyle = colors.front;
      drawText(context, data.sites[wait.site], x + 3, y + 10, right - x - 4);
    }
    drawn = Math.max(drawn, right);
  }
}

// From the waiter to the lane of the one that held the lock: dashed if another thread may have held it.
function drawArrow(wait) {
  const { context } = view;
  const from = laneOf.get(wait.tid), to = laneOf.get(wait.holder);
  if (!from || !to) return;
  const x = view.xOf(wait.at);
  if (x < view.left || x > view.width) return;
  const down = to.y > from.y;
  const y0 = from.y - state.top + (down ? STRIP + 2 + BAR : STRIP + 2);
  const y1 = to.y - state.top + STRIP + 3 + BAR + (down ? 0 : HELD);
  context.strokeStyle = context.fillStyle = wait === state.selected ? colors.mark : colors.holding;
  context.lineWidth = wait === state.selected ? 2 : 1;
  context.setLineDash(wait.certain ? [] : [4, 3]);
  context.beginPath();
  context.moveTo(x, y0);
  context.lineTo(x, y1);
  context.stroke();
  context.setLineDash([]);
  const tip = down ? -5 : 5;
  context.beginPath();
  context.moveTo(x, y1);
  context.lineTo(x - 3, y1 + tip);
  context.lineTo(x + 3, y1 + tip);
  context.fill();
}

function drawLane(lane, y) {
  drawShares(view, lane.strip, whole, y, STRIP, kinds);
  drawBars(lane.waits, y + STRIP + 2, BAR, (wait) =>
    isFaint(wait) ? colors.line : wait.sleeping * 2 > wait.time ? colors.sleeping : colors.spinning);
  drawBars(lane.held, y + STRIP + 3 + BAR, HELD, (wait) => (isFaint(wait) ? colors.line : colors.holding));
}

// Arrows of what is wide enough; the longest ones where there are many.
function arrows() {
  const MOST = 60;
  const shown = waits.filter((wait) => !isFaint(wait) && wait.holder !== null &&
    wait.at < state.begin + state.length && wait.at >= state.begin &&
    (wait.time > 3 * view.pixel() || wait === state.selected));
  return shown.slice(0, MOST);
}

function draw() {
  clean(view, colors);
  drawTimes(view, AXIS, colors, duration);
  drawLanes(view, lanes, AXIS, colors, drawLane, () => {
    for (const wait of arrows()) drawArrow(wait);
    if (state.selected) drawArrow(state.selected);
  });
}

function waitAt(x, y) {
  if (x < NAMES || y < AXIS) return null;
  const at = y + state.top;
  const lane = lanes.find((each) => at >= each.y + STRIP + 2 && at < each.y + HEIGHT);
  if (!lane) return null;
  const list = at < lane.y + STRIP + 2 + BAR + 1 ? lane.waits : lane.held;
  const time = view.timeOf(x), slack = 3 * view.pixel();
  let best = null, least = Infinity;
  for (const wait of list) {
    const off = Math.max(wait.at - time, time - wait.at - wait.time, 0);
    if (off > slack || off > least || (off === least && best && wait.time > best.time)) continue;
    best = wait;
    least = off;
  }
  return best;
}

function sitesTable() {
  const table = document.createElement('table');
  report.sites.forEach((site, i) => {
    if (!site.waits) return;
    const row = table.insertRow();
    row.dataset.site = i;
    if (i === state.site) row.className = 'chosen';
    for (const words of [report.has_times ? percent(site.waiting, report.waits.life) : count(site.trips) + ' trips',
      count(site.waits) + (site.waits === 1 ? ' wait' : ' waits'), data.sites[i]]) row.insertCell().textContent = words;
    row.addEventListener('click', () => choose(i === state.site ? null : i));
  });
  return table;
}
function figuresOfSite(site) {
  const figures = [['waits', count(site.waits)]];
  if (site.acquisitions !== null) figures.push(['acquisitions', count(site.acquisitions)]);
  figures.push(['trips', count(site.trips)], ['sleeps', count(site.sleeps)]);
  if (report.has_times)
    figures.push(['waiting', duration(site.waiting)], ['spinning', duration(site.spinning)],
      ['sleeping', duration(site.sleeping)], ['median', duration(site.median)], ['p90', duration(site.p90)],
      ['p99', duration(site.p99)], ['longest', duration(site.max)]);
  for (const holder of site.holders)
    figures.push(['held by', `${nameOf(holder.tid)} for ${duration(holder.time)}, ${percent(holder.certain, site.waiting)} for certain`]);
  return figures;
}
function callersList(callers) {
  const list = document.createElement('ol');
  for (const caller of callers) list.appendChild(document.createElement('li')).textContent = caller || '??';
  return list;
}
const STATES = { 'begun-before': 'begun before the trace', 'cut-by-end': 'not ended when the trace did', lost: 'cut by a loss' };
function figuresOfWait(wait) {
  const figures = [['thread', nameOf(wait.tid)], ['begins', '+' + duration(wait.at)], ['took', duration(wait.time)],
    ['sleeping', duration(wait.sleeping)], ['trips', count(wait.trips)], ['sleeps', count(wait.sleeps)]];
  if (wait.cycles) figures.push(['cycles', count(wait.cycles)]);
  if (STATES[wait.state]) figures.push(['seen', STATES[wait.state]]);
  if (wait.holder !== null) figures.push([wait.certain ? 'held by' : 'perhaps held by', nameOf(wait.holder)]);
  return figures;
}
function show() {
  panel.replaceChildren();
  const wait = state.selected;
  if (wait) {
    panel.append(figureHeading(data.sites[wait.site]), figureList(figuresOfWait(wait)));
    if (wait.callers.length) panel.append(figureHeading('Called by'), callersList(wait.callers));
  } else if (state.site !== null) {
    panel.append(figureHeading(data.sites[state.site]), figureList(figuresOfSite(report.sites[state.site])));
  }
  if (report.sites.length) panel.append(figureHeading('Waits by site'), sitesTable());
  view.redraw();
}
function select(wait) {
  state.selected = wait;
  if (wait && isFaint(wait)) state.site = wait.site;
  show();
}
function choose(site) {
  state.site = site;
  state.selected = null;
  show();
}

function find(query) {
  const word = query.toLowerCase();
  const isMatch = data.sites.map((name, i) => word !== '' &&
    (name.toLowerCase().includes(word) || report.sites[i].callers.some((each) => each.toLowerCase().includes(word))));
  state.matches = waits.filter((wait) => isMatch[wait.site]);
  state.at = -1;
  field.say(word ? count(state.matches.length) + ' waits' : '');
  view.redraw();
}
// Goes to the next of the waits that were found, or of all, the longest first.
function next(step) {
  const list = state.matches.length ? state.matches : waits;
  if (!list.length) return;
  state.at = (state.at + step + list.length) % list.length;
  const wait = list[state.at], lane = laneOf.get(wait.tid);
  view.show(wait.at - wait.time, Math.max(wait.time * 3, LEAST));
  if (lane && (lane.y - state.top < AXIS || lane.y - state.top > view.height - HEIGHT))
    view.scroll(lane.y - view.height / 2 - state.top);
  field.say(`${state.at + 1} of ${count(list.length)} waits`);
  select(wait);
}

onKeys({
  ...view.keys, Escape: () => choose(null), n: () => next(1), N: () => next(-1), '/': () => field.focus(),
});
document.getElementById('all').addEventListener('click', () => view.show(0, whole));
const said = document.getElementById('said');
for (const sentence of report.sentences) said.appendChild(document.createElement('p')).textContent = sentence;
if (waits.length < report.waits.waits)
  said.appendChild(document.createElement('p')).textContent = `The page has the ${count(waits.length)} longest waits.`;
document.getElementById('title').textContent = data.title;
const legend = document.getElementById('legend');
for (const [name, words] of Object.entries(WORDS)) {
  const item = document.createElement('span'), patch = document.createElement('i');
  patch.style.background = `var(--${name})`;
  item.append(patch, words);
  legend.append(item);
}
legend.append('arrow: from the one that waits to the one that holds, dashed: perhaps; wheel, + and \u2212: zoom; ' +
  'drag, arrows: move; /: search; n: next wait; 0: all');
followTheme(() => {
  readColors();
  view.redraw();
});
readColors();
show();
view.start();
// For tests, and for who looks closer in a browser's console.
window.locks = { data, state, waits, lanes, arrows, xOf: view.xOf, draw,
  placeOf: (wait) => ({ x: view.xOf(wait.at + wait.time / 2), y: laneOf.get(wait.tid).y + STRIP + 2 + BAR / 2 - state.top }) };
