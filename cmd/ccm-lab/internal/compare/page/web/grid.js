// The keyboard in the matrix: one cell is in the tab order, and the arrow keys move to others.

let current = null;

const narrow = matchMedia("(max-width: 720px)");

// grid returns the buttons that are shown, row by row; undefined where a row has no result.
function grid() {
  return [...document.querySelectorAll("#matrix tbody tr:not(.group):not([hidden])")].map((tr) =>
    [...tr.cells].slice(1).filter((td) => !td.hidden).map((td) => td.querySelector("button") ?? undefined));
}

// rove makes a button the one that Tab reaches.
function rove(button) {
  if (current) current.tabIndex = -1;
  current = button;
  if (current) current.tabIndex = 0;
}

function renderGrid() {
  const buttons = grid().flat().filter(Boolean);
  if (!buttons.includes(current)) rove(buttons[0] ?? null);
}

function move(event) {
  const button = event.target.closest("button.cell");
  if (!button || event.altKey || event.metaKey) return;
  const cells = grid();
  const y = cells.findIndex((row) => row.includes(button));
  const next = narrow.matches ? inList(cells, button, event) : inGrid(cells, y, cells[y].indexOf(button), event);
  if (next === null) return;
  event.preventDefault();
  if (!next) return;
  rove(next);
  next.focus();
  next.scrollIntoView({ block: "nearest", inline: "nearest" });
}

// inGrid returns the button that a key leads to: undefined at an edge, null if the key means nothing here.
function inGrid(cells, y, x, event) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0] };
  const row = cells[y].filter(Boolean);
  const all = cells.flat().filter(Boolean);
  if (event.key === "Home") return event.ctrlKey ? all[0] : row[0];
  if (event.key === "End") return event.ctrlKey ? all.at(-1) : row.at(-1);
  if (!(event.key in steps)) return null;
  const [dy, dx] = steps[event.key];
  if (Math.abs(dy) > 1) y = Math.min(Math.max(y + dy, 0), cells.length - 1) - Math.sign(dy);
  // A row without a result in this column is skipped.
  do {
    y += Math.sign(dy);
    x += dx;
  } while (cells[y] && x in cells[y] && !cells[y][x]);
  return cells[y]?.[x];
}

// inList does the same where the cells of a row are below each other.
function inList(cells, button, event) {
  const steps = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
  const all = cells.flat().filter(Boolean);
  if (event.key === "Home") return all[0];
  if (event.key === "End") return all.at(-1);
  if (!(event.key in steps)) return null;
  return all[Math.min(Math.max(all.indexOf(button) + steps[event.key], 0), all.length - 1)];
}
