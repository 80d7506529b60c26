// Values as words, and what the whole page knows. Needs numbers.js of the common parts.
const report = data.report;
const duration = durationIn(report.nanoseconds);
const CLASSES = ['executing', 'off', 'kernel', 'lost', 'filtered', 'undecodable'];
const CLASS_WORDS = ['executing', 'off-CPU', 'kernel', 'lost', 'filtered', 'undecodable'];
const THING = data.calls ? 'call' : 'instance';
const BY_INSTRUCTIONS = report.by === 'instructions';
const NOUN = { time: 'time', instructions: 'instructions', 'off-cpu': 'time off the CPU', kernel: 'time in the kernel', cycles: 'cycles' }[report.by];
const isCompared = report.slow > 0 && report.normal > 0;

const plural = (number, one) => `${count(number)} ${one}${number === 1 ? '' : 's'}`;
// A number that may be a mean.
const number = (value) => count(value >= 100 || Number.isInteger(value) ? Math.round(value) : Number(value.toPrecision(3)));
// A value of what instances are compared by.
const IS_COUNT = BY_INSTRUCTIONS || report.by === 'cycles';
const short = (value) => IS_COUNT ? number(value) : duration(Math.round(value));
const measured = (value) => IS_COUNT ? `${number(value)} ${NOUN}` : duration(Math.round(value));
const signed = (value, words) => (value > 0 ? '+' : value < 0 ? '\u2212' : '') + words(Math.abs(value));
const percent = (share) => share > 0 && share < 0.0005 ? '<0.1 %' : (100 * share).toFixed(1) + ' %';
// As the text output writes a moment.
const moment = (time) => report.nanoseconds
  ? Math.floor(time / 1e9) + '.' + String(Math.round(time % 1e9)).padStart(9, '0') : 'tsc:' + time;

// A cost: entries, instructions, cycles, and the time of each class.
const timeOf = (cost) => cost.times.reduce((sum, each) => sum + each, 0);
function weightOf(cost) {
  if (BY_INSTRUCTIONS) return cost.instructions;
  if (report.by === 'cycles') return cost.cycles;
  if (report.by === 'off-cpu') return cost.times[1];
  return report.by === 'kernel' ? cost.times[2] : timeOf(cost);
}
