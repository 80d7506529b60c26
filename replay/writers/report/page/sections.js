// The sections of one recording. Each function gets the answers of the commands by name, as the report's data has them, and
// returns elements. Needs elements.js, timeline.js and coverage.js.

// Why a section has nothing to show.
const noAnswer = (answer) => message(answer.error, 'error');

function factsOf({ info, timeline }, date) {
  const facts = [];
  const add = (name, value, more, look) => { if (value) facts.push([name, value, more, look]); };
  if (info && info.data) addFactsOfInfo(info.data, add);
  else add('lost', 'not known', '', 'bad');
  if (timeline && timeline.data && timeline.data.functions) {
    const { functions, left_out } = timeline.data;
    add('functions that executed', count(functions.length + left_out.functions));
  }
  if (date) add('date of the file', new Date(date * 1000).toISOString().slice(0, 16).replace('T', ' '), 'UTC');
  return make('dl', { class: 'facts' }, facts.map(([name, value, more, look]) =>
    make('div', look ? { class: look } : {}, make('dt', {}, name), make('dd', {}, value, more ? make('small', {}, ' ' + more) : null))));
}
const sum = (list, value) => list.reduce((total, each) => total + value(each), 0);
function addFactsOfInfo(info, add) {
  const { begin, end, unit } = info.time;
  const bytes = sum(info.streams, (stream) => stream.bytes), lost = sum(info.streams, (stream) => stream.bytes_lost);
  add('instructions', count(sum(info.streams, (stream) => stream.instructions)));
  if (begin !== null) add('length', durationIn(unit === 'ns')(end - begin), info.time.emulated ? 'emulated' : '');
  add('threads', count(info.threads.length + (info.left_out.threads || 0)));
  add('trace', count(bytes), info.unit);
  add('lost', percent(lost, bytes), lost ? `${count(lost)} ${info.unit}` : '', lost ? 'bad' : '');
  add('recorded by', info.recorder ? info.recorder.split('\n')[0].slice(0, 60) : '');
  add('trace of', info.branch_trace);
  add('machine', info.machine.cpu || info.machine.architecture, info.machine.hostname || '');
  add('ended', info.ends.map(({ comm, exit_status: status, signal_name: signal }) =>
    `${info.ends.length > 1 ? comm + ': ' : ''}${signal || 'status ' + status}`).slice(0, 3).join(', '), info.ends.length > 3 ? 'and others' : '');
}

// The first sentences of each analysis, which lead to the sections.
function inShort(answers, sections) {
  const items = sections.map(({ id, title, sentences }) => {
    const link = make('a', { href: '#' + id }, title);
    const said = sentences(answers);
    return make('li', said.none ? { class: 'none' } : {}, link, make('span', {}, said.words));
  });
  return make('ul', { class: 'short' }, items);
}
// What an analysis says first, or why it says nothing.
function firstOf(answer, words) {
  if (!answer) return { none: true, words: 'This analysis did not run.' };
  if (answer.error) return { none: true, words: answer.error.text };
  return { words: words(answer.data) };
}

function timeSection({ timeline }) {
  const { data, commands } = timeline;
  if (data.text !== undefined) return [make('pre', {}, data.text)];
  const [functions, more] = functionsTable(data);
  return [sentencesOf(data.said), make('h3', {}, 'Functions, those with most of their own first'), functions,
    leftOut([[more, 'functions']], commands[0]),
    make('h3', {}, 'Call paths'), flameElements(data),
    leftOut([[data.left_out.paths, 'call paths']], commands[1])];
}
function threadsSection({ timeline }) {
  const { data, commands } = timeline;
  if (data.text !== undefined)
    return [make('p', { class: 'none' }, 'Between samples nothing is known, so nothing can be drawn over time.')];
  if (!data.threads.length)
    return [make('p', { class: 'none' }, 'The recording has no times, so nothing can be drawn over time.')];
  return [make('div', { class: 'stage' }, threadsChart(data)), legendOf(data),
    leftOut([[data.left_out.threads, 'threads'], [data.left_out.calls, 'shorter calls']], commands[2])];
}

