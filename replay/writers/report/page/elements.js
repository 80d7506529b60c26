// Elements of the report: what stands in all of its sections. Texts from a recording become text nodes, never markup.

// An element with properties (`class`, `data` and attributes) and children: elements, texts, or nothing.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'class') element.className = value;
    else if (name === 'click') element.addEventListener('click', value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ''));
  return element;
}

// As the commands print shares.
function percent(part, of) {
  const exact = of > 0 ? 100 * part / of : 0;
  return part > 0 && exact < 0.05 ? '<0.1 %' : exact.toFixed(1) + ' %';
}
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? '' : 's'}`;
const lastPart = (path) => path.slice(path.lastIndexOf('/') + 1);

// A bar of parts, each [share of the whole, class].
function bar(parts, look = '') {
  const all = make('span', { class: 'bar ' + look, 'aria-hidden': 'true' });
  for (const [share, name] of parts)
    if (share > 0) {
      const part = make('i', { class: name });
      part.style.width = 100 * Math.min(share, 1) + '%';
      all.append(part);
    }
  return all;
}
const shareBar = (share) => bar([[share, '']], 'part');

// A table. `columns` are [heading, cell(row), class]; a cell is a text or elements. `nameOf(row)` is what a search looks
// in.
function table(columns, rows, nameOf) {
  const head = make('tr', {}, columns.map(([name, , look]) => make('th', look ? { class: look, scope: 'col' } : { scope: 'col' }, name)));
  const body = rows.map((row) =>
    make('tr', nameOf ? { 'data-name': nameOf(row) } : {}, columns.map(([, cell, look]) => make('td', look ? { class: look } : {}, cell(row)))));
  return make('div', { class: 'wide' }, make('table', {}, make('thead', {}, head), make('tbody', {}, body)));
}

// A function's name, and below it where it is.
function nameAndPlace(name, place) {
  return [make('span', { class: 'name' }, name || '(no name)'), place ? make('div', { class: 'place' }, place) : null];
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A browser that has no clipboard for this page may still copy what is selected.
    const field = make('textarea', { 'aria-hidden': 'true' });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
}

// The commands that print the section's numbers, each with a button that copies it.
function howTo(commands) {
  if (!commands.length) return null;
  return make('div', { class: 'how' }, 'How to get this:', commands.map((command) => {
    const button = make('button', { title: 'copy the command', 'aria-label': 'copy ' + command }, 'copy');
    button.addEventListener('click', async () => {
      await copyText(command);
      button.textContent = 'copied';
      setTimeout(() => { button.textContent = 'copy'; }, 1500);
    });
    return make('span', {}, make('code', {}, command), button);
  }));
}

function message({ text, remedies }, look = '') {
  return make('div', { class: 'message ' + look }, make('p', {}, text),
    remedies.map((remedy) => make('p', { class: 'remedy' }, 'Remedy: ' + remedy)));
}

const sentencesOf = (sentences) => make('div', { class: 'said' }, sentences.map((sentence) => make('p', {}, sentence)));

// What a section leaves out: [[number, words], ...].
function leftOut(list, command) {
  const parts = list.filter(([number]) => number > 0).map(([number, words]) => `${count(number)} more ${words}`);
  return parts.length ? make('p', { class: 'note' }, `Not shown: ${parts.join(', ')}. All: `, make('code', {}, command)) : null;
}
