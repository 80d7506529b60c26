// A canvas whose width is a span of time that wheel, drag and keys zoom and move. Needs a canvas that
// fills its place. `options`:
//   whole    the longest time that is shown, from 0     least   the shortest
//   left     pixels to the left of the time, for names  bottom  pixels that can be scrolled through
//   draw()   draws all                                  at(x, y)  what lies there, or null
//   click(hit), open(hit): a click, a double click      hover(event, hit): the mouse moved
//   wheel_needs  if given: without this key ('ctrlKey') the wheel scrolls the page
//   mark(from, to, done)  if given: shift and drag chose this span of time; done: the button was released
// Returns the view: `state` {begin, length, top} is what is shown; the page may keep more in it. back() returns to what
// was shown before the last zoom, move or jump.
function zoomable(canvas, options) {
  const { left } = options;
  let { whole, least } = options;
  const context = canvas.getContext('2d');
  const view = { context, left, width: 0, height: 0, state: { begin: 0, length: whole, top: 0 } };
  const { state } = view;
  let pending = false, drag = null, changed = -Infinity;
  const before = [];  // what was shown earlier, the latest last

  view.xOf = (time) => left + (time - state.begin) / state.length * (view.width - left);
  view.timeOf = (x) => state.begin + (x - left) / (view.width - left) * state.length;
  view.pixel = () => state.length / (view.width - left);  // in time
  view.redraw = () => {
    if (!pending) requestAnimationFrame(() => {
      pending = false;
      if (view.width > left) options.draw();  // a hidden canvas has no width
    });
    pending = true;
  };
  // Movements that follow each other soon are one for back().
  const remember = () => {
    const now = performance.now(), last = before.at(-1), { begin, length, top } = state;
    if (now - changed > 500 && !(last && last.begin === begin && last.length === length && last.top === top))
      before.push({ begin, length, top });
    if (before.length > 200) before.shift();
    changed = now;
  };
  view.back = () => {
    const last = before.pop();
    if (!last) return;
    Object.assign(state, last);
    changed = -Infinity;
    view.redraw();
  };
  view.show = (begin, length) => {
    remember();
    state.length = Math.min(Math.max(length, Math.min(least, whole)), whole);
    state.begin = Math.min(Math.max(begin, 0), whole - state.length);
    view.redraw();
  };
  view.zoom = (factor, x = (view.width + left) / 2) => {
    const time = view.timeOf(x);
    const length = Math.min(Math.max(state.length * factor, least), whole);
    view.show(time - (time - state.begin) * length / state.length, length);
  };
  view.move = (share) => view.show(state.begin + state.length * share, state.length);
  view.scroll = (by) => {
    state.top = Math.min(Math.max(state.top + by, 0), Math.max(options.bottom - view.height, 0));
    view.redraw();
  };
  // Tells how far one can scroll, after the page has laid out anew what it shows.
  view.reach = (bottom) => {
    options.bottom = bottom;
    state.top = Math.min(Math.max(state.top, 0), Math.max(bottom - view.height, 0));
  };
  // Shows all of another span of time, with as much to scroll through.
  view.span = (of, bottom) => {
    least *= of / whole;
    whole = of;
    options.bottom = bottom;
    view.show(0, whole);
    view.scroll(0);
  };
  view.keys = {
    '+': () => view.zoom(1 / 1.5), '=': () => view.zoom(1 / 1.5), w: () => view.zoom(1 / 1.5),
    '-': () => view.zoom(1.5), s: () => view.zoom(1.5),
    ArrowLeft: () => view.move(-1 / 8), a: () => view.move(-1 / 8),
    ArrowRight: () => view.move(1 / 8), d: () => view.move(1 / 8),
    ArrowUp: () => view.scroll(-60), ArrowDown: () => view.scroll(60), 0: () => view.show(0, whole),
  };

  canvas.addEventListener('wheel', (event) => {
    if (options.wheel_needs && !event[options.wheel_needs]) return;
    event.preventDefault();
    if (event.shiftKey) return view.scroll(event.deltaY);
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return view.move(event.deltaX / view.width);
    view.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), Math.max(event.offsetX, left));
  }, { passive: false });
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.offsetX, y: event.offsetY, begin: state.begin, top: state.top, moved: false };
    drag.marks = options.mark && event.shiftKey && event.offsetX >= left;
  });
  function mark(event, done) {
    const ends = [drag.x, event.offsetX].map((x) => Math.min(Math.max(view.timeOf(x), state.begin), state.begin + state.length));
    options.mark(Math.min(...ends), Math.max(...ends), done);
  }
  canvas.addEventListener('pointermove', (event) => {
    if (!drag) return options.hover(event, options.at(event.offsetX, event.offsetY));
    const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
    if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
    if (!drag.moved) return;
    options.hover(event, null);
    if (drag.marks) return mark(event, false);
    view.show(drag.begin - dx * view.pixel(), state.length);
    view.scroll(drag.top - dy - state.top);
  });
  canvas.addEventListener('pointerup', (event) => {
    if (drag && drag.moved && drag.marks) mark(event, true);
    if (drag && !drag.moved) options.click(options.at(event.offsetX, event.offsetY));
    drag = null;
  });
  canvas.addEventListener('pointerleave', (event) => options.hover(event, null));
  canvas.addEventListener('dblclick', (event) => {
    const hit = options.at(event.offsetX, event.offsetY);
    if (hit) options.open(hit);
  });

  function resize() {
    const ratio = window.devicePixelRatio || 1;
    view.width = canvas.clientWidth;
    view.height = canvas.clientHeight;
    canvas.width = view.width * ratio;
    canvas.height = view.height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    view.redraw();
  }
  // The page calls it once it can draw.
  view.start = () => {
    new ResizeObserver(resize).observe(canvas);
    resize();
  };
  return view;
}

