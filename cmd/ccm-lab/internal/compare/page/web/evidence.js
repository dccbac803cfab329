// The evidence of one cell as elements. Text is only ever set as text, never as HTML.

// h makes an element: h("p", { class: "muted" }, "text", otherElement). Empty children are left out.
function h(name, attributes, ...children) {
  const svg = ["svg", "use", "rect"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return element;
}

const sign = (name) => h("svg", { class: "sign", "aria-hidden": "true" }, h("use", { href: "#sign-" + name }));
const seconds = (n) => n.toFixed(n < 10 ? 2 : 1) + " s";
const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// cellData returns the data of a cell, undefined if it has none.
function cellData(row, column) {
  const element = document.getElementById(`evidence:${row}/${column}`);
  return element ? JSON.parse(element.textContent) : undefined;
}

// proof returns the evidence of one cell, or of two side by side: the same section of both in one row.
function proof(row, shown) {
  const all = shown.map((column) => ({ column, data: cellData(row, column.name) }));
  const out = all.map(({ column, data }) => result(data, column));
  for (const [title, note, body] of sections) {
    if (!all.some(({ data }) => data && body(data))) continue;
    for (const { column, data } of all) {
      const content = data && body(data);
      out.push(h("section", { class: "proof", "aria-label": `${title}, ${column.title}` },
        h("h3", {}, title, h("span", { class: "muted" }, content && note ? note(data) : "")),
        content || h("p", { class: "none" }, "none")));
    }
  }
  if (out.length === all.length && all.some(({ data }) => data)) {
    out.push(h("p", { class: "muted" }, "This report has verdicts alone. A run of ccm-lab compare has the manifest, the plan, the Events, the cloud objects and the calls of each cell."));
  }
  return out;
}

// sections are the parts of the evidence: a title, a note beside it, and a body if there is any.
const sections = [
  ["Checks", null, (d) => d.checks && checks(d.checks)],
  ["Cloud objects", (d) => objectsNote(d.objects), (d) => d.objects && objects(d.objects)],
  ["Calls to the cloud", (d) => callsNote(d.log), (d) => d.log && timeline(d.log)],
  ["Events", null, (d) => d.events && events(d.events)],
  ["Plan", null, (d) => d.plan && code(d.plan)],
  ["Status", null, (d) => d.status && code(d.status)],
  ["Manifest", (d) => copyButton(d.manifest), (d) => d.manifest && code(d.manifest)],
];

function result(data, column) {
  if (!data) return h("p", { class: "none" }, `No result of ${column.title} in this run.`);
  const figures = data.calls
    ? `${count(data.calls, "call")}, ${count(data.changes, "change")}${data.seconds ? ", " + seconds(data.seconds) : ""}` : "";
  return h("div", { class: "result " + data.verdict },
    h("p", { class: "muted" }, column.title),
    h("p", { class: "verdict" }, sign(data.verdict), verdicts[data.verdict].label),
    h("p", {}, data.summary),
    figures && h("p", { class: "figures" }, figures),
    data.declared && h("p", { class: "warning" }, sign("problem"), ` The provider declares “${verdicts[data.declared].label}”.`),
    (data.leaked || []).map((name) => h("p", { class: "warning" }, sign("problem"), ` Left in the cloud: ${name}`)));
}

function table(head, body, name = "") {
  return h("table", { class: "facts " + name },
    h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, body.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))));
}

function checks(list) {
  return table(["", "What", "Want", "Got"], list.map((c) => [
    h("span", { class: c.ok ? "yes" : "no" }, sign(c.ok ? "works" : "failed"), h("span", { class: "hidden" }, c.ok ? "holds" : "fails")),
    c.name, c.want || "–", h("span", { class: c.ok ? undefined : "no" }, c.got || "nothing")]));
}

function objectsNote(list) {
  const parts = ["created", "changed", "deleted", "same"].map((change) => [change, list.filter((o) => o.change === change).length]);
  return parts.filter(([, n]) => n).map(([change, n]) => `${n} ${change}`).join(", ");
}

const marks = { created: "+ created", changed: "~ changed", deleted: "− deleted", same: "unchanged" };

// objects shows what changed in the cloud; what did not is folded.
function objects(list) {
  const same = list.filter((o) => o.change === "same");
  const changed = list.filter((o) => o.change !== "same");
  return h("div", {},
    changed.length ? changed.map(object) : h("p", { class: "muted" }, "Nothing changed."),
    same.length > 0 && h("details", {}, h("summary", {}, count(same.length, "unchanged object")), same.map(object)));
}

function object(o) {
  return h("div", { class: "object " + o.change },
    h("header", {}, h("span", { class: "mark" }, marks[o.change]), h("b", {}, o.kind), h("span", {}, o.name), h("span", { class: "id" }, o.id)),
    o.fields && h("dl", {}, o.fields.map((f) => [h("dt", {}, f.name), h("dd", {}, field(o, f))])));
}

function field(o, f) {
  if (o.change === "created" || f.was === f.is) return f.is;
  if (o.change === "deleted") return f.was;
  return [f.was && h("del", {}, f.was), " ", h("span", { class: "muted" }, "→"), " ", f.is && h("ins", {}, f.is)];
}

function callsNote(log) {
  const changes = log.filter((c) => c.change).length;
  const errors = log.filter((c) => c.error).length;
  return [count(log.length, "call"), count(changes, "change"), errors && count(errors, "error")].filter(Boolean).join(", ");
}

// timeline shows each call as a line: when it started, and a bar for how long it took.
function timeline(log) {
  const end = Math.max(...log.map((c) => c.seconds + c.took), 0.001);
  return h("div", { class: "timeline", role: "list" }, log.map((c) => {
    const bar = h("rect", { x: `${100 * c.seconds / end}%`, width: `${Math.max(100 * c.took / end, 0.6)}%`, y: "1", height: "8", rx: "1.5" });
    return h("div", { class: `call${c.change ? " change" : ""}${c.error ? " error" : ""}`, role: "listitem" },
      h("span", { class: "at" }, c.seconds.toFixed(2)),
      h("span", { class: "op" }, c.operation, c.change && h("span", { class: "tag" }, "change")),
      h("svg", { class: "lane", "aria-hidden": "true" }, bar),
      h("span", { class: "took" }, seconds(c.took)),
      c.error && h("span", { class: "problem" }, c.error));
  }));
}

function events(list) {
  return table(["s", "Reason", "Object", "Message"], list.map((e) => [
    e.seconds.toFixed(1), h("span", { class: e.type === "Warning" ? "no" : undefined }, e.reason), e.object, e.message]), "events");
}

const code = (text) => h("pre", { tabindex: "0" }, text);

function copyButton(text) {
  const button = h("button", { type: "button", class: "quiet copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      // A page that was opened from a file may not have a clipboard: the text is selected instead.
      getSelection().selectAllChildren(button.closest("section").querySelector("pre"));
      button.textContent = "Selected";
    }
  });
  return button;
}
