// The flame graph of the mean slow instance, or the mean normal one: as wide as what a path costs
// in it, and coloured by how much more or less that is than in the other. Needs paths.js, zoom.js,
// flame.js, theme.js and tip.js.
function differenceFlame() {
  const canvas = document.getElementById('flame'), line = document.getElementById('path');
  const ROW = 18, MOST = 380, SEEN = 0.004;  // of the width: narrower towers are scrolled to
  const modes = { slow: slowMean, normal: normalMean };
  let mode = 'slow', colors = {}, chosen = 0, matches = [], at = -1;
  let calls = null, rows = [], view = null;

  const weight = (costs, i) => weightOf(costs.all[i]);
  // The children that cost something, the largest first.
  const below = (costs, i) => paths[i].children.filter((child) => weight(costs, child) > 0)
    .sort((a, b) => weight(costs, b) - weight(costs, a));

  function layOut() {
    const costs = modes[mode];
    calls = { begin: [], duration: [], depth: [], fn: paths.map((path) => path.i), is: paths.map(() => false) };
    rows = [];
    const work = [[0, 0]];
    while (work.length) {
      const [i, begin] = work.pop();
      calls.begin[i] = begin;
      calls.duration[i] = weight(costs, i);
      calls.depth[i] = paths[i].depth;
      calls.is[i] = true;
      (rows[paths[i].depth] ||= []).push(i);
      let next = begin;
      for (const child of below(costs, i)) {
        work.push([child, next]);
        next += weight(costs, child);
      }
    }
    for (const row of rows) row.sort((a, b) => calls.begin[a] - calls.begin[b]);
  }

  function words(i) {
    const group = (name, costs, instances) => {
      const cost = costs.all[i];
      const of = cost.instances ? `, in ${count(cost.instances)} of ${count(instances)}` : '';
      return `${name}: ${measured(weightOf(cost))}, ${number(cost.entries)} ${cost.entries === 1 ? 'entry' : 'entries'} each${of}`;
    };
    const path = paths[i], more = weight(slowMean, i) - weight(normalMean, i);
    return [
      path.full && path.full !== path.name ? path.full : path.name,
      path.site && 'called at ' + path.site, path.line,
      group('slow', slowMean, report.slow), group('normal', normalMean, report.normal),
      `difference: ${signed(more, measured)}`,
    ].filter(Boolean);
  }

  function colorOf(i) {
    const slow = weight(slowMean, i), normal = weight(normalMean, i), larger = Math.max(slow, normal);
    return shadeOf(larger ? (slow - normal) / larger : 0);
  }
  // -1: normal ones alone have it; 1: slow ones alone.
  function shadeOf(share) {
    const strength = Math.round(Math.abs(share) * 100);
    return `color-mix(in srgb, ${share > 0 ? colors.more : colors.less} ${strength}%, ${colors.same})`;
  }

  function drawRow(row, depth) {
    const y = depth * ROW - view.state.top;
    if (y + ROW >= 0 && y < view.height)
      drawCalls(view, row, calls, y, ROW, { functions: paths, colors, selected: chosen || null });
  }
  function draw() {
    clean(view, colors);
    rows.forEach(drawRow);
  }
  function pathAt(x, y) {
    const row = rows[Math.floor((y + view.state.top) / ROW)];
    const found = row ? nearestCall(view, row, calls, view.timeOf(x)) : null;
    return found === null ? null : { path: found };
  }
  function make() {
    layOut();
    const depth = rows.length * ROW, whole = Math.max(weight(modes[mode], 0), 1e-9);
    const seen = rows.findLastIndex((row) => row.some((i) => calls.duration[i] >= SEEN * whole)) + 1;
    canvas.parentElement.style.height = Math.min(Math.max(seen, 4) * ROW, MOST) + 'px';
    if (view) return view.span(whole, depth);
    view = zoomable(canvas, {
      whole, least: whole / 1e5, left: 0, bottom: depth, draw, at: pathAt, wheel_needs: 'ctrlKey',
      click: (hit) => { if (hit) choose(hit.path, true); },
      hover(event, hit) {
        canvas.style.cursor = hit ? 'pointer' : 'grab';
        if (hit) tip.show(event, words(hit.path).join('\n'));
        else tip.hide();
      },
      open: () => {},
    });
    return view;
  }

  function choose(i, zooms) {
    chosen = i;
    if (zooms) view.show(calls.begin[i], calls.duration[i]);
    const y = paths[i].depth * ROW - view.state.top;
    if (y < 0) view.scroll(y);
    if (y + ROW > view.height && view.height) view.scroll(y + ROW - view.height);
    if (calls.begin[i] + calls.duration[i] <= view.state.begin || calls.begin[i] >= view.state.begin + view.state.length)
      view.show(calls.begin[i], calls.duration[i]);
    line.textContent = words(i).join(' \u00b7 ');
    view.redraw();
  }
  function reset() {
    choose(0, true);
  }
  function setMode(name) {
    mode = name;
    for (const button of document.getElementById('modes').children)
      button.setAttribute('aria-pressed', String(button.dataset.mode === mode));
    make();
    choose(calls.is[chosen] ? chosen : 0, false);
    find(document.getElementById('search').value);
  }

  function move(key) {
    const siblings = chosen ? below(modes[mode], paths[chosen].parent) : [0];
    const now = siblings.indexOf(chosen);
    const to = {
      ArrowUp: paths[chosen].parent, ArrowDown: below(modes[mode], chosen)[0],
      ArrowLeft: siblings[now - 1], ArrowRight: siblings[now + 1],
    }[key];
    if (to !== undefined) choose(to, false);
  }
  const arrows = Object.fromEntries(['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'].map((key) => [key, () => move(key)]));

  // Returns the words for what was found.
  function find(query) {
    const word = query.toLowerCase();
    for (const path of paths)
      path.match = word !== '' && (path.name.toLowerCase().includes(word) || path.full.toLowerCase().includes(word));
    at = -1;
    matches = paths.filter((path) => path.match && calls.is[path.i]).map((path) => path.i)
      .sort((a, b) => calls.duration[b] - calls.duration[a]);
    if (view) view.redraw();
    if (!word) return '';
    // A path within another one that was found is counted in that one.
    const within = paths.map(() => false);
    let sum = 0;
    for (const path of paths) {
      const parent = path.i !== 0 && within[path.parent];
      within[path.i] = parent || path.match;
      if (path.match && !parent && calls.is[path.i]) sum += calls.duration[path.i];
    }
    return `${plural(matches.length, 'path')}, ${percent(sum / Math.max(calls.duration[0], 1e-9))} of the mean ${mode} one`;
  }
  function next(step) {
    if (!matches.length) return null;
    at = at < 0 && step < 0 ? matches.length - 1 : (at + step + matches.length) % matches.length;
    choose(matches[at], true);
    return `${at + 1} of ${plural(matches.length, 'path')}`;
  }

  for (const [name, label] of [['slow', `slow: the mean of ${count(report.slow)}`], ['normal', `normal: the mean of ${count(report.normal)}`]]) {
    const button = document.createElement('button');
    button.dataset.mode = name;
    button.textContent = label;
    button.addEventListener('click', () => setMode(name));
    document.getElementById('modes').append(button);
  }
  document.getElementById('reset').addEventListener('click', reset);
  make();
  keysOf(canvas, { ...view.keys, ...arrows, Enter: () => choose(chosen, true), Escape: reset });
  return {
    find, next, reset, setMode, choose, words,
    state: () => ({ mode, chosen, matches, ...view.state, whole: weight(modes[mode], 0) }),
    place: (i) => ({ x: view.xOf(calls.begin[i] + calls.duration[i] / 2), y: paths[i].depth * ROW - view.state.top + ROW / 2 }),
    colors() {
      colors = themeColors(['back', 'front', 'mark', 'faint']);
      Object.assign(colors, isDark() ? { more: '#b83a10', less: '#24579c', same: '#343b46' } : { more: '#ff8a5c', less: '#7fb2f0', same: '#e3e6ea' });
      colors.of = paths.map((path) => colorOf(path.i));
      const scale = document.getElementById('scale'), patch = document.createElement('i');
      patch.className = 'range';
      patch.style.background = `linear-gradient(to right, ${shadeOf(-1)}, ${shadeOf(0)}, ${shadeOf(1)})`;
      scale.replaceChildren('slow ones: less', patch, `more ${NOUN}`);
      view.redraw();
    },
    start() {
      view.start();
      setMode('slow');
    },
  };
}
