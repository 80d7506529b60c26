// The report: one part for each recording, made from what the commands answered. Needs all scripts before it.
const SECTIONS = [
  { name: 'time', title: 'Where the time went', of: 'timeline', make: timeSection,
    sentences: ({ timeline }) => firstOf(timeline, ({ said, text }) => (said ? [said[0], said.find((words) => words.startsWith('Most of'))] : [text.split('\n\n')[0]]).join(' ')) },
  { name: 'threads', title: 'Timeline', of: 'timeline', make: threadsSection, sentences: null },
  { name: 'spikes', title: 'Slow calls', of: 'spikes', make: spikesSection,
    sentences: ({ spikes }) => firstOf(spikes, ({ sentences }) => sentences.filter((words) => !words.startsWith('These calls were chosen')).slice(0, 2).join(' ')) },
  { name: 'locks', title: 'Waits', of: 'locks', make: locksSection,
    sentences: ({ locks }) => firstOf(locks, ({ sentences }) => sentences[0] || '') },
  { name: 'crash', title: 'Crash', of: 'crash', make: crashSection,
    sentences: ({ crash }) => firstOf(crash, ({ sentence }) => sentence) },
  { name: 'coverage', title: 'Coverage', of: 'coverage', make: (answers) => coverageElements(answers.coverage.data, answers.coverage.commands[0]),
    sentences: ({ coverage }) => firstOf(coverage, ({ sentences }) => sentences[0]) },
  { name: 'losses', title: 'Losses and limits', of: 'info', make: lossesSection, sentences: null, always: true },
];
const contents = document.getElementById('contents'), main = document.getElementById('main');

function sectionElement(section, answers, id) {
  const answer = answers[section.of];
  let elements;
  if (section.always) elements = section.make(answers);
  else if (!answer) elements = [make('p', { class: 'none' }, 'This analysis did not run.')];
  else if (answer.error) elements = [noAnswer(answer)];
  else elements = section.make(answers);
  return make('section', { id, 'aria-label': section.title }, make('h2', {}, section.title), elements.flat(3),
    answer ? howTo(answer.commands) : null);
}
// The recording's name stands above all sections: sentences and messages need not begin with it.
function leaveOutName(input, answers) {
  const bare = (text) => (input && text.startsWith(input + ': ') ? text.slice(input.length + 2) : text);
  for (const { error, messages, data: answer } of answers) {
    for (const each of error ? [error, ...messages] : messages) each.text = bare(each.text);
    if (answer && answer.said) answer.said = answer.said.map(bare);
  }
}
function addRecording({ input, date, sections }, number) {
  leaveOutName(input, sections);
  const answers = Object.fromEntries(sections.map((section) => [section.name, section]));
  const idOf = (name) => (data.recordings.length > 1 ? `${name}-${number + 1}` : name);
  const info = answers.info && answers.info.data;
  const part = make('div', { class: 'recording', id: idOf('recording') },
    make('h2', {}, input || 'raw trace'),
    info && info.command_line ? make('p', { class: 'command' }, info.command_line) : null,
    factsOf(answers, date));
  const links = [['In short', idOf('short')], ...SECTIONS.map(({ name, title }) => [title, idOf(name)])];
  contents.append(...(data.recordings.length > 1 ? [make('b', {}, input)] : []),
    ...links.map(([title, id]) => make('a', { href: '#' + id }, title)));
  part.append(make('section', { id: idOf('short') }, make('h2', {}, 'In short'),
    inShort(answers, SECTIONS.filter(({ sentences }) => sentences).map((section) => ({ ...section, id: idOf(section.name) }))),
    howTo(answers.info ? answers.info.commands : [])));
  for (const section of SECTIONS) part.append(sectionElement(section, answers, idOf(section.name)));
  main.append(part);
}

// Marks and counts what a search finds: rows of tables, and calls in pictures.
function find(words) {
  const word = words.toLowerCase();
  let found = 0;
  for (const row of document.querySelectorAll('tr[data-name]')) {
    const fits = word !== '' && row.dataset.name.toLowerCase().includes(word);
    row.classList.toggle('found', fits);
    found += Number(fits);
  }
  for (const { sections } of data.recordings)
    for (const section of sections)
      for (const fn of (section.data && section.data.paths && section.data.functions) || [])
        fn.match = word !== '' && fn.name.toLowerCase().includes(word);
  for (const chart of charts) chart.find(word !== '');
  state.at = -1;
  field.say(word ? plural(found, 'row') : '');
}
function next(step) {
  const rows = [...document.querySelectorAll('tr.found')];
  if (!rows.length) return;
  state.at = (state.at + step + rows.length) % rows.length;
  rows[state.at].scrollIntoView({ block: 'center', behavior: 'instant' });
  field.say(`${state.at + 1} of ${plural(rows.length, 'row')}`);
}

const state = { at: -1 };
document.getElementById('title').textContent = document.title = data.title
  || 'flowback report: ' + data.recordings.map(({ input }) => input).join(', ');
data.recordings.forEach(addRecording);
main.append(make('footer', {}, `Written by flowback ${data.version}. This page needs no other file and no network.`));
const field = searchField({ find, next, leave: () => document.activeElement.blur() });
onKeys({ '/': () => field.focus(), n: () => next(1), N: () => next(-1) });

const redraw = () => charts.forEach(({ view }) => view.redraw());
followTheme(redraw);
for (const { view } of charts) view.start();
document.getElementById('print').addEventListener('click', () => window.print());
// Paper is white: pictures are drawn for it before it is made.
let shownTheme = null;
window.addEventListener('beforeprint', () => {
  shownTheme = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = 'light';
  for (const { view, draw } of charts) if (view.width > view.left) draw();
});
window.addEventListener('afterprint', () => {
  document.documentElement.dataset.theme = shownTheme;
  redraw();
});

// The contents say which section is in sight.
const links = new Map([...contents.querySelectorAll('a')].map((link) => [link.hash.slice(1), link]));
const inSight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) {
    for (const link of links.values()) link.classList.remove('here');
    links.get(target.id).classList.add('here');
  }
}, { rootMargin: '-60px 0px -75% 0px' });
for (const section of document.querySelectorAll('section')) inSight.observe(section);
// For tests, and for who looks closer in a browser's console.
window.report = { data, charts, state };
