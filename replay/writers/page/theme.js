// Dark or light: as the reader's system is, until the button changes it. Needs common.css and the
// button #theme. `changed` is called after each change, not at first.
function followTheme(changed) {
  const root = document.documentElement;
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const asSystem = () => { root.dataset.theme = dark.matches ? 'dark' : 'light'; };
  asSystem();
  dark.addEventListener('change', () => {
    asSystem();
    changed();
  });
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    changed();
  });
}
const isDark = () => document.documentElement.dataset.theme === 'dark';

// The values that the styles give the variables of these names now, for a canvas.
function themeColors(names) {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue('--' + name).trim()]));
}

// A name has the same colour on every page.
function colorOfName(name) {
  let hash = 7;
  for (let i = 0; i < Math.min(name.length, 200); ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return `hsl(${hash % 360} ${45 + (hash >> 9) % 25}% ${isDark() ? 32 : 72}%)`;
}
