// Numbers as words. Needs nothing. durationIn(isNanoseconds) returns a function that gives the words
// of a duration in nanoseconds, or in ticks.
const count = (value) => value.toLocaleString('en');
function durationIn(isNanoseconds) {
  const units = isNanoseconds ? [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']] : [[1, 'ticks']];
  return (value) => {
    for (const [size, name] of units)
      if (value >= size || size === 1) {
        const number = value / size;
        return (size === 1 ? String(Math.round(number)) : number.toPrecision(4)) + ' ' + name;
      }
    return String(value);
  };
}
