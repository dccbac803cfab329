// State is what the user selected. It lives in the fragment of the URL, so that a link shows the same.

// The first view has the rows in which clouds differ, without other managers and clusters with several clouds; on a narrow screen, of two clouds.
const initial = () => ({ q: "", show: isNarrow() ? twoClouds() : ownColumns(), verdict: [], differ: true, sort: "", cell: null, beside: "" });

// twoClouds returns the first column, and the first one of another provider.
function twoClouds() {
  const second = columns.find((c) => c.provider !== columns[0].provider);
  return [columns[0], second].filter(Boolean).map((c) => c.name);
}

// ownColumns returns the columns of clouds alone, by this manager; none, which shows all, if there are no others.
function ownColumns() {
  return columns.some((c) => c.other) ? columns.filter((c) => !c.other).map((c) => c.name) : [];
}

const isNarrow = () => matchMedia("(max-width: 720px)").matches;

let state = {};

// parse reads a fragment. Unknown keys and values are ignored.
function parse(fragment) {
  const p = new URLSearchParams(fragment.replace(/^#/, ""));
  const list = (key) => (p.get(key) || "").split(",").filter(Boolean);
  const s = initial();
  s.q = p.get("q") || "";
  if (p.has("show")) s.show = list("show").filter((name) => columns.some((c) => c.name === name));
  s.verdict = list("verdict").filter((v) => v in verdicts);
  s.differ = p.get("differ") !== "0";
  s.sort = p.get("sort") in orders ? p.get("sort") : "";
  const [row, column] = splitCell(p.get("cell") || "");
  if (rowByID.has(row) && columns.some((c) => c.name === column)) s.cell = { row, column };
  s.beside = columns.some((c) => c.name === p.get("beside")) ? p.get("beside") : "";
  return s;
}

// splitCell splits at the last slash: a row's ID may have some.
function splitCell(text) {
  const i = text.lastIndexOf("/");
  return [text.slice(0, i), text.slice(i + 1)];
}

function format(s) {
  const p = new URLSearchParams();
  if (s.q) p.set("q", s.q);
  if (isNarrow() || s.show.join() !== initial().show.join()) p.set("show", s.show.join(","));
  if (s.verdict.length) p.set("verdict", s.verdict.join(","));
  if (!s.differ) p.set("differ", "0");
  if (s.sort) p.set("sort", s.sort);
  if (s.cell) p.set("cell", s.cell.row + "/" + s.cell.column);
  if (s.cell && s.beside) p.set("beside", s.beside);
  const text = p.toString().replaceAll("%2C", ",").replaceAll("%2F", "/");
  return text ? "#" + text : location.pathname + location.search;
}

// update changes the state and shows it. A step can be undone with the browser's back button.
function update(change, step = false) {
  Object.assign(state, change);
  history[step ? "pushState" : "replaceState"](null, "", format(state));
  render();
}

// visible returns the columns that are shown, in the order of the page.
function visible() {
  return columns.filter((c) => !state.show.length || state.show.includes(c.name));
}
