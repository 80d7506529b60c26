// The histogram: columns whose ends have a constant ratio, with marks for quantiles and the limit.
// Needs tip.js and numbers.js. `choose(number)` is called with a column's largest instance.
function histogram(choose) {
  const svg = document.getElementById('bars');
  const { normal, slow, largest } = data.bars;
  const { min, max, p50, p90, p99, p999 } = report.distribution;
  const HIGH = 78, LINE = 13, SIDE = 3;
  const low = Math.log(Math.max(min, 1)), span = Math.log(Math.max(max, 1)) - low;
  const filled = [...normal.keys()].filter((i) => normal[i] + slow[i] > 0);
  const most = Math.max(...filled.map((i) => normal[i] + slow[i]), 1);
  let width = 0, chosen = -1;

  const element = (name, attributes, words) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (words !== undefined) made.textContent = words;
    svg.append(made);
    return made;
  };
  const at = (value) => SIDE + (span > 0 ? (Math.log(Math.max(value, 1)) - low) / span : 0.5) * (width - 2 * SIDE);
  const edge = (i) => Math.exp(low + span * i / normal.length);
  // A single one is seen beside thousands.
  const high = (value) => value === 0 ? 0 : Math.max(3, Math.log1p(value) / Math.log1p(most) * (HIGH - 4));
  const words = (i) => `${short(edge(i))} to ${measured(edge(i + 1))}: ` +
    [normal[i] && `${count(normal[i])} normal`, slow[i] && `${count(slow[i])} slow`].filter(Boolean).join(', ');

  function drawMarks() {
    const marks = [];
    for (const [value, name] of [[min, 'min'], [p50, 'p50'], [p90, 'p90'], [p99, 'p99'], [p999, 'p99.9'], [max, 'max']]) {
      const same = marks.find((mark) => mark.value === value);
      if (same) same.name += ', ' + name;
      else marks.push({ value, name, kind: '' });
    }
    for (const mark of marks) mark.words = `${mark.name} ${short(mark.value)}`;
    if (report.threshold !== null) marks.push({ value: report.threshold, words: `slow: > ${short(report.threshold)}`, kind: 's' });
    for (const mark of marks) {
      mark.x = at(mark.value);
      mark.wide = mark.words.length * 6.2 + 6;
      mark.flips = mark.x + mark.wide > width;  // its words stand before its line
      mark.from = mark.flips ? Math.max(mark.x - mark.wide, 0) : mark.x;
      mark.row = 0;
    }
    // From right to left, and last those that stand before their line: no line crosses other words.
    marks.sort((a, b) => a.flips - b.flips || (a.flips ? a.x - b.x : b.x - a.x));
    marks.forEach((mark, i) => {
      for (const other of marks.slice(0, i))
        if (other.from < mark.from + mark.wide && mark.from < other.from + other.wide)
          mark.row = Math.max(mark.row, other.row + 1);
      const y = HIGH + 14 + mark.row * LINE;
      element('line', { x1: mark.x, x2: mark.x, y1: mark.kind ? 0 : HIGH, y2: y + 1, class: mark.kind });
      element('text', { x: mark.from + 3, y, class: mark.kind }, mark.words);
    });
    svg.style.height = HIGH + 8 + (1 + Math.max(...marks.map((mark) => mark.row))) * LINE + 'px';
  }

  function drawBar(i) {
    const step = (width - 2 * SIDE) / normal.length, x = SIDE + i * step, wide = Math.max(Math.min(step, 40) - 0.6, 1);
    const left = x + (step - wide) / 2, all = high(normal[i] + slow[i]);
    const upper = slow[i] ? Math.max(3, all * slow[i] / (normal[i] + slow[i])) : 0;
    if (normal[i]) element('rect', { x: left, y: HIGH - all, width: wide, height: all, class: 'n' });
    if (slow[i]) element('rect', { x: left, y: HIGH - all, width: wide, height: upper, class: 's' });
    const hit = element('rect', { x, y: 0, width: step, height: HIGH, class: i === chosen ? 'hit chosen' : 'hit', 'data-bar': i });
    hit.addEventListener('mousemove', (event) => tip.show(event, words(i)));
    hit.addEventListener('mouseleave', () => tip.hide());
    hit.addEventListener('click', () => take(i));
  }

  function draw() {
    width = svg.clientWidth;
    svg.replaceChildren();
    if (!filled.length) svg.style.height = '0';
    if (!width || !filled.length) return;
    element('line', { x1: 0, x2: width, y1: HIGH + 0.5, y2: HIGH + 0.5 });
    drawMarks();
    filled.forEach(drawBar);
  }
  function take(i) {
    chosen = i;
    choose(largest[i]);
    draw();
  }
  svg.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || !filled.length) return;
    event.preventDefault();
    event.stopPropagation();
    const now = filled.indexOf(chosen);
    take(filled[now < 0 ? filled.length - 1 : Math.min(Math.max(now + step, 0), filled.length - 1)]);
  });
  return {
    filled,
    start: () => new ResizeObserver(draw).observe(svg),
    // Marks the column of a value.
    show(value) {
      const of = span > 0 ? Math.floor((Math.log(Math.max(value, 1)) - low) / span * normal.length) : 0;
      chosen = value === null ? -1 : Math.min(Math.max(of, 0), normal.length - 1);
      draw();
    },
  };
}
