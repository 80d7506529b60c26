// A tree of calls along a view of zoom.js: below each call those that it made. Needs zoom.js.
// `calls` has columns: begin, duration, depth, fn. In a row no two calls overlap.

// The numbers of the calls of each depth. `begin` becomes times: it comes as differences.
function callRows({ begin, depth }) {
  const rows = [];
  let last = 0;
  for (let i = 0; i < begin.length; ++i) {
    begin[i] += last;
    last = begin[i];
    while (rows.length <= depth[i]) rows.push([]);
    rows[depth[i]].push(i);
  }
  return rows;
}

// The first of the row's calls that ends after `time`.
function firstIn(row, calls, time) {
  let low = 0, high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (calls.begin[row[middle]] + calls.duration[row[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Draws the calls that begin in the time that is shown, and of those in one pixel the first.
// `look`: functions ({name, match} each), colors {of, front, mark}, selected (a call's number or null), dims (whether
// calls of functions without a match are faint).
function drawCalls(view, row, calls, y, high, look) {
  const { context, state, left, width } = view;
  const { functions, colors, selected, dims } = look;
  const end = state.begin + state.length;
  const pixel = view.pixel();
  for (let i = firstIn(row, calls, state.begin); i < row.length;) {
    const call = row[i];
    if (calls.begin[call] > end) break;
    const x = Math.max(view.xOf(calls.begin[call]), left);
    const right = Math.min(view.xOf(calls.begin[call] + calls.duration[call]), width);
    const fn = calls.fn[call];
    context.globalAlpha = dims && !functions[fn].match ? 0.2 : 1;
    context.fillStyle = colors.of[fn];
    const wide = Math.max(right - x, 0.7);
    context.fillRect(x, y, wide > 3 ? wide - 1 : wide, high - 1);
    if (functions[fn].match) {
      context.fillStyle = colors.mark;
      context.fillRect(x, y + high - 4, Math.max(wide, 2), 3);
    }
    if (wide > 24) {
      context.fillStyle = colors.front;
      drawText(context, functions[fn].name, x + 3, y + high - 5, wide - 5);
    }
    context.globalAlpha = 1;
    if (selected === call) {
      context.strokeStyle = colors.mark;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(wide - 2, 1), high - 3);
    }
    // What lies in the same pixel is not looked at.
    const next = firstIn(row, calls, calls.begin[call] + Math.max(calls.duration[call], pixel));
    i = Math.max(i + 1, wide < 1 ? next : i + 1);
  }
}

// The row's call at `time`, or the nearest one within two pixels (several may be narrower than one);
// null if there is none.
function nearestCall(view, row, calls, time) {
  const reach = 2 * view.pixel();
  let nearest = null, least = reach;
  for (let i = firstIn(row, calls, time - reach); i < row.length; ++i) {
    const begin = calls.begin[row[i]], end = begin + calls.duration[row[i]];
    if (begin > time + reach) break;
    const away = Math.max(begin - time, time - end, 0);
    if (away > least || (nearest !== null && away === least)) continue;
    nearest = row[i];
    least = away;
  }
  return nearest;
}
