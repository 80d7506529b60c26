// Source around places: around each cause, and around the first branch at which a slow instance
// leaves the way of the normal one most like it. Needs numbers.js.
function branchText(tag, words, kind = '') {
  const made = document.createElement(tag);
  made.textContent = words;
  if (kind) made.className = kind;
  return made;
}

function branchTable(branch) {
  const table = document.createElement('table');
  const line = (tag, texts) => {
    const row = document.createElement('tr');
    row.append(...texts.map((words) => branchText(tag, words)));
    table.append(row);
  };
  line('th', ['which', 'branch', 'goes to', 'as do']);
  for (const way of branch.ways) {
    const who = way.who === 'slow' ? 'the slow one' : 'the normal one';
    if (way.ended) line('td', [who, 'none more: it ends', '', '']);
    else line('td', [who, way.at, way.target,
      `${count(way.slow)} of ${count(report.slow)} slow and ${count(way.normal)} of ${count(report.normal)} normal ones`]);
  }
  return table;
}

function sourceListing(source, ways) {
  const listing = document.createElement('pre');
  listing.className = 'source';
  source.lines.forEach((text, i) => {
    const at = source.first + i, row = branchText('span', `${String(at).padStart(6)}  ${text}`);
    if (at === source.line) row.className = 'here';
    for (const way of ways)
      if (way.file === source.file && way.line === at) {
        row.classList.add(at === source.line ? 'here' : 'went');
        row.append(branchText('em', `   \u2190 the ${way.who} one goes here`, way.who));
      }
    listing.append(row);
  });
  return listing;
}

function excerpt(source, ways) {
  const made = [];
  if (source.file) made.push(branchText('p', `${source.file}:${source.line}`, 'note'));
  if (source.note) made.push(branchText('p', source.note, 'note'));
  if (source.lines.length) made.push(sourceListing(source, ways));
  return made;
}

// The causes that the sentences name; the first one whose source is at hand is unfolded.
function showCauses() {
  const section = document.getElementById('causes');
  data.causes.forEach((source, i) => {
    const cause = report.causes[i], made = document.createElement('details');
    made.open = section.hidden && source.lines.length > 0;
    if (made.open) section.hidden = false;
    made.append(branchText('summary', `${cause.share >= 0.9995 ? 'All' : percent(cause.share)}: ${cause.words}`), ...excerpt(source, []));
    section.append(made);
  });
}

// `rank`: of the explained instances.
function showBranch(rank) {
  const section = document.getElementById('branch'), { branch } = data.explained[rank];
  section.replaceChildren(branchText('h2', 'The first different branch'), branchText('p', report.outliers[rank].parting));
  if (!branch) return;
  section.append(branchTable(branch));
  section.append(...excerpt(branch.source, branch.ways));
}
