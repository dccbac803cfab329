// Wires everything: what the page has, what the controls do, and what follows from a change of the state.

let columns = [];
let verdicts = {};
let rows = [];
let rowByID = new Map();

function render() {
  renderMatrix();
  renderGrid();
  renderTools();
  renderDialog();
}

function readPage() {
  const legend = JSON.parse(document.getElementById("legend").textContent);
  columns = legend.columns;
  verdicts = Object.fromEntries(legend.verdicts.map((v, i) => [v.verdict, { ...v, rank: i }]));
  rows = [...document.querySelectorAll("#matrix tr[data-row]")].map((element) => {
    const title = element.querySelector(".title").textContent;
    const detail = element.querySelector(".detail").textContent;
    const { row: id, group } = element.dataset;
    return {
      id, group, title, detail, element, values: "values" in element.dataset, home: element.parentElement, cells: [...element.cells].slice(1), shown: [],
      text: [id, group, title, detail].join(" ").toLowerCase(),
    };
  });
  rowByID = new Map(rows.map((row) => [row.id, row]));
}

function renderTools() {
  const search = document.getElementById("search");
  if (search.value !== state.q) search.value = state.q;
  document.getElementById("sort").value = state.sort;
  document.getElementById("differ").checked = state.differ;
  const shown = visible();
  for (const chip of document.querySelectorAll("[data-show]")) {
    chip.setAttribute("aria-pressed", String(shown.some((c) => c.name === chip.dataset.show)));
  }
  for (const chip of document.querySelectorAll("#tools [data-verdict]")) {
    chip.setAttribute("aria-pressed", String(state.verdict.includes(chip.dataset.verdict)));
  }
  const pair = state.show.length === 2 ? shown : [];
  document.getElementById("left").value = pair[0]?.name ?? "";
  document.getElementById("right").value = pair[1]?.name ?? "";
}

// toggle returns a list with or without a value.
const toggle = (list, value) => (list.includes(value) ? list.filter((v) => v !== value) : [...list, value]);

// toggleColumn shows or hides a column. The last one stays.
function toggleColumn(name) {
  const names = toggle(visible().map((c) => c.name), name);
  if (names.length) update({ show: names.length === columns.length ? [] : names });
}

function startTools() {
  const on = (id, type, listener) => document.getElementById(id).addEventListener(type, listener);
  on("tools", "submit", (event) => event.preventDefault());
  on("search", "input", (event) => update({ q: event.target.value }));
  on("sort", "change", (event) => update({ sort: event.target.value }));
  on("differ", "change", (event) => update({ differ: event.target.checked }));
  on("reset", "click", () => update(initial()));
  on("reset-empty", "click", () => {
    update(initial());
    document.getElementById("search").focus();
  });
  for (const chip of document.querySelectorAll("[data-show]")) chip.addEventListener("click", () => toggleColumn(chip.dataset.show));
  for (const chip of document.querySelectorAll("#tools [data-verdict]")) {
    chip.addEventListener("click", () => update({ verdict: toggle(state.verdict, chip.dataset.verdict) }));
  }
  on("left", "change", choosePair);
  on("right", "change", choosePair);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea") || dialog().open) return;
    event.preventDefault();
    document.getElementById("search").focus();
  });
}

// choosePair shows two columns, and of these the rows that differ; those of the first view if one of the two is not chosen.
function choosePair() {
  const left = document.getElementById("left").value;
  const right = document.getElementById("right").value;
  if (left && right && left !== right) update({ show: [left, right], differ: true });
  else if (state.show.length === 2) update({ show: initial().show });
}

function startMatrix() {
  const matrix = document.getElementById("matrix");
  matrix.addEventListener("keydown", move);
  matrix.addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (!button) return;
    rove(button);
    openCell(button.closest("tr").dataset.row, button.closest("td").dataset.column);
  });
}

const themes = ["automatic", "light", "dark"];

// theme shows a theme and keeps it for the next visit, if the browser lets a file do so.
function theme(name) {
  if (name === "automatic") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  const button = document.getElementById("theme");
  if (button) button.textContent = "Theme: " + name;
}

function storedTheme() {
  try {
    const name = localStorage.getItem("ccm-comparison-theme");
    return themes.includes(name) ? name : themes[0];
  } catch {
    return themes[0];
  }
}

function startTheme() {
  let name = storedTheme();
  theme(name);
  document.getElementById("theme").addEventListener("click", () => {
    name = themes[(themes.indexOf(name) + 1) % themes.length];
    theme(name);
    try {
      localStorage.setItem("ccm-comparison-theme", name);
    } catch { /* shown, but not kept */ }
  });
}

function start() {
  readPage();
  startTheme();
  startTools();
  startMatrix();
  startDialog();
  const read = () => {
    // A fragment without a value is an anchor of the page.
    if (location.hash && !location.hash.includes("=")) return;
    state = parse(location.hash);
    render();
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  state = location.hash.includes("=") ? parse(location.hash) : initial();
  render();
}

document.documentElement.classList.remove("static");
theme(storedTheme());
document.addEventListener("DOMContentLoaded", start);
