// The page of coverage: tables that sort, a search that leaves out what does not fit, links that open what they lead to,
// and a way from one uncovered place to the next. Without scripts the page shows the same. Needs theme.js and search.js.
const all = (selector, of = document) => [...of.querySelectorAll(selector)];

// Sorts a table by the column of the heading: numbers with the most first, words from a to z; again: the other way.
function sortBy(heading) {
  const table = heading.closest('table'), column = heading.cellIndex;
  const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const rows = all('tr', table).slice(1), numbers = rows.every((row) => !Number.isNaN(Number(value(row))));
  const before = heading.getAttribute('aria-sort');
  const direction = before ? (before === 'ascending' ? 'descending' : 'ascending') : numbers ? 'descending' : 'ascending';
  const compare = numbers ? (a, b) => Number(value(a)) - Number(value(b)) : (a, b) => value(a).localeCompare(value(b));
  rows.sort((a, b) => (direction === 'ascending' ? compare(a, b) : compare(b, a)));
  for (const other of all('th', table)) other.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', direction);
  rows[0]?.parentElement.append(...rows);
}
for (const heading of all('table.sorts th')) {
  heading.tabIndex = 0;
  heading.title = 'sort';
  heading.addEventListener('click', () => sortBy(heading));
  keysOf(heading, { Enter: () => sortBy(heading), ' ': () => sortBy(heading) });
}

// Opens what an element lies in.
function reveal(element) {
  for (let at = element; at; at = at.parentElement) {
    if (at.tagName === 'DETAILS') at.open = true;
    at.classList.remove('out');
  }
  element.scrollIntoView({ block: 'center' });
}
function goTo(hash) {
  const element = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
  if (!element) return;
  reveal(element);
  mark(element.tagName === 'DETAILS' ? null : element);
}
function mark(element) {
  for (const other of all('.here')) other.classList.remove('here');
  element?.classList.add('here');
}
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) setTimeout(() => goTo(link.getAttribute('href')));
});
window.addEventListener('hashchange', () => goTo(location.hash));

// Where code of the program never executed: the first of the lines that follow each other. Where no source of the program
// is known: of all sources, else functions.
const uncovered = (() => {
  const own = document.querySelector('details.own') ? 'details.own ' : '';
  const lines = all(own + 'pre.source > .n').filter((line) => {
    let before = line.previousElementSibling;
    while (before && before.classList.contains('c')) before = before.previousElementSibling;
    return !before || !before.classList.contains('n');
  });
  return own || lines.length ? lines : all('div.n');
})();
let at = -1;
function next(step) {
  if (!uncovered.length) return;
  at = at < 0 && step < 0 ? uncovered.length - 1 : (at + step + uncovered.length) % uncovered.length;
  reveal(uncovered[at]);
  mark(uncovered[at]);
  field.say(`${at + 1} of ${uncovered.length} uncovered places`);
}

// Leaves out rows of tables, files and functions whose names do not have the words.
function find(query) {
  const word = query.toLowerCase();
  let fit = 0;
  for (const element of all('[data-name]')) {
    const fits = element.dataset.name.toLowerCase().includes(word);
    element.classList.toggle('out', !fits);
    fit += fits ? 1 : 0;
  }
  for (const element of all('details.object')) {
    const any = word === '' || element.querySelector('[data-name]:not(.out)') !== null;
    element.classList.toggle('out', !any);
    if (word) element.open = any;
  }
  field.say(word ? `${fit} fit` : '');
}
const field = searchField({ find, next: (step) => next(step), leave: () => document.body.focus() });
onKeys({ n: () => next(1), p: () => next(-1), N: () => next(-1), '/': () => field.focus() });
document.getElementById('next').addEventListener('click', () => next(1));
document.getElementById('previous').addEventListener('click', () => next(-1));
if (!uncovered.length) for (const name of ['next', 'previous']) document.getElementById(name).disabled = true;
followTheme(() => {});
goTo(location.hash);
// For tests.
window.coverage = { uncovered, next, find, place: () => at };
