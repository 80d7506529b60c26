// The page of `flowback diff`. Its data are the sentences and the objects of --json. Needs theme.js, numbers.js, search.js
// and report/page/elements.js.
const byType = (type) => data.rows.filter((row) => row.type === type);
const head = byType('diff')[0];
const inTime = durationIn(true);

const delta = (change) => change.new - change.old;
const signed = (value, words = count) => (value > 0 ? '+' : value < 0 ? '-' : '') + words(Math.abs(value));
const look = (value) => (value > 0 ? 'more' : value < 0 ? 'less' : '');
const oldAndNew = ({ old, new: now }, words = count) => (old === now ? words(now) : `${words(old)} → ${words(now)}`);
const place = (file, line) => (file && line ? `${lastPart(file)}:${line}` : '');
const FATES = {
  newly_executed: ['newly executed', 'new'], added: ['new code', 'new'], no_longer_inlined: ['was inlined', 'new'],
  no_longer_executed: ['no longer executes', 'gone'], removed: ['not in the new code', 'gone'], inlined: ['inlined now', 'gone'],
  not_known: ['not known for one side', 'unknown'], both: ['', ''],
};
const kindOf = (row) => FATES[row.fate][1];
function badges(row, name) {
  const [fate, kind] = FATES[row.fate], words = name || fate;
  return [words ? [' ', make('span', { class: 'badge ' + kind }, words)] : null,
    row.in_all_runs ? null : [' ', make('span', { class: 'badge' }, 'in some recordings')]];
}

// A signed number, and a bar from the middle: `most` fills a half of it.
function changeCell(change, most, words = count) {
  const value = delta(change);
  const part = make('i', { class: look(value) });
  const share = most > 0 ? 50 * Math.min(Math.abs(value) / most, 1) : 0;
  part.style.width = share + '%';
  if (value < 0) part.style.marginLeft = 50 - share + '%';
  return [make('span', { class: look(value) }, signed(value, words)), make('span', { class: 'change', 'aria-hidden': 'true' }, part)];
}

const tables = [];

// A table that its headings sort. `columns` are [heading, cell(row), class, key(row)]; `kinds` are the words of buttons
// with what they choose; `nameOf(row)` is what a search looks in.
class ChangeTable {
  constructor({ columns, rows, nameOf, changeOf, kinds = [] }) {
    Object.assign(this, { columns, rows, nameOf, changeOf, kinds, words: '', kind: null, sorted: null, most: 50 });
    this.heads = columns.map(([name, , look, key], i) => {
      const button = key ? make('button', { click: () => this.sort(i) }, name) : name;
      return make('th', look ? { class: look, scope: 'col' } : { scope: 'col' }, button);
    });
    this.body = make('tbody');
    this.note = make('p', { class: 'note' });
    this.all = make('button', { click: () => { this.most = Infinity; this.show(); } });
    this.buttons = kinds.map(([name, fits]) => [fits, make('button', { 'aria-pressed': 'false', click: () => this.choose(fits) },
      `${name} (${count(rows.filter(fits).length)})`)]);
    this.element = make('div', {}, this.buttons.length ? make('div', { class: 'tools' }, this.buttons.map(([, button]) => button)) : null,
      make('div', { class: 'wide' }, make('table', {}, make('thead', {}, make('tr', {}, this.heads)), this.body)), this.note, this.all);
    tables.push(this);
    this.show();
  }

  choose(fits) {
    this.kind = this.kind === fits ? null : fits;
    this.show();
  }

  sort(column) {
    const falls = !(this.sorted && this.sorted.column === column && this.sorted.falls);
    this.sorted = { column, falls };
    this.show();
  }

  chosen() {
    const words = this.words.toLowerCase();
    return this.rows.filter((row) => (!this.kind || this.kind(row)) && this.nameOf(row).toLowerCase().includes(words));
  }

