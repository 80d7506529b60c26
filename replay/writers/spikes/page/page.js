// The page: the answer, the pictures, and the panel of the chosen instance. Needs all other parts.
const all = data.instances, panel = document.getElementById('panel');
const indexOf = new Map(all.number.map((number, i) => [number, i]));
const rankOf = new Map(report.outliers.map((outlier, rank) => [outlier.instance, rank]));
const state = { chosen: -1, rank: null };
const bars = histogram((number) => choose(indexOf.get(number)));
const strip = instanceStrip(choose);
const flame = isCompared ? differenceFlame() : null;
const trees = isCompared ? callTrees() : null;

function kindOf(i) {
  if (all.group[i] === 1) return ['slow', 'slow'];
  if (all.group[i] === 0) return ['normal', all.number[i] === medianNumber() ? 'the median normal one' : 'normal'];
  return ['', 'not compared'];
}
const medianNumber = () => data.median ? data.median.instance : null;

// Moments of an explained instance have bounds.
function momentFigure(outlier, end, time) {
  const words = `${moment(time)} (+${duration(time - data.begin)})`;
  if (!outlier || outlier[end + '_lo'] === null || outlier[end + '_hi'] === null) return words;
  return `${words}, proven within ${duration(outlier[end + '_hi'] - outlier[end + '_lo'])}`;
}
function figuresOf(i) {
  const outlier = report.outliers[rankOf.get(all.number[i])];
  const figures = [['thread', data.rows[all.row[i]].name.includes(String(all.tid[i])) ? data.rows[all.row[i]].name : String(all.tid[i])]];
  if (data.has_times) {
    const begin = data.begin + all.place[i];
    figures.push(['begins', momentFigure(outlier, 'begin', begin)], ['ends', momentFigure(outlier, 'end', begin + all.time[i])],
      ['time', duration(all.time[i])]);
  }
  figures.push(['instructions', count(all.instructions[i])]);
  if (all.lost[i]) figures.push(['lost', plural(all.lost[i], 'byte') + ' of trace']);
  return figures;
}
function classFigures(i) {
  const times = all.times.slice(6 * i, 6 * i + 6), sum = times.reduce((a, b) => a + b, 0);
  const mix = document.createElement('div'), list = document.createElement('dl');
  mix.className = 'mix';
  CLASSES.forEach((name, kind) => {
    const part = document.createElement('div'), term = document.createElement('dt'), value = document.createElement('dd'), patch = document.createElement('i');
    part.style.cssText = `width:${sum ? 100 * times[kind] / sum : 0}%;background:var(--${name})`;
    patch.style.background = `var(--${name})`;
    term.append(patch, CLASS_WORDS[kind]);
    value.textContent = times[kind] ? `${duration(times[kind])}, ${percent(times[kind] / sum)}` : '0';
    list.append(term, value);
    mix.append(part);
  });
  return [mix, list];
}
const paragraph = (words, kind = '') => branchText('p', words, kind);
function link(words, go) {
  const made = document.createElement('button');
  made.textContent = words;
  made.addEventListener('click', go);
  return made;
}

// What explains a slow instance, part by part until 95 % are named.
function explanation(rank) {
  const outlier = report.outliers[rank], parts = document.createElement('ol');
  let named = 0;
  for (const part of outlier.parts) {
    if (named >= 0.95) break;
    named += part.share;
    const item = document.createElement('li');
    item.append(branchText('b', `${percent(part.share)}, ${measured(part.extra)}: `), `it ${part.words}.`);
    parts.append(item);
  }
  const made = [branchText('h3', `${signed(outlier.extra, measured)} against the median`), paragraph(outlier.sentence)];
  if (outlier.parts.length > 1) made.push(parts);
  made.push(paragraph(outlier.parting));
  if (indexOf.has(outlier.nearest)) made.push(link(`the normal instance ${outlier.nearest}`, () => choose(indexOf.get(outlier.nearest))));
  return made;
}
function whatItIs(i) {
  const rank = rankOf.get(all.number[i]), made = [];
  if (all.stands[i] > 1) made.push(paragraph(`It stands for ${count(all.stands[i])} instances of the strip, of which it is the largest.`));
  if (rank !== undefined) made.push(...explanation(rank));
  else if (all.group[i] === 1 && report.outliers.length)
    made.push(paragraph(`It is not among the ${count(report.outliers.length)} that are explained one by one: --top N explains more.`));
  else if (all.number[i] === medianNumber())
    made.push(paragraph('The slow ones are held against this one: half of the normal ones are smaller. Its call tree is in the table.'));
  else if (all.state[i])
    made.push(paragraph(['', 'It was running when the trace began.', 'The end of the trace, or a pause of the recorder, cut it.', 'The trace lost what came next.'][all.state[i]]));
  else if (all.group[i] === 2) made.push(paragraph('It lies outside of --time.'));
  return made;
}
function showPanel(i) {
  const [kind, words] = kindOf(i), heading = figureHeading(`Instance ${all.number[i]} `);
  heading.append(branchText('span', words, 'badge ' + kind));
  panel.replaceChildren(heading, figureList(figuresOf(i)), ...(data.has_times ? classFigures(i) : []), ...whatItIs(i), branchText('p',
    'j, k: next slow one, slower one; m: the median; /: search; n: next found; 0: all. Arrow keys move in the picture that has the focus; +, \u2212, or Ctrl and the wheel zoom.', 'keys'));
  panel.scrollTop = 0;
}