// As much of a text as fits into `most` pixels.
function drawText(context, string, x, y, most) {
  if (most < 14) return;
  let length = Math.min(string.length, Math.floor(most / 2));
  let shown = string.slice(0, length) + (length < string.length ? '\u2026' : '');
  for (let wide = context.measureText(shown).width; wide > most; wide = context.measureText(shown).width) {
    length = Math.min(Math.floor(length * most / wide), length - 1);
    if (length < 3) return;
    shown = string.slice(0, length) + '\u2026';
  }
  context.fillText(shown, x, y);
}

// Begins to draw all anew: nothing but the background, and the font for what comes.
function clean({ context, width, height }, colors) {
  context.fillStyle = colors.back;
  context.fillRect(0, 0, width, height);
  context.font = '11px system-ui, sans-serif';
}

// Round times along the upper edge, in its first `high` pixels, with a line down from each. wordsOf(time, step) returns
// the words of a time, where the next one is `step` away.
function drawTimes(view, high, colors, duration, wordsOf = (time) => '+' + duration(time)) {
  const { context, state, width, height } = view;
  context.fillStyle = colors.back;
  context.fillRect(0, 0, width, high);
  context.fillStyle = colors.faint;
  context.strokeStyle = colors.line;
  context.lineWidth = 1;
  const LABEL = Math.max(76, context.measureText(wordsOf(state.begin, state.length / 10)).width + 12);  // pixels
  const least = Math.max(LABEL * view.pixel(), 1), ten = Math.pow(10, Math.floor(Math.log10(least)));
  const step = ten * [1, 2, 5, 10].find((times) => times * ten >= least * 0.999);
  for (let at = Math.ceil(state.begin / step) * step; at <= state.begin + state.length; at += step) {
    const x = view.xOf(at), words = wordsOf(at, step);
    context.beginPath();
    context.moveTo(x, high - 4);
    context.lineTo(x, height);
    context.stroke();
    if (x + 3 + context.measureText(words).width < width) context.fillText(words, x + 3, high - 8);
  }
}
