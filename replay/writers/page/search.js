// A field to search in. Needs common.css, the field #search and the element #found. find(words) is
// called with each letter typed, next(1 or -1) by Enter, leave() by Escape.
function searchField({ find, next, leave }) {
  const field = document.getElementById('search'), found = document.getElementById('found');
  field.addEventListener('input', () => find(field.value));
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') next(event.shiftKey ? -1 : 1);
    if (event.key !== 'Escape') return;
    field.value = '';
    find('');
    leave();
  });
  return { focus: () => field.focus(), say: (words) => { found.textContent = words; } };
}

// The same for an element that has the focus; its keys come before those of the page.
function keysOf(element, keys) {
  element.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
}

// keys: what to do by the key's name. A key that is typed into a field is the field's.
function onKeys(keys) {
  window.addEventListener('keydown', (event) => {
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    if (event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}
