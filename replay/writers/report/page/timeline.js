// The pictures of the report: threads over time, and call paths as a flame graph. Needs theme.js, numbers.js, tip.js,
// zoom.js, strip.js, flame.js and the timeline's flamegraph.js. A section's `timeline` has the data of the timeline's page.
const CLASSES = ['executing', 'off', 'kernel', 'lost', 'filtered', 'undecodable', 'spinning', 'sleeping'];
const CLASS_WORDS = ['executing', 'off-CPU', 'kernel', 'lost', 'filtered', 'undecodable', 'spinning', 'sleeping'];
const charts = [];  // each has view, draw(), find(words)

function chartColors(timeline) {
  const colors = themeColors(['back', 'front', 'faint', 'line', 'panel', 'mark', ...CLASSES]);
  colors.of = timeline.functions.map((fn) => colorOfName(fn.name)).concat([colors.line, colors.line]);
  return colors;
}
function stage(label, high) {
  const canvas = make('canvas', { tabindex: '0', 'aria-label': label });
  canvas.style.height = high + 'px';
  return canvas;
}
const zoomHint = 'ctrl and wheel, + and \u2212: zoom; drag, arrows: move; double click: zoom to a call; 0: all';

// The threads below each other: of each a strip of what it did, and below it its calls by depth.
function threadsChart(timeline) {
  const NAMES = window.innerWidth < 600 ? 64 : 130, STRIP = 12, ROW = 14, GAP = 8, AXIS = 22, MOST = 560, DEEPEST = 10;
  const whole = Math.max(timeline.end - timeline.begin, 1), duration = durationIn(timeline.ns);
  let below = AXIS, colors = {};
  const lanes = timeline.threads.map((thread) => {
    const rows = callRows(thread.calls).slice(0, DEEPEST);
    const lane = { thread, rows, name: thread.name, y: below, height: STRIP + 2 + rows.length * ROW };
    below += lane.height + GAP;
    return lane;
  });
  const canvas = stage('threads over time', Math.min(below, MOST));
  const view = zoomable(canvas, {
    whole, least: 20, left: NAMES, bottom: below, wheel_needs: 'ctrlKey', draw, at,
    click(hit) {
      view.state.selected = hit;
      view.redraw();
    },
    hover(event, hit) { hit ? tip.show(event, words(hit)) : tip.hide(); },
    open({ thread, call }) { view.show(thread.calls.begin[call] - thread.calls.duration[call] * 0.05, thread.calls.duration[call] * 1.1); },
  });
  view.state.selected = null;
  let dims = false;

  function words({ thread, call }) {
    const { fn, duration: length, begin, instructions } = thread.calls;
    return `${timeline.functions[fn[call]].name}, ${duration(length[call])}, ${count(instructions[call])} instructions, at +${duration(begin[call])}`;
  }
  function drawLane({ thread, rows }, y) {
    const of = CLASSES.map((name) => colors[name]);
    if (thread.spans) drawSpans(view, thread.spans, y, STRIP, of);
    else drawShares(view, thread.strip, whole, y, STRIP, of.slice(0, timeline.kinds));
    const { selected } = view.state;
    rows.forEach((row, depth) => drawCalls(view, row, thread.calls, y + STRIP + 2 + depth * ROW, ROW,
      { functions: timeline.functions, colors, dims, selected: selected && selected.thread === thread ? selected.call : null }));
  }
  function draw() {
    colors = chartColors(timeline);
    clean(view, colors);
    drawTimes(view, AXIS, colors, duration);
    drawLanes(view, lanes, AXIS, colors, drawLane);
  }
  function at(x, y) {
    if (x < NAMES || y < AXIS) return null;
    const place = y + view.state.top;
    const lane = lanes.find((each) => place >= each.y + STRIP + 2 && place < each.y + each.height);
    if (!lane) return null;
    const row = lane.rows[Math.floor((place - lane.y - STRIP - 2) / ROW)];
    const call = row ? nearestCall(view, row, lane.thread.calls, view.timeOf(x)) : null;
    return call === null ? null : { thread: lane.thread, call };
  }
  keysOf(canvas, view.keys);
  charts.push({ canvas, view, draw, lanes, find(isFound) { dims = isFound; view.redraw(); } });
  return canvas;
}

