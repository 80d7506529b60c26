// One line of colours along a view of zoom.js: what a thread did. Needs zoom.js.

// Spans {begin, length, kind} are columns in order of time; those of a kind have the colour colors[kind].
function drawSpans(view, { begin, length, kind }, y, high, colors) {
  const { context, state, left, width } = view;
  let low = 0, last = begin.length;
  while (low < last) {
    const middle = (low + last) >> 1;
    if (begin[middle] + length[middle] < state.begin) low = middle + 1;
    else last = middle;
  }
  let drawn = -1;
  for (let i = low; i < begin.length && begin[i] < state.begin + state.length; ++i) {
    const x = Math.max(view.xOf(begin[i]), left), right = Math.min(view.xOf(begin[i] + length[i]), width);
    if (right < drawn + 0.3) continue;
    context.fillStyle = colors[kind[i]];
    context.fillRect(x, y, Math.max(right - x, 0.5), high);
    drawn = right;
  }
}

// `shares`: for each of equal parts of the `whole` time, how much of it each kind has.
function drawShares(view, shares, whole, y, high, colors) {
  const { context, state, left, width } = view;
  const kinds = colors.length, columns = shares.length / kinds;
  const from = Math.max(Math.floor(state.begin / whole * columns), 0);
  for (let i = from; i < columns; ++i) {
    // Whole pixels: no seam shows between two columns.
    const x = Math.round(view.xOf(i / columns * whole)), right = Math.round(view.xOf((i + 1) / columns * whole));
    if (x > width) break;
    let all = 0;
    for (let k = 0; k < kinds; ++k) all += shares[i * kinds + k];
    let at = y;
    for (let k = 0; k < kinds && all; ++k) {
      const part = shares[i * kinds + k] / all * high;
      context.fillStyle = colors[k];
      context.fillRect(Math.max(x, left), at, Math.max(right - Math.max(x, left), 0.5), part);
      at += part;
    }
  }
}

// `numbers`: for each of equal parts of the `whole` time a number, such as a thread's, or null.
function drawNumbers(view, numbers, whole, y, high, front) {
  const { context, left, width } = view;
  const columns = numbers.length;
  for (let i = 0; i < columns; ++i) {
    if (numbers[i] === null) continue;
    let j = i;
    while (j + 1 < columns && numbers[j + 1] === numbers[i]) ++j;
    const x = Math.max(view.xOf(i / columns * whole), left);
    const right = Math.min(view.xOf((j + 1) / columns * whole), width);
    if (right > x) {
      context.fillStyle = `hsl(${(numbers[i] * 47) % 360} 40% 55%)`;
      context.fillRect(x, y, right - x, high);
      context.fillStyle = front;
      drawText(context, String(numbers[i]), x + 3, y + high - 2, right - x - 4);
    }
    i = j;
  }
}

// The lanes below the axis, as far as they are in sight, each with its name at the left. A lane has `name`, `y` and
// `height`; drawLane(lane, y) draws what is right of the name, and drawOver() what lies on all lanes.
function drawLanes(view, lanes, axis, colors, drawLane, drawOver = () => {}) {
  const { context, state, left, width, height } = view;
  context.save();
  context.beginPath();
  context.rect(0, axis, width, height - axis);
  context.clip();
  for (const lane of lanes) {
    const y = lane.y - state.top;
    if (y + lane.height < axis || y > height) continue;
    drawLane(lane, y);
    context.fillStyle = colors.back;
    context.fillRect(0, y, left, lane.height);
    context.fillStyle = colors.front;
    drawText(context, lane.name, 6, y + 11, left - 10);
  }
  drawOver();
  context.restore();
}
