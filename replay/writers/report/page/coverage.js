// What executed of the program's own code, and what never did. Needs elements.js.
const KINDS_OF_SHARES = ['functions', 'lines', 'branches', 'blocks', 'instructions'];

// A share {total, executed, unknown} as the coverage's page draws it.
function coveredBar({ total, executed, unknown = 0 }) {
  return bar([[executed / Math.max(total, 1), ''], [unknown / Math.max(total, 1), 'u']]);
}
const fraction = ({ total, executed, unknown = 0 }) =>
  `${count(executed)} of ${count(total)}${unknown ? ` (${count(unknown)} not known)` : ''}`;
// As `coverage` prints it: rounded down, so 100.0 is all.
function covered({ total, executed }) {
  if (!total) return '-';
  const tenths = executed === total ? 1000 : Math.floor(1000 * executed / total);
  return (Math.max(tenths, executed ? 1 : 0) / 10).toFixed(1) + ' %';
}

function sharesOf(object) {
  return make('div', { class: 'all' }, KINDS_OF_SHARES.filter((kind) => object[kind].total).map((kind) => [
    make('span', {}, kind === 'branches' ? 'branch directions' : kind), coveredBar(object[kind]),
    make('b', { 'data-share': kind }, covered(object[kind])), make('span', { class: 'of note' }, fraction(object[kind]))]));
}
const placeOf = (row) => (row.file ? `${lastPart(row.file)}:${row.line}` : '');

function coverageElements(data, command) {
  if (!data.program) return [sentencesOf(data.sentences)];
  const elements = [sentencesOf(data.sentences), sharesOf(data.program)];
  if (data.files.length) {
    elements.push(make('h3', {}, 'Source files of the program'), table([
      ['lines', (row) => [covered(row.lines), coveredBar(row.lines)]],
      ['', (row) => fraction(row.lines)],
      ['functions', (row) => covered(row.functions)],
      ['branches', (row) => covered(row.branches)],
      ['file', (row) => make('span', { class: 'name' }, row.file), 'l w']], data.files, (row) => row.file));
  } else {
    elements.push(make('p', { class: 'note' }, 'The program has no debug information: its source lines are not known.'));
  }
  if (data.never.length)
    elements.push(make('h3', {}, 'Own functions that never executed, the largest first'), table([
      ['bytes', (row) => count(row.bytes)],
      ['', (row) => (row.executed === 'unknown' ? 'not known' : '')],
      ['function', (row) => nameAndPlace(row.function, placeOf(row)), 'l w']], data.never, (row) => row.function || ''));
  if (data.one_way.length)
    elements.push(make('h3', {}, 'Own branches that went one way only, the most frequent first'), table([
      ['executed', (row) => count(row.taken + row.not_taken)],
      ['', (row) => (row.taken ? 'always taken' : 'never taken'), 'l'],
      ['at', (row) => make('span', { class: 'name' }, placeOf(row) || row.address), 'l w']], data.one_way, placeOf));
  elements.push(leftOut([[data.left_out.files, 'files'], [data.left_out.never, 'functions that never executed'],
    [data.left_out.one_way, 'branches']], command));
  return elements;
}
