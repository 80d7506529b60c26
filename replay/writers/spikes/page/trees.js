// Two call trees side by side: a slow instance and the median one, or the median one alone. Below
// each function those that it called, the largest difference first. Needs paths.js.
const median = data.median ? costsOf(data.median.costs) : null;
const explained = data.explained.map((each) => costsOf(each.costs));

function callTrees() {
  const table = document.getElementById('tree');
  const SMALL = 0.003;  // of the whole difference: what has less is folded into a line
  const ROWS = 26;      // that are unfolded at first
  let costs = null, beside = null, opened = new Set(), unabridged = new Set(), shown = [];

  // Without the other side the weight itself takes the place of the difference.
  const differ = (i) => weightOf(costs.all[i]) - (beside ? weightOf(beside.all[i]) : 0);
  const differOwn = (i) => weightOf(costs.own[i]) - (beside ? weightOf(beside.own[i]) : 0);
  const isThere = (cost) => cost.entries > 0 || cost.instructions > 0 || timeOf(cost) > 0;
  const hasAny = (i) => isThere(costs.all[i]) || (beside !== null && isThere(beside.all[i]));
  const below = (i) => paths[i].children.filter(hasAny);

  // The rows below a path: those that it called, its own code, and how many small ones are folded.
  function rowsBelow(i) {
    const rows = below(i).map((child) => ({ i: child, own: false, by: Math.abs(differ(child)) }));
    if (rows.length) rows.push({ i, own: true, by: Math.abs(differOwn(i)) });
    rows.sort((a, b) => b.by - a.by);
    const kept = Math.max(rows.filter((row) => row.by >= SMALL * Math.abs(differ(0))).length, 2);
    if (unabridged.has(i) || rows.length <= kept + 1) return rows;
    return [...rows.slice(0, kept), { i, own: false, more: rows.length - kept }];
  }
  const folds = (row) => !row.own && !row.more && below(row.i).length > 0;
  const cell = (words, kind = '') => {
    const made = document.createElement('td');
    made.textContent = words;
    made.className = kind;
    return made;
  };
  function sideCells(side, row) {
    const cost = row.own ? side.own[row.i] : side.all[row.i];
    if (!isThere(cost)) return [cell('\u2013', 'gap none'), cell('\u2013', 'none'), cell('\u2013', 'none')];
    const cells = [cell(row.own ? '' : number(cost.entries), 'gap'), cell(number(cost.instructions))];
    cells.push(cell(report.distribution.count && data.has_times ? duration(Math.round(timeOf(cost))) : '\u2013'));
    return cells;
  }
  function nameCell(row, depth) {
    const made = cell(''), fold = document.createElement('span'), name = document.createElement('b'), site = document.createElement('small');
    const path = paths[row.i];
    made.style.paddingLeft = 22 + Math.min(depth, 30) * 11 + 'px';
    fold.className = 'fold';
    fold.textContent = folds(row) ? (opened.has(row.i) ? '\u25be' : '\u25b8') : '';
    name.textContent = row.own ? `${path.name} itself` : path.name;
    // A source line is worth its room.
    if (!row.own && path.site && path.line) site.textContent = path.site.split(', ').pop();
    made.append(fold, name, ' ', site);
    made.addEventListener('mousemove', (event) => tip.show(event, [path.full || path.name,
      path.site && !row.own && 'called at ' + path.site, !row.own && path.line].filter(Boolean).join('\n')));
    made.addEventListener('mouseleave', () => tip.hide());
    return made;
  }
  function moreCells(row, depth) {
    const name = cell(`${plural(row.more, 'smaller one')} \u2026`, 'none');
    name.colSpan = beside ? 8 : 5;
    name.style.paddingLeft = 26 + Math.min(depth, 30) * 11 + 'px';
    return [name];
  }
  function numberCells(row) {
    const more = row.own ? differOwn(row.i) : differ(row.i);
    const kind = !beside ? '' : more > 0 ? 'more' : more < 0 ? 'less' : 'none';
    return [cell(beside ? signed(more, short) : short(more), 'gap ' + kind), ...sideCells(costs, row),
      ...(beside ? sideCells(beside, row) : [])];
  }
  function makeRow(row, depth, at) {
    const made = document.createElement('tr');
    made.append(...(row.more ? moreCells(row, depth) : [nameCell(row, depth), ...numberCells(row)]));
    made.tabIndex = at ? -1 : 0;
    made.dataset.path = row.i;
    made.classList.toggle('match', paths[row.i].match && !row.own && !row.more);
    made.setAttribute('aria-level', depth + 1);
    if (folds(row)) made.setAttribute('aria-expanded', String(opened.has(row.i)));
    made.addEventListener('click', () => {
      focus(at);
      press(at);
    });
    return made;
  }
  function makeHead() {
    const head = document.createElement('thead');
    const line = (cells) => {
      const row = document.createElement('tr');
      for (const [words, kind, columns] of cells) {
        const made = document.createElement('th');
        made.textContent = words;
        made.className = kind;
        made.colSpan = columns;
        row.append(made);
      }
      head.append(row);
    };
    const names = [['entries', 'gap', 1], ['instructions', '', 1], ['time', '', 1]];
    const side = (words) => [words, 'gap side', 3];
    line([['', '', 1], [beside ? 'more' : '', 'gap', 1], ...(beside ? [side('the slow one'), side('the median one')] : [side('the median one')])]);
    line([['function, with what it called', '', 1], [NOUN, 'gap', 1], ...names, ...(beside ? names : [])]);
    return head;
  }
  function draw() {
    shown = [];
    const work = [{ row: { i: 0, own: false }, depth: 0 }];
    while (work.length) {
      const each = work.pop();
      shown.push(each);
      if (!folds(each.row) || !opened.has(each.row.i)) continue;
      for (const row of rowsBelow(each.row.i).reverse()) work.push({ row, depth: each.depth + 1 });
    }
    const body = document.createElement('tbody');
    shown.forEach(({ row, depth }, at) => body.append(makeRow(row, depth, at)));
    table.replaceChildren(makeHead(), body);
  }
  function focus(at) {
    const rows = [...table.querySelectorAll('tbody tr')];
    const row = rows[Math.min(Math.max(at, 0), rows.length - 1)];
    for (const each of rows) each.tabIndex = each === row ? 0 : -1;
    row.focus({ preventScroll: false });
  }
  function toggle(at, open) {
    const { i } = shown[at].row;
    if (open) opened.add(i);
    else opened.delete(i);
    draw();
    focus(at);
  }
  // What a click or Enter does.
  function press(at) {
    const { row } = shown[at];
    if (folds(row)) return toggle(at, !opened.has(row.i));
    if (!row.more) return;
    unabridged.add(row.i);
    draw();
    focus(at);
  }
  // Unfolds where the difference is largest, as long as there is room.
  function unfold() {
    opened = new Set();
    unabridged = new Set();
    const work = [{ i: 0, by: Infinity }];
    for (let rows = 1; work.length && rows < ROWS;) {
      work.sort((a, b) => a.by - b.by);
      const { i } = work.pop(), inside = rowsBelow(i);
      opened.add(i);
      rows += inside.length;
      work.push(...inside.filter((row) => folds(row) && row.by >= 10 * SMALL * Math.abs(differ(0))));
    }
  }
  table.addEventListener('keydown', (event) => {
    const at = [...table.querySelectorAll('tbody tr')].indexOf(document.activeElement);
    if (at < 0) return;
    const { row, depth } = shown[at], open = opened.has(row.i);
    const up = () => focus(shown.findLastIndex((each, i) => i < at && each.depth < depth));
    const keys = {
      ArrowDown: () => focus(at + 1), ArrowUp: () => focus(at - 1), Home: () => focus(0), End: () => focus(shown.length),
      ArrowRight: () => folds(row) && !open ? toggle(at, true) : focus(at + 1),
      ArrowLeft: () => folds(row) && open ? toggle(at, false) : up(),
      Enter: () => press(at), ' ': () => press(at),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
  return {
    rows: () => shown, draw,
    // Shows the tree of an explained instance beside the median's; null: the median's alone.
    show(rank) {
      costs = rank === null ? median : explained[rank];
      beside = rank === null ? null : median;
      unfold();
      draw();
    },
  };
}
