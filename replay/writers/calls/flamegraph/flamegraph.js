// The picture's own script: a click zooms to a call path, a search marks functions. Each .c has its
// begin and weight in units of the whole (data-b, data-w), and its depth (data-d).
const all = [...document.querySelectorAll('.c')].map((group) => ({
  group, box: group.querySelector('rect'), words: group.querySelector('text'),
  name: group.querySelector('title').textContent.split('\n')[0],
  begin: Number(group.dataset.b), weight: Number(group.dataset.w), depth: Number(group.dataset.d),
})).sort((a, b) => a.begin - b.begin || a.depth - b.depth);
const WIDE = Number(document.documentElement.getAttribute('viewBox').split(' ')[2]) - 20, LETTER = 6.7;
const found = document.getElementById('found'), back = document.getElementById('back');

function place(each, zoomed) {
  const end = zoomed.begin + zoomed.weight;
  const holds = each.begin <= zoomed.begin && each.begin + each.weight >= end && each.depth < zoomed.depth;
  const begin = Math.max(each.begin, zoomed.begin), stop = Math.min(each.begin + each.weight, end);
  const shown = stop > begin && (stop - begin) / zoomed.weight * WIDE >= 0.2;
  each.group.style.display = shown ? '' : 'none';
  each.group.classList.toggle('above', holds);
  if (!shown) return;
  const x = 10 + (begin - zoomed.begin) / zoomed.weight * WIDE, wide = (stop - begin) / zoomed.weight * WIDE;
  each.box.setAttribute('x', x);
  each.box.setAttribute('width', wide);
  each.words.setAttribute('x', x + 3);
  const most = Math.floor((wide - 6) / LETTER);
  each.words.textContent = most < 3 ? '' : each.name.length <= most ? each.name : each.name.slice(0, most - 1) + '\u2026';
}

function zoom(to) {
  for (const each of all) place(each, to);
  back.style.display = to === all[0] ? 'none' : '';
}

// The share of what lies in functions whose names have the words: each part of it counts once.
function search(words) {
  let share = 0, end = -1;
  for (const each of all) {
    const matches = words !== '' && each.depth > 0 && each.name.toLowerCase().includes(words.toLowerCase());
    each.group.classList.toggle('found', matches);
    if (!matches || each.begin + each.weight <= end) continue;
    share += each.begin + each.weight - Math.max(each.begin, end);
    end = each.begin + each.weight;
  }
  found.textContent = words === '' ? '' : `${words}: ${(100 * share / all[0].weight).toFixed(1)} %`;
}

function ask() {
  search(prompt('Mark functions whose name contains:', '') ?? '');
}

for (const each of all) each.group.addEventListener('click', () => zoom(each));
back.addEventListener('click', () => zoom(all[0]));
document.getElementById('ask').addEventListener('click', ask);
window.addEventListener('keydown', (event) => {
  if (event.key === '/' || (event.ctrlKey && event.key === 'f')) {
    event.preventDefault();
    ask();
  }
  if (event.key === 'Escape') zoom(all[0]);
});
zoom(all[0]);