  // Returns the number of rows that fit the search.
  show() {
    const rows = this.chosen();
    if (this.sorted) {
      const key = this.columns[this.sorted.column][3], sign = this.sorted.falls ? -1 : 1;
      rows.sort((a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
    }
    const shown = rows.slice(0, this.most);
    this.body.replaceChildren(...shown.map((row) => this.rowOf(row)));
    this.heads.forEach((each, i) => {
      if (this.sorted && this.sorted.column === i) each.setAttribute('aria-sort', this.sorted.falls ? 'descending' : 'ascending');
      else each.removeAttribute('aria-sort');
    });
    for (const [fits, button] of this.buttons) button.setAttribute('aria-pressed', String(this.kind === fits));
    this.note.textContent = rows.length ? '' : 'Nothing fits.';
    this.all.hidden = shown.length === rows.length;
    this.all.textContent = `show all ${count(rows.length)}`;
    return rows.length;
  }

  rowOf(row) {
    const change = this.changeOf && this.changeOf(row);
    const isNoise = change && delta(change) !== 0 && !change.significant;
    return make('tr', isNoise ? { class: 'noise', title: 'within the noise of the recordings' } : {},
      this.columns.map(([, cell, look]) => make('td', look ? { class: look } : {}, cell(row))));
  }
}

const largest = (rows, of) => rows.reduce((most, row) => Math.max(most, Math.abs(delta(of(row)))), 0);

function factsSection() {
  const rows = [['instructions', head.instructions, count]];
  if (head.has_times) rows.push(['life of the threads', head.duration, inTime], ['off the CPU', head.off_cpu, inTime]);
  const facts = rows.map(([name, change, words]) => make('div', {}, make('dt', {}, name),
    make('dd', {}, words(change.new), ' ', make('small', { class: look(delta(change)) }, delta(change) === 0 ? 'as before' : signed(delta(change), words)))));
  const counted = (kind) => byType('function').filter((row) => row.in_all_runs && kindOf(row) === kind).length;
  for (const [name, kind] of [['newly executed functions', 'new'], ['functions gone', 'gone'], ['functions not known', 'unknown']])
    if (kind !== 'unknown' || counted(kind) > 0) facts.push(make('div', {}, make('dt', {}, name), make('dd', {}, count(counted(kind)))));
  return make('dl', { class: 'facts' }, facts);
}

function limitsSection() {
  const rows = byType('limit');
  if (!rows.length) return null;
  return ['Limits', table([
    ['', (row) => make('span', { class: row.passed ? 'less' : 'failed' }, row.passed ? 'passed' : 'FAILED'), 'l'],
    ['limit', (row) => make('code', {}, row.limit), 'l'],
    ['found', (row) => row.found],
  ], rows)];
}

const functionName = (row) => row.function || (row.address ? `[${row.object}+${row.address}]` : `[code without a symbol in ${row.object}]`);

function functionsSection() {
  const rows = byType('function');
  const most = largest(rows, (row) => row.self_instructions);
  const columns = [
    ['change', (row) => changeCell(row.self_instructions, most), '', (row) => Math.abs(delta(row.self_instructions))],
    ['old', (row) => count(row.self_instructions.old), '', (row) => row.self_instructions.old],
    ['new', (row) => count(row.self_instructions.new), '', (row) => row.self_instructions.new],
  ];
  if (head.has_calls)
    columns.push(['with callees', (row) => signed(delta(row.instructions)), '', (row) => Math.abs(delta(row.instructions))]);
  if (head.has_times)
    columns.push(['time', (row) => signed(delta(row.self_time), inTime), '', (row) => Math.abs(delta(row.self_time))],
      ['off the CPU', (row) => signed(delta(row.off_cpu), inTime), '', (row) => Math.abs(delta(row.off_cpu))]);
  columns.push(['calls', (row) => oldAndNew(row.calls), '', (row) => Math.abs(delta(row.calls))],
    ['function', (row) => [make('span', { class: 'name' }, functionName(row)), badges(row),
      make('div', { class: 'place' }, place(row.file || row.old_file, row.line || row.old_line) || row.object)], 'w', functionName]);
  const made = new ChangeTable({
    columns, rows, nameOf: (row) => `${functionName(row)} ${row.file || row.old_file || ''}`, changeOf: (row) => row.self_instructions,
    kinds: [['changed', (row) => delta(row.self_instructions) !== 0], ['new', (row) => kindOf(row) === 'new'],
      ['gone', (row) => kindOf(row) === 'gone'], ['not known', (row) => kindOf(row) === 'unknown']],
  });
  return ['Functions', make('p', { class: 'note' }, 'By change of the instructions that each function executed itself.'), made.element];
}

function waitsSection() {
  if (!head.has_waits) return null;
  const rows = byType('wait'), by = (row) => (head.has_times ? row.waiting : row.waits);
  const most = largest(rows, by), words = head.has_times ? inTime : count;
  const columns = [
    ['change', (row) => changeCell(by(row), most, words), '', (row) => Math.abs(delta(by(row)))],
    ['old', (row) => words(by(row).old), '', (row) => by(row).old],
    ['new', (row) => words(by(row).new), '', (row) => by(row).new],
  ];
  if (head.has_times) columns.push(['waits', (row) => oldAndNew(row.waits), '', (row) => Math.abs(delta(row.waits))]);
  columns.push(['function', (row) => [make('span', { class: 'name' }, row.function || '(no name)'),
    badges(row, { new: 'new', gone: 'gone' }[kindOf(row)]), make('div', { class: 'place' }, row.caller ? 'called in ' + row.caller : '')], 'w', (row) => row.function]);
  const made = new ChangeTable({
    columns, rows, nameOf: (row) => `${row.function} ${row.caller || ''}`, changeOf: by,
    kinds: [['new', (row) => kindOf(row) === 'new'], ['gone', (row) => kindOf(row) === 'gone']],
  });
  const measure = head.has_times ? 'their time' : 'their number';
  return ['Waits', make('p', { class: 'note' }, `Waits of threads for each other, by change of ${measure}.`), made.element];
}

function directionsSection() {
  const rows = byType('direction');
  if (!rows.length) return null;
  const times = (row) => Math.max(row.times.old, row.times.new);
  const made = new ChangeTable({
    rows, nameOf: (row) => `${row.function} ${row.file || ''}`, changeOf: (row) => row.times,
    kinds: [['of branches that both sides reach', (row) => row.branch_reached]],
    columns: [
      ['times', (row) => count(times(row)), '', times],
      ['only in', (row) => make('span', { class: kindOf(row) === 'new' ? 'more' : 'less' }, kindOf(row) === 'new' ? 'new run' : 'old run'), 'l', kindOf],
      ['way', (row) => (row.taken === null ? '' : row.taken ? 'taken' : 'not taken'), 'l'],
      ['branch', (row) => [make('span', { class: 'name' }, row.function || row.object), badges(row),
        make('div', { class: 'place' }, `${place(row.file, row.line) || row.address || ''} → ${place(row.to_file, row.to_line) || '?'}`)], 'w',
      (row) => `${row.file} ${String(row.line).padStart(9)}`],
    ],
  });
  return ['Directions of branches', make('p', { class: 'note' }, 'Ways of branches that only one side takes, in functions that both execute.'), made.element];
}

function linesSection() {
  const rows = byType('line');
  if (!rows.length) return null;
  const most = largest(rows, (row) => row.instructions);
  const where = (row) => place(row.file, row.line || row.old_line)
    + (row.found ? (row.line && row.old_line && row.line !== row.old_line ? ` (was ${row.old_line})` : '') : ' of the old source');
  const made = new ChangeTable({
    rows, nameOf: (row) => `${row.file} ${row.function || ''} ${row.text || ''}`, changeOf: (row) => row.instructions,
    kinds: [['new', (row) => kindOf(row) === 'new'], ['gone', (row) => kindOf(row) === 'gone'], ['not known', (row) => kindOf(row) === 'unknown']],
    columns: [
      ['change', (row) => changeCell(row.instructions, most), '', (row) => Math.abs(delta(row.instructions))],
      ['times', (row) => oldAndNew(row.times), '', (row) => Math.abs(delta(row.times))],
      ['line', (row) => [make('span', { class: 'name' }, where(row)), badges(row), row.text ? make('div', {}, make('code', {}, row.text)) : null], 'w',
        (row) => `${row.file} ${String(row.line || row.old_line).padStart(9)}`],
    ],
  });
  return ['Lines', make('p', { class: 'note' }, 'By change of the instructions of each line.'), made.element];
}

function coverageSection() {
  const rows = Object.entries(head.coverage).filter(([, { total }]) => total.old + total.new > 0);
  if (!rows.length) return null;
  const side = (name) => ([, { executed, total }]) => (total[name] === 0 ? '-'
    : [`${percent(executed[name], total[name])} (${count(executed[name])}/${count(total[name])})`, shareBar(executed[name] / total[name])]);
  return ['Executed share of all code', table([['kind', ([name]) => name, 'l'], ['old', side('old'), 'l'], ['new', side('new')]], rows)];
}

function leftOutNote() {
  const parts = Object.entries(data.left_out).filter(([, number]) => number > 0)
    .map(([type, number]) => `${count(number)} more objects of type ${type}`);
  return parts.length ? make('p', { class: 'note' }, `Not shown: ${parts.join(', ')}. \`flowback diff --json\` prints all.`) : null;
}

const main = document.getElementById('main'), contents = document.getElementById('contents');
document.getElementById('title').textContent = document.title;
main.append(make('section', { id: 'summary' }, sentencesOf(data.sentences), factsSection(), leftOutNote() || ''));
for (const section of [limitsSection, functionsSection, waitsSection, directionsSection, linesSection, coverageSection]) {
  const made = section();
  if (!made) continue;
  const [title, ...rest] = made, id = title.toLowerCase().replaceAll(' ', '-');
  main.append(make('section', { id }, make('h2', {}, title), rest));
  contents.append(make('a', { href: '#' + id }, title));
}

const field = searchField({
  find: (words) => {
    const found = tables.reduce((sum, each) => {
      each.words = words;
      return sum + each.show();
    }, 0);
    field.say(words ? `${plural(found, 'row')} fit${found === 1 ? 's' : ''}` : '');
  },
  next: () => {
    const first = tables.find((each) => each.body.children.length > 0);
    if (first) first.element.scrollIntoView({ block: 'start' });
  },
  leave: () => document.activeElement.blur(),
});
onKeys({ '/': () => field.focus() });
followTheme(() => {});
document.getElementById('print').addEventListener('click', () => window.print());
