// Names with values in a panel. Needs figures.css and the element #panel.
function figureHeading(words) {
  const heading = document.createElement('h2');
  heading.textContent = words;
  return heading;
}
// Each figure is [name, value].
function figureList(figures) {
  const list = document.createElement('dl');
  for (const [name, value] of figures) {
    const term = document.createElement('dt'), text = document.createElement('dd');
    term.textContent = name;
    text.textContent = value;
    list.append(term, text);
  }
  return list;
}
function figureCode(text) {
  const code = document.createElement('code');
  code.textContent = text;
  return code;
}