// The trees follow the choice where it has one.
function showOne(rank) {
  if (!trees || (rank !== null && !data.explained[rank])) return;
  state.rank = rank;
  document.getElementById('which').value = String(rank);
  trees.show(rank);
  const branch = document.getElementById('branch');
  branch.hidden = rank === null;
  if (rank !== null) showBranch(rank);
}
function choose(i) {
  if (i === undefined || i < 0) return;
  state.chosen = i;
  showPanel(i);
  bars.show(all.group[i] === 2 ? null : all.measure[i]);
  strip.show(i);
  const rank = rankOf.get(all.number[i]);
  if (rank !== undefined) showOne(rank);
  else if (all.number[i] === medianNumber()) showOne(null);
}
// Slow ones from the slowest on.
const slowest = [...all.number.keys()].filter((i) => all.group[i] === 1).sort((a, b) => all.measure[b] - all.measure[a] || a - b);
function step(by) {
  if (!slowest.length) return;
  const now = slowest.indexOf(state.chosen);
  choose(slowest[now < 0 ? 0 : Math.min(Math.max(now + by, 0), slowest.length - 1)]);
}

function showAnswer() {
  document.getElementById('title').textContent = `${data.title}: ${report.function}`;
  report.sentences.forEach((sentence, i) =>
    document.getElementById('answer').append(paragraph(sentence, i === 0 ? 'first' : /^(The recording is emulated|Not compared|By )/.test(sentence) ? 'faint' : '')));
  document.getElementById('bars-title').textContent = `${plural(report.distribution.count, THING)} by ${NOUN}`;
  document.getElementById('strip-title').textContent = data.has_times ? 'Over time' : 'By instructions of the thread';
  showStripNote();
  document.getElementById('all').hidden = !all.number.length;
  panel.hidden = !all.number.length;
  const nothing = document.getElementById('nothing');
  nothing.hidden = isCompared;
  if (isCompared) return;
  nothing.textContent = !all.number.length ? '' : report.slow === 0 ? 'None is slow, so there is nothing to compare: no call tree follows. --over sets another limit.'
    : 'There are no normal ones, so there is nothing to compare: no call tree follows.';
  for (const id of ['difference', 'causes', 'one', 'branch', 'search', 'found']) document.getElementById(id).hidden = true;
}
// The colours, and how many of the instances the strip has.
function showStripNote() {
  const note = document.getElementById('strip-note');
  const add = (kind, words) => {
    const patch = document.createElement('i');
    if (kind === 'limit') patch.className = kind;
    else patch.style.background = `var(--${kind})`;
    note.append(patch, words);
  };
  if (report.normal || report.distribution.count && !report.slow) add('normal', 'normal');
  if (report.slow) {
    add('slow', 'slow');
    add('limit', 'the limit');
  }
  if (all.group.some((group) => group === 2)) add('apart', 'below the line: not compared');
  if (data.columns)
    note.append(branchText('div', `The strip shows ${count(all.number.length)} of ${count(data.all)} instances: ${report.slow <= data.slow_kept ? `all ${count(report.slow)} slow ones` : `the ${count(data.slow_kept)} slowest`}, and of the others the largest of each of ${count(data.columns)} parts of the time and ${data.levels} heights.`));
}
function fillChoice() {
  if (!trees) return;
  const which = document.getElementById('which');
  const add = (value, words) => {
    const option = document.createElement('option');
    option.value = value;
    option.textContent = words;
    which.append(option);
  };
  report.outliers.slice(0, data.explained.length).forEach((outlier, rank) =>
    add(String(rank), `${rank + 1}. instance ${outlier.instance}: ${measured(outlier.extra)} more than the median`));
  add('null', `the median one alone: instance ${medianNumber()}`);
  which.addEventListener('change', () => {
    const rank = which.value === 'null' ? null : Number(which.value);
    choose(indexOf.get(rank === null ? medianNumber() : report.outliers[rank].instance));
  });
  document.getElementById('one-note').textContent = report.outliers.length > data.explained.length
    ? `A page has the trees of the ${data.explained.length} slowest.` : '';
}

const field = searchField({
  find(words) {
    if (!flame) return;
    field.say(flame.find(words));
    trees.draw();
  },
  next: nextFound, leave: () => document.getElementById('flame').focus(),
});
function nextFound(by) {
  const words = flame && flame.next(by);
  if (words) field.say(words);
}
onKeys({
  j: () => step(1), k: () => step(-1), m: () => choose(indexOf.get(medianNumber())), n: () => nextFound(1), N: () => nextFound(-1),
  '/': () => field.focus(), 0: () => {
    strip.view.keys[0]();
    if (flame) flame.reset();
  },
});

showAnswer();
showCauses();
fillChoice();
function recolor() {
  strip.colors();
  if (flame) flame.colors();
}
followTheme(recolor);
recolor();
bars.start();
strip.start();
if (flame) flame.start();
const largest = data.bars.largest[bars.filled[bars.filled.length - 1]];
choose(indexOf.get(report.outliers.length ? report.outliers[0].instance : largest !== undefined ? largest : all.number[0]));
// For tests, and for who looks closer in a browser's console.
window.spikes = { data, state, bars, strip, flame, trees, paths, choose, indexOf };