function spikesSection({ spikes }) {
  const { data, commands } = spikes;
  const duration = durationIn(data.nanoseconds);
  const words = ['time', 'off-cpu', 'kernel'].includes(data.by) ? duration : count;
  const { distribution } = data;
  const elements = [sentencesOf(data.sentences)];
  if (distribution && distribution.count)
    elements.push(make('dl', { class: 'facts' }, ['count', 'min', 'p50', 'p90', 'p99', 'max'].map((name) =>
      make('div', {}, make('dt', {}, { count: 'calls compared', min: 'shortest', p50: 'median', max: 'longest' }[name] || name),
        make('dd', {}, name === 'count' ? count(distribution.count) : words(distribution[name]))))));
  if (data.causes.length)
    elements.push(make('h3', {}, 'Why slow calls were slow'), table([
      ['of the extra', (cause) => [percent(cause.share, 1), shareBar(cause.share)]],
      ['slow calls with it', (cause) => count(cause.slow_with)],
      ['normal calls with it', (cause) => count(cause.normal_with)],
      ['cause', (cause) => cause.words, 'l w']], data.causes, (cause) => cause.words));
  if (data.outliers.length)
    elements.push(make('h3', {}, 'The slowest calls'), table([
      ['', (outlier) => words(data.by === 'instructions' ? outlier.instructions : outlier.time)],
      ['thread', (outlier) => String(outlier.thread), 'l'],
      ['', (outlier) => outlier.sentence || '', 'l w']], data.outliers, (outlier) => outlier.sentence || ''));
  elements.push(leftOut([[data.left_out.causes, 'causes'], [data.left_out.outliers, 'slow calls']], commands[1]));
  return elements;
}

function locksSection({ locks }) {
  const { data, commands } = locks;
  const duration = durationIn(data.nanoseconds), sites = data.sites.filter((site) => site.waits > 0);
  const elements = [sentencesOf(data.sentences)];
  const most = data.waits.life || 1;
  const holderOf = ({ holders }) => (holders && holders.length ? `${holders[0].name} (${holders[0].tid})` : '');
  if (sites.length)
    elements.push(make('h3', {}, 'Where threads waited'), table([
      ['waiting', (site) => (data.has_times ? [percent(site.waiting, most), bar([[site.spinning / most, 'spin'], [site.sleeping / most, 'sleep']], 'part')] : count(site.trips) + ' trips')],
      ['time', (site) => (data.has_times ? duration(site.waiting) : '')],
      ['waits', (site) => count(site.waits)],
      ['longest', (site) => (data.has_times ? duration(site.max) : '')],
      ['mostly held by', holderOf, 'l'],
      ['site', (site) => nameAndPlace(site.caller ? `${site.function} in ${site.caller}` : site.function, site.source), 'l w']],
    sites, (site) => `${site.function} ${site.caller || ''}`));
  if (data.worst.length && data.has_times)
    elements.push(make('h3', {}, 'The longest waits'), table([
      ['took', (wait) => duration(wait.time)], ['asleep', (wait) => duration(wait.sleeping)],
      ['begins', (wait) => '+' + duration(wait.begin - data.begin)],
      ['thread', (wait) => `${wait.name} (${wait.tid})`, 'l'],
      ['at', (wait) => (data.sites[wait.site] ? data.sites[wait.site].function : ''), 'l w']], data.worst.slice(0, 10)));
  elements.push(leftOut([[data.left_out.sites, 'sites']], commands[1]));
  return elements;
}

function crashSection(answers) {
  const { data } = answers.crash, text = answers['crash text'];
  const elements = [];
  if (!text) return [make('p', {}, data.sentence)];
  if (text.error) elements.push(make('p', {}, data.sentence), noAnswer(text));
  else elements.push(make('pre', { tabindex: '0', 'aria-label': 'the report of the crash' }, text.data.text),
    text.data.is_cut ? make('p', { class: 'note' }, 'The rest is left out. All: ', make('code', {}, answers.crash.commands[0])) : null);
  return elements;
}