const legendOf = (timeline) => make('div', { class: 'legend' }, CLASSES.map((name, i) => {
  if (!timeline.threads.some((thread) => hasClass(timeline, thread, i))) return null;
  const patch = make('i');
  patch.style.background = `var(--${name})`;
  return make('span', {}, patch, CLASS_WORDS[i]);
}), make('span', { class: 'hint' }, zoomHint));
function hasClass({ kinds }, { spans, strip }, kind) {
  return spans ? spans.kind.includes(kind) : kind < kinds && strip.some((time, i) => i % kinds === kind && time > 0);
}

// The call paths. Returns the elements: a choice of the measure, and the picture.
function flameElements(timeline) {
  const duration = durationIn(timeline.ns), { time, instructions } = timeline.paths;
  const measures = [];
  if (time[0] > 0) measures.push({ name: 'time', of: time, words: duration });
  if (instructions[0] > 0) measures.push({ name: 'instructions', of: instructions, words: (value) => plural(value, 'instruction') });
  if (timeline.emulated) measures.reverse();
  if (!measures.length) return [];
  const depths = [];
  timeline.paths.parent.forEach((parent, i) => { depths[i] = i ? depths[parent] + 1 : 0; });
  const deepest = depths.reduce((most, depth) => Math.max(most, depth), 0);
  const canvas = stage('flame graph of call paths', Math.min(deepest + 1, 24) * 18);
  const graph = flameGraph(canvas, { data: timeline, measures, colorsOf: () => chartColors(timeline), chosen() {}, wheel_needs: 'ctrlKey' });
  keysOf(canvas, { ...graph.view.keys, Escape: () => graph.view.keys[0]() });
  charts.push({ canvas, view: graph.view, draw: () => graph.draw(), graph, find(isFound) { graph.dims = isFound; graph.view.redraw(); } });
  const buttons = measures.map(({ name }, i) => make('button', { 'aria-pressed': String(i === 0), click() {
    buttons.forEach((button, j) => button.setAttribute('aria-pressed', String(i === j)));
    graph.measure(i);
  } }, name));
  return [make('div', { class: 'tools' }, 'as wide as its', buttons, make('button', { click: () => graph.view.keys[0]() }, 'all (0)')),
    make('div', { class: 'stage' }, canvas)];
}

// The functions with most of their own: of time, or under emulation of instructions.
function functionsTable(timeline, rows = 25) {
  const duration = durationIn(timeline.ns), { instructions } = timeline.paths;
  const hasTimes = timeline.times.executing > 0, byTime = !timeline.emulated && hasTimes;
  const key = byTime ? 'self' : 'instructions', whole = byTime ? timeline.times.executing : instructions[0];
  const sorted = timeline.functions.filter((fn) => fn[key] > 0).sort((a, b) => b[key] - a[key]);
  if (!sorted.length) return [make('p', { class: 'none' }, 'No instruction is known to have executed.'), 0];
  const columns = [
    ['', (fn) => [percent(fn[key], whole), shareBar(fn[key] / whole)]],
    ['own instructions', (fn) => count(fn.instructions)],
  ];
  if (hasTimes) columns.push(['own time', (fn) => duration(fn.self)], ['with calls', (fn) => duration(fn.total)]);
  columns.push(['calls', (fn) => count(fn.calls)],
    ['function', (fn) => nameAndPlace(fn.name, fn.source || fn.file), 'l w']);
  return [table(columns, sorted.slice(0, rows), (fn) => fn.name), Math.max(sorted.length - rows, 0) + timeline.left_out.functions];
}
