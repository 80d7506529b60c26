// What was lost, and what is not known. Needs elements.js.

// The messages of all commands, each once.
function messagesOf(answers) {
  const seen = new Map();
  for (const answer of Object.values(answers))
    for (const each of answer.messages) if (!seen.has(each.text)) seen.set(each.text, each);
  return [...seen.values()];
}

function timesTable({ threads, time }) {
  const CLASSES_OF_TIME = ['executing', 'off-CPU', 'kernel', 'lost', 'filtered', 'undecodable'];
  const known = threads.filter((thread) => thread.lifetime > 0);
  if (!known.length) return null;
  const duration = durationIn(time.unit === 'ns');
  const names = Object.keys(known[0].times).filter((name) => known.some(({ times }) => times[name].time > 0));
  names.sort((a, b) => CLASSES_OF_TIME.indexOf(a) - CLASSES_OF_TIME.indexOf(b));
  return [make('h3', {}, 'Time of threads, with what the trace proves'), table([
    ['thread', (thread) => `${thread.comm || ''} (${thread.tid})`, 'l'],
    ['lived', (thread) => duration(thread.lifetime)],
    ...names.map((name) => [name, ({ times }) => [duration(times[name].time),
      make('div', { class: 'place' }, `${duration(times[name].time_lo)} to ${duration(times[name].time_hi)}`)]]),
    ['losses', (thread) => count(thread.losses), 'l']], known.slice(0, 30), (thread) => `${thread.comm} ${thread.tid}`)];
}

// Without `info` the losses are not known, but the other commands' messages are.
function lossesSection(answers) {
  const elements = !answers.info || answers.info.error ? unknownLosses(answers.info) : knownLosses(answers.info);
  const said = messagesOf(answers);
  if (said.length) elements.push(make('h3', {}, 'Messages of the analyses'), said.map((each) => message(each)));
  return elements;
}
const unknownLosses = (info) => [make('p', { class: 'unknown' }, 'What was lost is not known, because the command info has no answer.'),
  info ? noAnswer(info) : null];
function knownLosses({ data, commands }) {
  const elements = [];
  const bytes = sum(data.streams, (stream) => stream.bytes), lost = sum(data.streams, (stream) => stream.bytes_lost);
  elements.push(make('p', {}, `Of ${count(bytes)} ${data.unit} of trace, ${count(sum(data.streams, (s) => s.bytes_decoded))} were decoded, `
    + `${count(sum(data.streams, (s) => s.bytes_padding))} are padding, and ${count(lost)} were lost.`));
  if (data.emulated)
    elements.push(make('p', {}, 'The program ran in an emulator. Its instructions are exact. Its times are the emulator\u2019s and say little about a processor.'));
  if (data.losses.length)
    elements.push(make('h3', {}, 'Losses'), table([
      ['times', (loss) => count(loss.count)], [data.unit, (loss) => count(loss.bytes)],
      ['cause', (loss) => loss.cause, 'l'], ['remedy', (loss) => loss.remedy, 'l w']], data.losses, (loss) => loss.cause));
  const images = data.images.filter((image) => !image.usable || image.problem || image.verification === 'unverified');
  if (images.length)
    elements.push(make('h3', {}, 'Files of code that are missing or unverified'), table([
      ['', (image) => image.verification, 'l'],
      ['file', (image) => nameAndPlace(image.path, image.problem), 'l w']], images, (image) => image.path));
  elements.push(timesTable(data));
  elements.push(leftOut([[data.left_out.images, 'files'], [data.left_out.threads, 'threads']], commands[1]));
  return elements;
}
