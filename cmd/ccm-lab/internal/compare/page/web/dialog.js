// The dialog shows the evidence of the selected cell, and of a second one beside it.

const dialog = () => document.getElementById("dialog");

function renderDialog() {
  const cell = state.cell;
  if (!cell) {
    if (dialog().open) dialog().close();
    return;
  }
  const row = rowByID.get(cell.row);
  const column = columns.find((c) => c.name === cell.column);
  const second = columns.find((c) => c.name === besideOf(cell));
  document.getElementById("dialog-group").textContent = row.group;
  document.getElementById("dialog-title").textContent = row.title;
  document.getElementById("dialog-detail").textContent = row.detail;
  renderTabs(row, column, second);
  const shown = visibleRows();
  const at = shown.indexOf(row);
  document.getElementById("previous").disabled = at <= 0;
  document.getElementById("next").disabled = at < 0 || at === shown.length - 1;
  dialog().classList.toggle("two", Boolean(second));
  const both = columns.filter((c) => c === column || c === second);
  document.getElementById("evidence").replaceChildren(...proof(cell.row, both));
  if (!dialog().open) {
    dialog().showModal();
    document.getElementById("dialog-title").focus();
  }
  dialog().scrollTop = 0;
}

// besideOf returns the second column: the selected one, or the other one if two are shown.
function besideOf(cell) {
  if (state.beside) return state.beside === cell.column ? "" : state.beside;
  const shown = visible();
  if (shown.length !== 2 || !shown.some((c) => c.name === cell.column)) return "";
  return shown.find((c) => c.name !== cell.column).name;
}

const visibleRows = () => [...document.querySelectorAll("#matrix tr[data-row]:not([hidden])")].map((tr) => rowByID.get(tr.dataset.row));

function renderTabs(row, column, second) {
  const tabs = columns.map((c) => {
    const verdict = row.cells.find((td) => td.dataset.column === c.name)?.dataset.verdict;
    const tab = h("button", { type: "button", class: "chip " + (verdict || ""), "aria-pressed": String(c === column), "data-tab": c.name },
      verdict && sign(verdict), c.title, verdict && h("span", { class: "hidden" }, ": " + verdicts[verdict].label));
    tab.addEventListener("click", () => {
      update({ cell: { row: row.id, column: c.name } });
      document.querySelector(`[data-tab="${CSS.escape(c.name)}"]`).focus();
    });
    return tab;
  });
  document.getElementById("tabs").replaceChildren(...tabs);
  const others = columns.filter((c) => c !== column);
  const select = document.getElementById("beside");
  select.replaceChildren(h("option", { value: "" }, "–"), ...others.map((c) => h("option", { value: c.name }, c.title)));
  select.value = second ? second.name : "";
  document.getElementById("beside-label").hidden = others.length === 0;
}

function openCell(row, column) {
  update({ cell: { row, column }, beside: "" }, true);
}

// step moves to the capability above or below.
function step(by) {
  const shown = visibleRows();
  const next = shown[shown.indexOf(rowByID.get(state.cell.row)) + by];
  if (next) update({ cell: { row: next.id, column: state.cell.column } });
}

function startDialog() {
  document.getElementById("close").addEventListener("click", () => dialog().close());
  document.getElementById("previous").addEventListener("click", () => step(-1));
  document.getElementById("next").addEventListener("click", () => step(1));
  document.getElementById("beside").addEventListener("change", (event) => {
    // With two columns shown, none beside means one alone.
    update(event.target.value ? { beside: event.target.value } : { beside: state.cell.column });
  });
  dialog().addEventListener("click", (event) => {
    if (event.target === dialog()) dialog().close();
  });
  dialog().addEventListener("close", () => {
    if (!state.cell) return;
    const { row, column } = state.cell;
    update({ cell: null, beside: "" });
    const button = rowByID.get(row).cells.find((td) => td.dataset.column === column)?.querySelector("button");
    if (!button || button.closest("[hidden]")) return;
    rove(button);
    button.focus();
  });
}
