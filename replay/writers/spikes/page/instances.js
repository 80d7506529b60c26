// The strip: a line for each thread, in which an instance is a bar where it began, as high as what
// it is compared by. Needs tip.js, zoom.js, theme.js and numbers.js. choose(i): of data.instances.
function instanceStrip(choose) {
  const canvas = document.getElementById('strip');
  const all = data.instances, rows = data.rows;
  const AXIS = 20, APART = 7, MOST = 260, WANTED = 150;
  const high = Math.max(30, Math.min(Math.floor((WANTED - AXIS) / Math.max(rows.length, 1)), 130));
  const bottom = AXIS + rows.length * high;
  const LEFT = Math.min(Math.max(...rows.map((row) => row.name.length), 4) * 6.2 + 14, 170);
  const cell = data.columns ? data.length / data.columns : 0;
  const length = (i) => data.has_times ? all.time[i] : all.instructions[i];
  const whole = all.number.reduce((most, _, i) => Math.max(most, all.place[i] + length(i)), 1);
  const { min, max } = report.distribution;
  const low = Math.log(Math.max(min, 1)), span = Math.max(Math.log(Math.max(max, 1)) - low, 1e-9);
  const inRow = rows.map(() => []);
  all.row.forEach((row, i) => inRow[row].push(i));
  const dot = report.slow > 60 ? 2.2 : 3.5;
  let colors = {}, chosen = -1;
  canvas.parentElement.style.height = Math.min(bottom, MOST) + 'px';

  const isApart = (i) => all.group[i] === 2, isSlow = (i) => all.group[i] === 1;
  const base = (row) => AXIS + (row + 1) * high - APART - 3;
  const top = (i) => base(all.row[i]) - 3 -
    Math.min(Math.max((Math.log(Math.max(all.measure[i], 1)) - low) / span, 0), 1) * (high - APART - 14);
  // What stands for others is as wide as their part of the time.
  function extentOf(i) {
    if (all.stands[i] === 1) return [all.place[i], all.place[i] + length(i)];
    const column = Math.min(Math.floor(all.place[i] / cell), data.columns - 1);
    return [Math.min(column * cell, all.place[i]), Math.max((column + 1) * cell, all.place[i] + length(i))];
  }
  const words = (i) => `instance ${all.number[i]}, ${rows[all.row[i]].name}: ` +
    (isApart(i) ? 'not compared' : measured(all.measure[i])) +
    (all.stands[i] > 1 ? `, the largest of ${count(all.stands[i])} alike` : '');

  const view = zoomable(canvas, {
    whole, least: Math.max(whole / 1e6, 20), left: LEFT, bottom, draw, at: instanceAt, wheel_needs: 'ctrlKey',
    click: (hit) => { if (hit) choose(hit.i); },
    hover(event, hit) {
      canvas.style.cursor = hit ? 'pointer' : 'grab';
      if (hit) tip.show(event, words(hit.i));
      else tip.hide();
    },
    open: (hit) => view.show(all.place[hit.i] - length(hit.i) * 2, length(hit.i) * 5),
  });

  function instanceAt(x, y) {
    if (y < AXIS) return null;
    const row = Math.floor((y + view.state.top - AXIS) / high), at = y + view.state.top;
    let best = null, least = 12;
    for (const i of inRow[row] || []) {
      const [begin, end] = extentOf(i), from = view.xOf(begin), to = Math.max(view.xOf(end), from + 2);
      const aside = Math.max(from - x, x - to, 0);
      if (aside > 5) continue;
      const below = isApart(i) ? Math.abs(base(row) + 4 - at) : Math.max(top(i) - at, at - base(row) - 2, 0);
      const away = aside + below + (isSlow(i) ? 0 : 2) + (isApart(i) ? 0 : Math.max(at - top(i), 0) / high);
      if (away >= least) continue;
      least = away;
      best = i;
    }
    return best === null ? null : { i: best };
  }

  function drawInstance(i, y) {
    const { context } = view;
    const [x, end] = extentOf(i).map(view.xOf);
    if (end < LEFT - 3 || x > view.width) return;
    const from = Math.max(x, LEFT), wide = Math.max(end - from, isSlow(i) ? 2.5 : 1.2);
    if (isApart(i)) {
      context.fillStyle = colors.apart;
      context.fillRect(from, y + 2, Math.max(wide, 3), APART - 2);
      return;
    }
    const above = top(i) - view.state.top;
    context.fillStyle = isSlow(i) ? colors.slow : colors.normal;
    context.fillRect(from, above, wide, y - above);
    if (isSlow(i)) {
      context.beginPath();
      context.arc(from + wide / 2, above, dot, 0, 7);
      context.fill();
    }
  }

  function drawChosen(y) {
    const { context } = view;
    const [begin, end] = extentOf(chosen).map(view.xOf);
    const x = Math.min(Math.max(begin, LEFT), view.width - 7), wide = Math.max(Math.min(end, view.width - 4) - x, 3);
    const above = isApart(chosen) ? y : top(chosen) - view.state.top - 5;
    context.strokeStyle = colors.choice;
    context.lineWidth = 1.5;
    context.strokeRect(x - 3, above, wide + 5, (isApart(chosen) ? y + APART : y) - above + 1);
  }

  function drawRow(row) {
    const { context, width } = view;
    const y = base(row) - view.state.top;
    if (y + APART + 3 < AXIS || y - high > view.height) return;
    context.fillStyle = colors.line;
    context.fillRect(LEFT, y, width - LEFT, 1);
    const { threshold } = report;
    if (threshold !== null) {
      const limit = y - 3 - Math.min(Math.max((Math.log(Math.max(threshold, 1)) - low) / span, 0), 1) * (high - APART - 14);
      context.strokeStyle = colors.slow;
      context.lineWidth = 1;
      context.setLineDash([3, 4]);
      context.beginPath();
      context.moveTo(LEFT, limit);
      context.lineTo(width, limit);
      context.stroke();
      context.setLineDash([]);
    }
    for (const slow of [false, true])
      for (const i of inRow[row]) if (isSlow(i) === slow) drawInstance(i, y);
    if (chosen >= 0 && all.row[chosen] === row) drawChosen(y);
    context.fillStyle = colors.back;
    context.fillRect(0, y - high + APART, LEFT - 4, high);
    context.fillStyle = colors.front;
    drawText(context, rows[row].name, 0, y - high + APART + 16, LEFT - 6);
    context.fillStyle = colors.faint;
    drawText(context, count(rows[row].instances), 0, y - high + APART + 30, LEFT - 6);
  }

  function draw() {
    const { context, width, height } = view;
    clean(view, colors);
    drawTimes(view, AXIS, { ...colors, line: colors.grid }, data.has_times ? duration : count);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, width, height - AXIS);
    context.clip();
    rows.forEach((_, row) => drawRow(row));
    context.restore();
  }

  // The next instance of the row, or the one of another row that began nearest.
  function step(by, to) {
    if (chosen < 0) return choose(0);
    const row = all.row[chosen] + to;
    if (!inRow[row] || !inRow[row].length) return;
    if (by) return choose(inRow[row][Math.min(Math.max(inRow[row].indexOf(chosen) + by, 0), inRow[row].length - 1)]);
    const away = (i) => Math.abs(all.place[i] - all.place[chosen]);
    choose(inRow[row].reduce((best, i) => away(i) < away(best) ? i : best));
  }
  keysOf(canvas, {
    ...view.keys, ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0),
    ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
  });

  return {
    view, rows: inRow, draw,
    place: (i) => ({ x: view.xOf(all.place[i]) + 1, y: (isApart(i) ? base(all.row[i]) + 5 : top(i)) - view.state.top }),
    start: () => view.start(),
    colors() {
      colors = themeColors(['back', 'front', 'faint', 'line', 'grid', 'normal', 'slow', 'apart', 'choice']);
      view.redraw();
    },
    // Marks an instance, and moves so that it is seen.
    show(i) {
      chosen = i;
      const { state } = view;
      if (i >= 0 && (all.place[i] < state.begin || all.place[i] > state.begin + state.length))
        view.show(all.place[i] - state.length / 2, state.length);
      const y = i >= 0 ? AXIS + all.row[i] * high - state.top : AXIS;
      if (y < AXIS) view.scroll(y - AXIS);
      if (y + high > view.height && view.height) view.scroll(y + high - view.height);
      view.redraw();
    },
  };
}
