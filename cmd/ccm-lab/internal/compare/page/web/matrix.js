// The matrix: which columns and rows are shown, in which order.

const rank = (td) => verdicts[td.dataset.verdict]?.rank ?? -1;
const worst = (cells) => Math.max(...cells.map(rank));

// orders compare two rows by their visible cells; rows that are equal keep their place.
const orders = {
  name: (a, b) => a.title.localeCompare(b.title),
  worst: (a, b) => worst(b.shown) - worst(a.shown),
  calls: (a, b) => mostCalls(b) - mostCalls(a),
};

const mostCalls = (row) => Math.max(0, ...row.shown.map((td) => Number(td.dataset.calls || 0)));

function renderMatrix() {
  const shown = visible();
  const names = new Set(shown.map((c) => c.name));
  for (const element of document.querySelectorAll("[data-column]")) element.hidden = !names.has(element.dataset.column);
  for (const th of document.querySelectorAll(".group th")) th.colSpan = shown.length + 1;
  document.documentElement.classList.toggle("pairs", shown.length <= 2);
  const terms = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    row.shown = row.cells.filter((td) => names.has(td.dataset.column));
    row.element.hidden = !matches(row, terms);
    if (!row.element.hidden) count++;
    for (const td of row.cells) {
      td.classList.toggle("faded", state.verdict.length > 0 && !state.verdict.includes(td.dataset.verdict));
    }
  }
  sortRows();
  document.getElementById("count").value = count === rows.length
    ? `${count} capabilities` : `${count} of ${rows.length} capabilities`;
  document.getElementById("empty").hidden = count > 0;
  document.getElementById("matrix").hidden = count === 0;
  renderCosts(shown);
}

function matches(row, terms) {
  if (!terms.every((term) => row.text.includes(term))) return false;
  if (state.verdict.length && !row.shown.some((td) => state.verdict.includes(td.dataset.verdict))) return false;
  // A search and a filter by verdict find all rows.
  return !state.differ || terms.length > 0 || state.verdict.length > 0 || row.values || differs(row);
}

// differs reports whether the clouds that are shown have several verdicts. A column without a result differs from none.
function differs(row) {
  const isCloud = (td) => columns.find((c) => c.name === td.dataset.column)?.cloud;
  const clouds = row.shown.filter(isCloud);
  const compared = clouds.length > 1 ? clouds : row.shown;
  return new Set(compared.map((td) => td.dataset.verdict).filter(Boolean)).size > 1;
}

// sortRows moves the rows. In an order of their own they are in one body, and name their group.
function sortRows() {
  const order = orders[state.sort];
  const table = document.getElementById("matrix");
  table.classList.toggle("flat", Boolean(order));
  const bodies = [...table.tBodies];
  const sorted = order ? rows.toSorted(order) : rows;
  for (const row of sorted) (order ? bodies[0] : row.home).append(row.element);
  for (const body of bodies) {
    const empty = [...body.rows].every((tr) => tr.classList.contains("group") || tr.hidden);
    body.rows[0].hidden = Boolean(order) || empty;
  }
}

// renderCosts shows what the second of two columns costs more or less than the first.
function renderCosts(shown) {
  for (const tr of document.querySelectorAll("#costs tbody tr")) {
    const cells = [...tr.cells].filter((td) => !td.hidden && td.dataset.calls !== undefined);
    for (const delta of tr.querySelectorAll(".delta")) delta.textContent = "";
    const target = cells[1]?.querySelector(".delta");
    if (shown.length !== 2 || cells.length !== 2 || !target) continue;
    const more = cells[1].dataset.calls - cells[0].dataset.calls;
    target.textContent = more === 0 ? "the same" : `${more > 0 ? "+" : "−"}${Math.abs(more)} calls`;
  }
}
