// What the page shows lies in the element #data. Drawn is what can be seen: in each row the calls
// that begin in the visible time, and of those in one pixel the first.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const canvas = document.getElementById('canvas');
  const context = canvas.getContext('2d');
  const panel = document.getElementById('panel');
  const tip = document.getElementById('tip');
  const search = document.getElementById('search');
  const found = document.getElementById('found');
  const CLASSES = ['executing', 'off', 'kernel', 'lost', 'filtered', 'undecodable'];
  const WORDS = ['executing', 'off-CPU', 'kernel', 'lost', 'filtered', 'undecodable'];
  const NAMES = 150, STRIP = 14, ROW = 16, GAP = 10, AXIS = 22, CPU = 12;
  const LEAST = 20;  // of the time's units in the whole width
  const whole = Math.max(data.end - data.begin, 1);
  const state = { begin: 0, length: whole, top: 0, selected: null, matches: [], at: -1, query: '' };
  let width = 0, height = 0, colors = {}, pending = false;

  // Of each thread: its rows of calls, one for each depth, as columns of numbers.
  const lanes = [];
  let below = AXIS;
  for (const cpu of data.cpus) {
    lanes.push({ cpu, y: below, height: CPU, rows: [] });
    below += CPU + 3;
  }
  if (data.cpus.length) below += GAP;
  for (const thread of data.threads) {
    const rows = [];
    const { begin, duration, depth, fn } = thread.calls;
    let last = 0;
    for (let i = 0; i < begin.length; ++i) {
      begin[i] += last;  // as differences
      last = begin[i];
      while (rows.length <= depth[i]) rows.push([]);
      rows[depth[i]].push(i);
    }
    lanes.push({ thread, rows, y: below, height: STRIP + 2 + rows.length * ROW });
    below += STRIP + 2 + rows.length * ROW + GAP;
  }
  const bottom = below;

  const units = data.ns ? [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']] : [[1, 'ticks']];
  function duration(value) {
    for (const [size, name] of units)
      if (value >= size || size === 1) {
        const number = value / size;
        return (size === 1 ? String(Math.round(number)) : number.toPrecision(4)) + ' ' + name;
      }
    return String(value);
  }
  const count = (value) => value.toLocaleString('en');
  const xOf = (time) => NAMES + (time - state.begin) / state.length * (width - NAMES);
  const timeOf = (x) => state.begin + (x - NAMES) / (width - NAMES) * state.length;

  function colorOf(fn) {
    const name = data.functions[fn].name;
    let hash = 7;
    for (let i = 0; i < Math.min(name.length, 200); ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
    const dark = document.documentElement.dataset.theme === 'dark';
    return `hsl(${hash % 360} ${45 + (hash >> 9) % 25}% ${dark ? 32 : 72}%)`;
  }

  function readColors() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ['back', 'front', 'faint', 'line', 'panel', 'mark', ...CLASSES])
      colors[name] = style.getPropertyValue('--' + name).trim();
    colors.of = data.functions.map((_, i) => colorOf(i));
  }

  // The first of the row's calls that ends behind `time`. In a row no two overlap.
  function firstIn(row, calls, time) {
    let low = 0, high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (calls.begin[row[middle]] + calls.duration[row[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function text(string, x, y, most) {
    if (most < 14) return;
    let shown = string.length > 400 ? string.slice(0, 400) : string;
    const fits = Math.floor(most / 6.2);
    if (shown.length > fits) shown = fits > 3 ? shown.slice(0, fits - 1) + '\u2026' : '';
    context.fillText(shown, x, y);
  }

  function drawRow(row, thread, y) {
    const calls = thread.calls;
    const end = state.begin + state.length;
    const pixel = state.length / (width - NAMES);
    for (let i = firstIn(row, calls, state.begin); i < row.length;) {
      const call = row[i];
      if (calls.begin[call] > end) break;
      const x = Math.max(xOf(calls.begin[call]), NAMES);
      const right = Math.min(xOf(calls.begin[call] + calls.duration[call]), width);
      const fn = calls.fn[call];
      context.fillStyle = colors.of[fn];
      const wide = Math.max(right - x, 0.7);
      context.fillRect(x, y, wide, ROW - 1);
      if (state.query && data.functions[fn].match) {
        context.fillStyle = colors.mark;
        context.fillRect(x, y + ROW - 4, Math.max(wide, 2), 3);
      }
      if (wide > 24) {
        context.fillStyle = colors.front;
        text(data.functions[fn].name, x + 3, y + ROW - 5, wide - 5);
      }
      if (state.selected && state.selected.thread === thread && state.selected.call === call) {
        context.strokeStyle = colors.mark;
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(wide - 2, 1), ROW - 3);
      }
      // What lies in the same pixel is not looked at.
      const next = firstIn(row, calls, calls.begin[call] + Math.max(calls.duration[call], pixel));
      i = Math.max(i + 1, wide < 1 ? next : i + 1);
    }
  }

  function drawStrip(thread, y) {
    if (thread.spans) {
      const { begin, length, kind } = thread.spans;
      let low = 0, high = begin.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (begin[middle] + length[middle] < state.begin) low = middle + 1;
        else high = middle;
      }
      let drawn = -1;
      for (let i = low; i < begin.length && begin[i] < state.begin + state.length; ++i) {
        const x = Math.max(xOf(begin[i]), NAMES), right = Math.min(xOf(begin[i] + length[i]), width);
        if (right < drawn + 0.3) continue;
        context.fillStyle = colors[CLASSES[kind[i]]];
        context.fillRect(x, y, Math.max(right - x, 0.5), STRIP);
        drawn = right;
      }
      return;
    }
    const columns = thread.strip.length / 6;
    const from = Math.max(Math.floor(state.begin / whole * columns), 0);
    for (let i = from; i < columns; ++i) {
      const x = xOf(i / columns * whole), right = xOf((i + 1) / columns * whole);
      if (x > width) break;
      let all = 0;
      for (let k = 0; k < 6; ++k) all += thread.strip[i * 6 + k];
      let at = y;
      for (let k = 0; k < 6 && all; ++k) {
        const high = thread.strip[i * 6 + k] / all * STRIP;
        context.fillStyle = colors[CLASSES[k]];
        context.fillRect(Math.max(x, NAMES), at, Math.max(right - Math.max(x, NAMES), 0.5), high);
        at += high;
      }
    }
  }

  function drawCpu(cpu, y) {
    const columns = cpu.tids.length;
    for (let i = 0; i < columns; ++i) {
      if (cpu.tids[i] === null) continue;
      let j = i;
      while (j + 1 < columns && cpu.tids[j + 1] === cpu.tids[i]) ++j;
      const x = Math.max(xOf(i / columns * whole), NAMES);
      const right = Math.min(xOf((j + 1) / columns * whole), width);
      if (right > x) {
        context.fillStyle = `hsl(${(cpu.tids[i] * 47) % 360} 40% 55%)`;
        context.fillRect(x, y, right - x, CPU);
        context.fillStyle = colors.front;
        text(String(cpu.tids[i]), x + 3, y + CPU - 2, right - x - 4);
      }
      i = j;
    }
  }

  function drawAxis() {
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, AXIS);
    context.fillStyle = colors.faint;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    let step = Math.pow(10, Math.floor(Math.log10(state.length / 5)));
    if (state.length / step > 25) step *= 5;
    else if (state.length / step > 10) step *= 2;
    step = Math.max(step, 1);
    for (let at = Math.ceil(state.begin / step) * step; at <= state.begin + state.length; at += step) {
      const x = xOf(at);
      context.beginPath();
      context.moveTo(x, AXIS - 4);
      context.lineTo(x, height);
      context.stroke();
      context.fillText('+' + duration(at), x + 3, AXIS - 8);
    }
  }

  function draw() {
    pending = false;
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, height);
    context.font = '11px system-ui, sans-serif';
    drawAxis();
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    for (const lane of lanes) {
      const y = lane.y - state.top;
      if (y + lane.height < AXIS || y > height) continue;
      if (lane.cpu) {
        drawCpu(lane.cpu, y);
      } else {
        drawStrip(lane.thread, y);
        lane.rows.forEach((row, depth) => {
          const at = y + STRIP + 2 + depth * ROW;
          if (at + ROW > AXIS && at < height) drawRow(row, lane.thread, at);
        });
      }
      context.fillStyle = colors.back;
      context.fillRect(0, y, NAMES, lane.height);
      context.fillStyle = colors.front;
      text(lane.cpu ? 'CPU ' + lane.cpu.cpu : lane.thread.name, 6, y + 11, NAMES - 10);
    }
    context.restore();
  }

  function redraw() {
    if (!pending) requestAnimationFrame(draw);
    pending = true;
  }

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    height = canvas.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    show(state.begin, state.length);
  }

  function show(begin, length) {
    state.length = Math.min(Math.max(length, Math.min(LEAST, whole)), whole);
    state.begin = Math.min(Math.max(begin, 0), whole - state.length);
    redraw();
  }
  function zoom(factor, x) {
    const time = timeOf(x);
    const length = Math.min(Math.max(state.length * factor, LEAST), whole);
    show(time - (time - state.begin) * length / state.length, length);
  }
  function scroll(by) {
    state.top = Math.min(Math.max(state.top + by, 0), Math.max(bottom - height, 0));
    redraw();
  }

  function callAt(x, y) {
    if (x < NAMES || y < AXIS) return null;
    const at = y + state.top;
    for (const lane of lanes) {
      if (lane.cpu || at < lane.y + STRIP + 2 || at >= lane.y + lane.height) continue;
      const row = lane.rows[Math.floor((at - lane.y - STRIP - 2) / ROW)];
      if (!row) return null;
      const calls = lane.thread.calls;
      const reach = 2 * state.length / (width - NAMES);
      const time = timeOf(x);
      // The nearest one: several may be narrower than a pixel.
      let nearest = null, least = reach;
      for (let i = firstIn(row, calls, time - reach); i < row.length; ++i) {
        const begin = calls.begin[row[i]], end = begin + calls.duration[row[i]];
        if (begin > time + reach) break;
        const away = Math.max(begin - time, time - end, 0);
        if (away > least || (nearest && away === least)) continue;
        nearest = { thread: lane.thread, call: row[i] };
        least = away;
      }
      return nearest;
    }
    return null;
  }

  function entry(list, name, value) {
    const term = document.createElement('dt'), text = document.createElement('dd');
    term.textContent = name;
    text.textContent = value;
    list.append(term, text);
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
  function select(hit) {
    state.selected = hit;
    panel.replaceChildren();
    redraw();
    if (!hit) {
      panel.textContent = 'Click a call for its figures.';
      return;
    }
    const calls = hit.thread.calls, i = hit.call, fn = data.functions[calls.fn[i]];
    const title = document.createElement('h2');
    title.textContent = fn.name;
    const one = document.createElement('dl'), all = document.createElement('dl');
    entry(one, 'thread', hit.thread.name);
    entry(one, 'begins', '+' + duration(calls.begin[i]));
    entry(one, 'took', duration(calls.duration[i]) + (calls.whole[i] ? '' : ', not seen whole'));
    entry(one, 'proven', duration(calls.least[i]) + ' to ' + duration(calls.most[i]));
    entry(one, 'instructions', count(calls.instructions[i]));
    if (calls.cycles && calls.cycles[i]) {
      entry(one, 'cycles', `~${count(calls.cycles[i])}, at least ${count(calls.cycles_lo[i])}`);
      entry(one, 'IPC', '~' + (calls.instructions[i] / calls.cycles[i]).toFixed(2));
    }
    entry(one, 'level', String(calls.depth[i]));
    if (fn.file) entry(one, 'file', fn.file);
    if (fn.source) entry(one, 'source', fn.source);
    const heading = document.createElement('h2');
    heading.textContent = 'All its calls';
    entry(all, 'calls', count(fn.calls));
    entry(all, 'own time', duration(fn.self));
    entry(all, 'with calls', duration(fn.total));
    if (fn.quantiles) {
      entry(all, 'shortest', duration(fn.quantiles[0]));
      entry(all, 'median', duration(fn.quantiles[1]));
      entry(all, 'p99', duration(fn.quantiles[2]));
      entry(all, 'longest', duration(fn.quantiles[3]));
    }
    entry(all, 'own instructions', count(fn.instructions));
    if (fn.cycles) {
      const [likely, , , counted, untold] = fn.cycles;
      entry(all, 'own cycles', ownCycles(fn.cycles));
      if (untold) entry(all, 'cycles not known of', count(untold) + ' instructions');
      entry(all, 'own IPC', about(fn.cycles) + (counted / Math.max(likely, 1)).toFixed(2));
    }
    panel.append(title, one);
    if (fn.text) {
      const code = document.createElement('code');
      code.textContent = fn.text;
      panel.append(code);
    }
    panel.append(heading, all);
  }

  function find(query) {
    state.query = query;
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
    found.textContent = word ? count(state.matches.length) + ' calls' : '';
    redraw();
  }
  function next(step) {
    if (!state.matches.length) return;
    state.at = (state.at + step + state.matches.length) % state.matches.length;
    const hit = state.matches[state.at];
    const calls = hit.thread.calls;
    const length = Math.max(calls.duration[hit.call] * 4, state.length / 50, LEAST);
    show(calls.begin[hit.call] + calls.duration[hit.call] / 2 - length / 2, length);
    const y = hit.lane.y + STRIP + 2 + calls.depth[hit.call] * ROW;
    if (y - state.top < AXIS || y - state.top > height - ROW) scroll(y - height / 2 - state.top);
    found.textContent = `${state.at + 1} of ${count(state.matches.length)} calls`;
    select({ thread: hit.thread, call: hit.call });
  }

  let drag = null;
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    if (event.shiftKey) return scroll(event.deltaY);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
      return show(state.begin + event.deltaX / width * state.length, state.length);
    zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), Math.max(event.offsetX, NAMES));
  }, { passive: false });
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.offsetX, y: event.offsetY, begin: state.begin, top: state.top, moved: false };
  });
  canvas.addEventListener('pointermove', (event) => {
    if (drag) {
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
      if (!drag.moved) return;
      tip.style.display = 'none';
      show(drag.begin - dx / (width - NAMES) * state.length, state.length);
      scroll(drag.top - dy - state.top);
      return;
    }
    const hit = callAt(event.offsetX, event.offsetY);
    tip.style.display = hit ? 'block' : 'none';
    if (!hit) return;
    const calls = hit.thread.calls;
    tip.textContent = data.functions[calls.fn[hit.call]].name.slice(0, 400) + ', ' +
      duration(calls.duration[hit.call]);
    tip.style.left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 4) + 'px';
    tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4) + 'px';
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag && !drag.moved) select(callAt(event.offsetX, event.offsetY));
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => { tip.style.display = 'none'; });
  canvas.addEventListener('dblclick', (event) => {
    const hit = callAt(event.offsetX, event.offsetY);
    if (!hit) return;
    const calls = hit.thread.calls;
    show(calls.begin[hit.call] - calls.duration[hit.call] * 0.05, calls.duration[hit.call] * 1.1);
  });
  const keys = {
    '+': () => zoom(1 / 1.5, (width + NAMES) / 2), '=': () => zoom(1 / 1.5, (width + NAMES) / 2),
    '-': () => zoom(1.5, (width + NAMES) / 2), w: () => zoom(1 / 1.5, (width + NAMES) / 2),
    s: () => zoom(1.5, (width + NAMES) / 2),
    ArrowLeft: () => show(state.begin - state.length / 8, state.length),
    ArrowRight: () => show(state.begin + state.length / 8, state.length),
    a: () => show(state.begin - state.length / 8, state.length),
    d: () => show(state.begin + state.length / 8, state.length),
    ArrowUp: () => scroll(-60), ArrowDown: () => scroll(60),
    0: () => show(0, whole), Escape: () => select(null), n: () => next(1), N: () => next(-1),
    '/': () => search.focus(),
  };
  window.addEventListener('keydown', (event) => {
    if (event.target === search) {
      if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') { search.value = ''; find(''); canvas.focus(); }
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  search.addEventListener('input', () => find(search.value));
  document.getElementById('all').addEventListener('click', () => show(0, whole));
  document.getElementById('theme').addEventListener('click', () => {
    const root = document.documentElement;
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
    readColors();
    redraw();
  });

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
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light';
  dark.addEventListener('change', () => {
    document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light';
    readColors();
    redraw();
  });
  readColors();
  select(null);
  new ResizeObserver(resize).observe(canvas);
  resize();
  // For tests, and for who looks closer in a browser's console.
  window.timeline = { data, state, ownCycles, lanes, xOf, timeOf, yOf: (lane, depth) => lane.y + STRIP + 2 + depth * ROW - state.top + ROW / 2, draw };
})();
