// The call paths of all threads as a flame graph: each call path as wide as its time, or as its instructions, below its
// caller. Needs zoom.js, flame.js and tip.js. `data.paths` has columns: parent, fn, time, instructions, calls; the first
// path is the threads themselves. `wheel_needs` is as zoom.js has it.
function flameGraph(canvas, { data, colorsOf, measures, chosen, wheel_needs }) {
  const ROW = 18, { parent, fn } = data.paths;
  const functions = data.functions.concat([{ name: 'all threads' }, { name: '(in no known call)' }]);
  let by = measures[0], calls = null, rows = [], view = null;

  // The children of each path, the widest first. What is of no width is not drawn.
  function childrenOf() {
    const children = parent.map(() => []);
    for (let i = 1; i < parent.length; ++i) if (by.of[i] > 0) children[parent[i]].push(i);
    for (const some of children) some.sort((a, b) => by.of[b] - by.of[a]);
    return children;
  }
  function layOut() {
    const children = childrenOf();
    calls = { begin: [], duration: by.of, depth: [], fn: fn.map((f, i) => (i === 0 ? functions.length - 2 : f < 0 ? functions.length - 1 : f)) };
    rows = [];
    const work = [[0, 0, 0]];
    while (work.length) {
      const [i, begin, depth] = work.pop();
      calls.begin[i] = begin;
      calls.depth[i] = depth;
      (rows[depth] ||= []).push(i);
      let next = begin;
      for (const child of children[i]) {
        work.push([child, next, depth + 1]);
        next += by.of[child];
      }
    }
    for (const row of rows) row.sort((a, b) => calls.begin[a] - calls.begin[b]);
  }
  function words(i) {
    const whole = Math.max(by.of[0], 1);
    return `${functions[calls.fn[i]].name.slice(0, 400)}, ${by.words(by.of[i])} (${(100 * by.of[i] / whole).toFixed(1)} %), `
      + `${count(data.paths.calls[i])} calls`;
  }
  function draw(dims) {
    const colors = colorsOf();
    clean(view, colors);
    rows.forEach((row, depth) => {
      const y = depth * ROW - view.state.top;
      if (y + ROW >= 0 && y < view.height)
        drawCalls(view, row, calls, y, ROW, { functions, colors, selected: view.state.selected, dims });
    });
  }
  function at(x, y) {
    const row = rows[Math.floor((y + view.state.top) / ROW)];
    const found = row ? nearestCall(view, row, calls, view.timeOf(x)) : null;
    return found === null ? null : { path: found };
  }
  layOut();
  view = zoomable(canvas, {
    whole: Math.max(by.of[0], 1), least: 1e-6 * Math.max(by.of[0], 1), left: 0, bottom: rows.length * ROW, wheel_needs,
    draw: () => graph.draw(), at,
    click(hit) {
      view.state.selected = hit ? hit.path : null;
      view.redraw();
      chosen(hit && hit.path > 0 && fn[hit.path] >= 0 ? fn[hit.path] : null);
    },
    hover(event, hit) { hit ? tip.show(event, words(hit.path)) : tip.hide(); },
    open({ path }) { view.show(calls.begin[path], calls.duration[path]); },
  });
  view.state.selected = null;
  const graph = {
    view, dims: false,
    draw: () => draw(graph.dims),
    // Shows another measure.
    measure(which) {
      by = measures[which];
      layOut();
      view.span(Math.max(by.of[0], 1), rows.length * ROW);
    },
    xOf: (path) => view.xOf(calls.begin[path] + calls.duration[path] / 2),
    yOf: (path) => calls.depth[path] * ROW - view.state.top + ROW / 2,
  };
  return graph;
}
