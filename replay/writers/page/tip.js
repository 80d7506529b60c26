// Words at the mouse. Needs tip.css and the element #tip.
const tip = {
  element: document.getElementById('tip'),
  show(event, words) {
    const { element } = this;
    element.style.display = 'block';
    element.textContent = words;
    element.style.left = Math.min(event.clientX + 12, window.innerWidth - element.offsetWidth - 4) + 'px';
    element.style.top = Math.min(event.clientY + 14, window.innerHeight - element.offsetHeight - 4) + 'px';
  },
  hide() { this.element.style.display = 'none'; },
};
