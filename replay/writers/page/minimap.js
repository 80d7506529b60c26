// All of the time in a small canvas, with a frame around what a view of zoom.js shows. A click or a drag moves the view
// there, a double click shows all. drawAll(map) draws what is in it, in a view that does not move: xOf, timeOf, state.
function minimap(canvas, view, { whole, left, drawAll, colorsOf }) {
  const context = canvas.getContext('2d');
  const map = { context, left, width: 0, height: 0, state: { begin: 0, length: whole, top: 0 } };
  let drags = false;
  map.xOf = (time) => left + time / whole * (map.width - left);
  map.timeOf = (x) => (x - left) / (map.width - left) * whole;
  map.pixel = () => whole / (map.width - left);

  function size() {
    const ratio = window.devicePixelRatio || 1;
    if (map.width === canvas.clientWidth && map.height === canvas.clientHeight) return;
    map.width = canvas.clientWidth;
    map.height = canvas.clientHeight;
    canvas.width = map.width * ratio;
    canvas.height = map.height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  function drawFrame() {
    const colors = colorsOf();
    const x = map.xOf(view.state.begin), right = map.xOf(view.state.begin + view.state.length);
    context.globalAlpha = 0.6;
    context.fillStyle = colors.back;
    context.fillRect(left, 0, x - left, map.height);
    context.fillRect(right, 0, map.width - right, map.height);
    context.globalAlpha = 1;
    context.strokeStyle = colors.mark;
    context.lineWidth = 2;
    context.strokeRect(x, 1, Math.max(right - x, 2), map.height - 2);
  }
  function go(event) {
    view.show(map.timeOf(Math.max(event.offsetX, left)) - view.state.length / 2, view.state.length);
  }
  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    drags = true;
    go(event);
  });
  canvas.addEventListener('pointermove', (event) => drags && go(event));
  canvas.addEventListener('pointerup', () => { drags = false; });
  canvas.addEventListener('dblclick', () => view.show(0, whole));
  return {
    map,
    draw() {
      size();
      if (map.width <= left) return;
      clean(map, colorsOf());
      drawAll(map);
      drawFrame();
    },
  };
}
