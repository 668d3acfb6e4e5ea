// The studio's page. Whatever comes from a table is set as text, never as markup; drawings come from the
// server, which writes them with escaped words.
"use strict";

const S = { // what was chosen; the server is sent all of it each time
  data: null, choices: null, told: null, promises: [], confidence: 0.9, falsePositive: 1, falseNegative: 1,
  byCost: false, columns: [], pins: [], learned: null, answer: null, evidence: null, made: null, openings: 0, files: null,
  step: "table", number: Date.now(), touched: 0,
};
const STEPS = [
  ["table", "Table"], ["promises", "Promises"], ["whatif", "What if"], ["compare", "Compare"],
  ["sign", "Make and sign"], ["verify", "Verify"],
];
const MANY = 20, SHOWN = 12; // columns from which on a table is folded, and columns of a single case
const SHORT = { asked: "Promises", plain: "Plain", live: "In use" };
const NAMES = { asked: "With promises", plain: "Plain model", live: "Model in use", nobody: "No to everyone" };

// --- elements ----------------------------------------------------------------------------------------

function h(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else if (key === "value" || key === "checked" || key === "disabled" || key === "htmlFor") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}
function drawing(markup) {
  if (!markup) return null;
  return document.adoptNode(new DOMParser().parseFromString(markup, "text/html").body.firstElementChild);
}
const $ = (id) => document.getElementById(id);
let ids = 0;
function field(words, input, note) {
  input.id = input.id || `f${++ids}`;
  return h("div", { class: "field" }, h("label", { htmlFor: input.id }, words), input, note && h("small", {}, note));
}
function select(options, value, onchange, label) {
  const element = h("select", { "aria-label": label, onchange: (e) => onchange(options[e.target.selectedIndex][0]) });
  options.forEach(([own, words], place) => {
    const option = h("option", {}, words);
    if (JSON.stringify(own) === JSON.stringify(value)) option.selected = true;
    element.append(option);
  });
  return element;
}
function table(caption, heads, rows, stacked = true) {
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    h("table", { class: stacked && "stacked" }, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: head.n && "n" }, head.words || head)))),
      h("tbody", {}, rows.map((row) => h("tr", { class: row.faint && "faint" }, (row.cells || row).map((cell, i) => {
        const head = heads[i], drawn = cell instanceof Element && cell.tagName === "svg";
        if (i === 0) return h("th", { scope: "row" }, cell);
        return h("td", { class: [head.n && "n", drawn && "drawn"].filter(Boolean).join(" ") || null,
          "data-head": head.words || head }, cell);
      }))))));
}
const N = (words) => ({ words, n: true });
const percent = (x, digits = 1) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(digits)}%`);
const count = (x) => Number(x).toLocaleString("en-US");
const money = (x) => Number(x).toLocaleString("en-US", { maximumFractionDigits: x < 100 ? 1 : 0 });
function say(words) { $("live").textContent = words; }

// --- asking the server -------------------------------------------------------------------------------

async function ask(action, given) {
  const response = await fetch(`api/${action}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given || {}),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || `the server answered ${response.status}`);
  return answer;
}
async function work(action, given, place, words) {
  const shown = h("progress", { "aria-label": words }), told = h("p", { class: "note" }, words);
  place.replaceChildren(h("div", { class: "work" }, h("h3", {}, words), shown, told));
  await ask(action, given);
  for (;;) {
    const job = await (await fetch("job")).json();
    if (job.total) { shown.max = job.total; shown.value = job.done; }
    told.textContent = job.total ? `${count(job.done)} of ${count(job.total)} ${job.unit}s, ${job.seconds.toFixed(0)} s`
      : `${job.seconds.toFixed(0)} s`;
    if (!job.running) {
      place.replaceChildren();
      if (job.error) throw new Error(job.error);
      return job.answer;
    }
    await new Promise((done) => setTimeout(done, 250));
  }
}
function problem(error) {
  const place = $("problem");
  place.hidden = !error;
  place.textContent = error ? error.message || String(error) : "";
  if (error) place.scrollIntoView({ block: "nearest" });
}
function tried(call) { return async (...given) => { problem(null); try { return await call(...given); } catch (e) { problem(e); } }; }
function asked() {
  return { promises: S.promises.map(clean), confidence: S.confidence, false_positive: S.falsePositive,
    false_negative: S.falseNegative, by_cost: S.byCost };
}
function clean(promise) { const { groups, ...rest } = promise; return rest; }

// --- steps -------------------------------------------------------------------------------------------

function able(step) {
  if (step === "verify") return true;
  if (!S.data) return false;
  if (step === "table") return true;
  if (step === "promises") return answered();
  return Boolean(S.learned);
}
function steps() {
  $("steps").replaceChildren(...STEPS.map(([name, words]) => h("li", {}, h("button", {
    type: "button", disabled: !able(name), "aria-current": S.step === name ? "step" : null, onclick: () => go(name),
  }, words))));
}
function answered() { return Boolean(S.told) && S.choices.positive !== null; }
function go(step) {
  S.step = step;
  problem(null);
  steps();
  const view = h("section", { "aria-labelledby": "title" });
  $("view").replaceChildren(view);
  ({ table: showTable, promises: showPromises, whatif: showWhatIf, compare: showCompare, sign: showSign,
    verify: showVerify })[step](view);
  const title = $("title");
  if (title) { title.tabIndex = -1; title.focus({ preventScroll: true }); }
  scrollTo(0, 0);
}
function heading(title, lead) { return [h("h1", { id: "title" }, title), lead && h("p", { class: "lead" }, lead)]; }

// --- 1: the table ------------------------------------------------------------------------------------

function showTable(view) {
  const data = S.data, c = S.choices;
  const dated = data.columns.filter((each) => each.dates);
  const protectedOnes = data.columns.filter((each) => each.protected);
  const figures = h("dl", { class: "figures" },
    figure("Rows", count(data.rows)), figure("Columns", count(data.columns.length)),
    figure("Dates", dated.length ? `${dated[0].dates[0]} – ${dated[0].dates[1]}` : "none", dated.length ? dated[0].name : ""),
    figure("Rows without a label", S.told ? count(S.told.unlabelled) : "–", S.told && S.told.unlabelled ? "left out" : ""),
    S.told && figure("Held out for the audit", count(S.told.held), "unopened until the model is made"),
    figure("Columns that look protected", count(protectedOnes.length), protectedOnes.slice(0, 3).map((e) => e.name).join(", ")));
  const two = data.columns.filter((each) => each.values && each.values.length >= 2);
  const labels = [[null, "choose a column"], ...two.map((each) => [each.name, each.name])];
  const values = S.told ? S.told.values : [];
  const guess = data.label !== null && c.label === data.label && !answered();
  const lives = [[null, "none"], ...data.columns.filter((e) => e.values && e.values.length === 2 && e.name !== c.label)
    .map((each) => [each.name, each.name])];
  view.append(...heading(data.name.split("/").pop(), "What the table holds, and what is to be decided."),
    h("div", { class: `card question${answered() ? "" : " open"}` }, h("h2", {}, "Two questions first"),
      h("div", { class: "fields" },
        field("Predict which column?", select(labels, c.label, (v) => choose({ label: v, positive: null })),
          guess ? "This column is a guess: choose another if it is wrong. It says, for past cases, what the answer should have been."
            : "The column that says, for past cases, what the answer should have been."),
        h("fieldset", { class: "field yes" }, h("legend", {}, "Which of its values is a yes?"), values.length ? values.map((v) => h("label", { class: "pick" },
          h("input", { type: "radio", name: "yes", checked: answered() && JSON.stringify(v) === JSON.stringify(S.choices.positive), onchange: () => choose({ positive: v }) }),
          h("span", {}, String(v), h("small", {}, `${count(S.told.labels[String(v)])} rows`)))) : h("small", {}, "Choose the column first."),
        values.length ? h("small", {}, "A yes is what people hope for or what you look for: a loan, a job, a buyer, a disease found.") : null))),
    figures,
    data.notices.length ? h("p", { class: "note" }, data.notices.join("; ")) : "",
    h("h2", {}, "More settings"),
    h("div", { class: "fields" },
      field("Decisions of a model in use", select(lives, c.live, (v) => choose({ live: v })), "If a column has them, they stand beside the new ones."),
      field("Model", select(Object.entries(S.models), c.model, (v) => choose({ model: v })))),
    h("h2", {}, "Columns"),
    h("p", { class: "note" }, "The model does not see columns that look protected, unless you let it. Promises may use them all the same."),
    h("details", { open: data.columns.length <= MANY }, h("summary", {}, `All ${count(data.columns.length)} columns, and which of them the model sees`),
    table("Every column", ["Column", "Holds", N("Missing"), N("Distinct"), "Examples", "Treatment in training", "The model sees it"],
      data.columns.map((each) => [
        [each.name, " ", each.protected && h("span", { class: "badge" }, "looks protected")],
        each.dates ? `${each.holds}, ${each.dates[0]} – ${each.dates[1]}` : each.holds, count(each.missing), count(each.distinct),
        each.examples.join(", "), each.done,
        each.name === c.label ? "the label" : each.name === c.live ? "no, a decision" :
          h("input", { type: "checkbox", "aria-label": `the model sees ${each.name}`, checked: !c.hidden.includes(each.name),
            onchange: (e) => choose({ hidden: e.target.checked ? c.hidden.filter((n) => n !== each.name) : [...c.hidden, each.name] }, false) }),
      ]))),
    h("details", {}, h("summary", {}, `The first ${data.first.length} rows`),
      table("The first rows", data.columns.map((e) => e.name), data.first, false)),
    h("div", { class: "bar row" }, h("button", { class: "act", type: "button", disabled: !answered(), onclick: () => go("promises") }, "Continue to the promises"),
      answered() ? null : h("span", { class: "note" }, "Answer the two questions first.")));
}
function figure(name, value, below) { return h("div", {}, h("dt", {}, name), h("dd", {}, value, below && h("small", {}, below))); }
const choose = tried(async (changed, again = true) => {
  Object.assign(S.choices, changed);
  if (!S.choices.label) { S.told = null; if (again) go("table"); return; }
  const before = S.told;
  try { S.told = await ask("choose", S.choices); } catch (error) { S.told = null; steps(); if (again) go("table"); throw error; }
  S.learned = S.answer = S.made = S.files = null;
  if ("label" in changed) S.promises = [];
  if (again || !before) go("table"); else steps();
  const at = "label" in changed ? ".question select" : "positive" in changed ? "input[name=yes]:checked" : null;
  if (at) $("view").querySelector(at).focus(); // where the keyboard was before the step was drawn again
});

// --- 2: promises -------------------------------------------------------------------------------------

function showPromises(view) {
  const kinds = Object.entries(S.kinds);
  const button = ([name, kind]) => h("button", { class: "quiet", type: "button", title: kind.law, disabled: name === "churn" && !S.choices.live,
    onclick: () => add(name) }, kind.title);
  const place = h("div");
  view.append(...heading("What is promised", "Each promise is a sentence. Fill in its gaps; the bounds can be moved later."),
    h("h2", {}, "Common promises"), h("div", { class: "row" }, kinds.filter(([, k]) => k.ready).map(button)),
    h("h3", {}, "Others"), h("div", { class: "row" }, kinds.filter(([, k]) => !k.ready).map(button)),
    h("h2", {}, `Promised so far: ${S.promises.length}`),
    S.promises.length ? "" : h("p", { class: "note" }, "No promises yet. Without one, you see the plain model."),
    h("div", {}, S.promises.map(card)), groupsBox(), place,
    h("div", { class: "bar row" }, h("button", { class: "act", type: "button", onclick: tried(async (event) => {
      event.target.disabled = true;
      try { await learn(place); } finally { event.target.disabled = false; }
      go("whatif");
    }) }, S.learned ? "Learn again" : "Learn from the table"),
    h("span", { class: "note" }, "This takes a moment once. After that, every bound moves instantly.")));
  evidence();
}
async function learn(place) {
  S.learned = await work("learn", asked(), place, "Learning from the table, each row judged by models that did not see it");
  S.answer = null;
  steps();
}
const add = tried(async (name) => {
  const kind = S.kinds[name], columns = S.told.columns;
  const grouped = S.data.columns.filter((e) => e.values && columns.includes(e.name)); // the fewest groups first
  const first = grouped.sort((a, b) => b.protected - a.protected || a.values.length - b.values.length)[0];
  const promise = { kind: name, bound: kind.bound };
  if (kind.says.includes("{column}")) promise.column = name === "churn" ? S.choices.live : first && first.name;
  if (kind.says.includes("{against}")) promise.against = first && first.values.length <= 3 ? "each" : "everyone";
  if (kind.says.startsWith("{group}") && first) {
    const groups = (await ask("groups", { column: first.name })).groups;
    promise.group = groups[groups.length - 1].group;
    if (kind.says.includes("{other}")) promise.other = groups[0].group;
  }
  S.promises.push(promise);
  S.touched = S.promises.length - 1;
  go("promises");
  say(`${kind.title} was added`);
});
function card(promise, place) {
  const kind = S.kinds[promise.kind];
  const sentence = h("p", { class: "sentence" });
  for (const part of kind.says.split(/(\{\w+\})/)) {
    if (part === "{bound}") sentence.append(boundInput(promise, kind, place));
    else if (part === "{column}") sentence.append(columnSelect(promise, place));
    else if (part === "{against}") sentence.append(select([["each", "every other group"], ["everyone", "everyone"]], promise.against,
      (v) => { promise.against = v; evidence(); }, "compared with"));
    else if (part === "{group}") sentence.append(groupSelect(promise, "group", !kind.says.startsWith("{group}")));
    else if (part === "{other}") sentence.append(groupSelect(promise, "other", true));
    else sentence.append(part);
  }
  return h("article", { class: "card", "aria-label": kind.title }, h("div", { class: "head" }, h("h3", {}, kind.title),
    h("button", { class: "quiet", type: "button", "aria-label": `remove ${kind.title}`, onclick: () => { S.promises.splice(place, 1); go("promises"); } }, "Remove")),
    sentence, h("p", { class: "law" }, kind.law), h("div", { id: `evidence-${place}` }));
}
function boundInput(promise, kind, place) {
  return h("input", { type: "number", min: 100 * kind.least, max: 100 * kind.most, step: kind.points ? 0.5 : 1, "aria-label": `bound of ${kind.title}`,
    value: +(100 * promise.bound).toFixed(2), onchange: (e) => { promise.bound = Number(e.target.value) / 100; evidence(); } });
}
function columnSelect(promise, place) {
  const names = promise.kind === "churn" ? [S.choices.live] : S.told.columns;
  return select(names.map((n) => [n, n]), promise.column, (v) => { promise.column = v; evidence(); }, "column");
}
function groupSelect(promise, gap, everyone) {
  const box = h("span");
  const chosen = promise[gap] ? promise[gap].column : null;
  const columns = [...(everyone ? [[null, "everyone"]] : []), ...S.told.columns.map((n) => [n, n])];
  const second = h("span");
  const fill = tried(async (column) => {
    if (!column) { promise[gap] = null; second.replaceChildren(); return; }
    const groups = (await ask("groups", { column })).groups;
    const known = groups.find((g) => JSON.stringify(g.group) === JSON.stringify(promise[gap]));
    if (!known && !("value" in (promise[gap] || {})) && (promise[gap] || {}).column === column) {
      groups.push({ group: promise[gap], name: `${column} ${"below" in promise[gap] ? "under" : "from"} ${promise[gap].below ?? promise[gap].from}` });
    } else if (!known) promise[gap] = groups[gap === "other" ? 0 : groups.length - 1].group;
    const parts = [" ", select(groups.map((g) => [g.group, "value" in g.group ? String(g.group.value) : g.name]), promise[gap],
      (v) => { promise[gap] = v; fill(column); evidence(); }, "group")];
    if (!("value" in promise[gap])) parts.push(" ", h("input", { type: "number", "aria-label": "limit of the group", value: promise[gap].below ?? promise[gap].from,
      onchange: (e) => { const key = "below" in promise[gap] ? "below" : "from"; promise[gap] = { column, [key]: Number(e.target.value) }; fill(column); evidence(); } }));
    second.replaceChildren(...parts);
  });
  box.append(select(columns, chosen, async (v) => { promise[gap] = v ? { column: v } : null; if (v) promise[gap] = { column: v, value: undefined }; await fill(v); evidence(); },
    "whose"), second);
  if (chosen) fill(chosen);
  return box;
}
const shows = (margin) => margin === null ? "nothing: too few rows" : `what is kept by ${(100 * margin).toFixed(1).replace(/\.0$/, "")} points or more`;
const evidence = tried(async () => {
  if (!S.promises.length || S.step !== "promises") return;
  const told = await ask("evidence", asked());
  S.evidence = told.promises;
  told.promises.forEach((own, place) => {
    const box = $(`evidence-${place}`);
    if (!box) return;
    if (own.error) { box.replaceChildren(h("p", { class: "bad" }, own.error)); return; }
    const weak = own.rows.filter((r) => r.margin === null).length;
    box.replaceChildren(h("details", { open: own.rows.length <= 4 || weak > 0 },
      h("summary", {}, `What the held-out rows can prove${weak ? `: nothing of ${weak} ${weak === 1 ? "part" : "parts"}` : ""}`),
      table("Each part of the promise, and the rows of the smallest group in it", ["Promise", N("Held out, about"), "These rows can show", N("Rows to show 5 points")],
        own.rows.map((r) => ({ faint: r.margin === null, cells: [[r.sentence, h("small", {}, h("code", {}, r.words))], count(r.held), r.why || shows(r.margin),
          r.needed === null ? "–" : count(r.needed)] })))));
  });
});
function groupsBox() {
  const place = h("div");
  const show = tried(async (column) => {
    if (!column) { place.replaceChildren(); return; }
    const told = await ask("groups", { column, confidence: S.confidence });
    place.replaceChildren(table(`Groups of ${column}`, ["Group", N("Rows"), N("Should get a yes"), "How precisely its yes rate can be shown"],
      told.groups.map((g) => ({ faint: g.margin === null, cells: [g.name, count(g.rows), count(g.should), shows(g.margin)] }))));
  });
  return h("div", {}, h("h2", {}, "Look at the groups of a column"),
    h("div", { class: "row" }, select([[null, "choose a column"], ...S.told.columns.map((n) => [n, n])], null, show, "column whose groups are shown")), place);
}

// --- 3: what if --------------------------------------------------------------------------------------

let waiting = null, running = false, again = false;
function showWhatIf(view) {
  const controls = h("form", { class: "controls", "aria-label": "Bounds", onsubmit: (e) => e.preventDefault() },
    h("h3", {}, "Move the bounds"),
    S.promises.map(mover), S.promises.length ? null : h("p", { class: "note" }, "No promise was made."),
    slider("Confidence on new rows", S.confidence ?? 0.5, 0.5, 0.99, 0.01, "%", (v) => { S.confidence = v; moved(); },
      "The confidence that all promises hold on new rows like these."),
    h("fieldset", {}, h("legend", {}, "What a wrong decision costs"),
      h("div", { class: "fields" }, field("A wrong yes", costInput("falsePositive")), field("A wrong no", costInput("falseNegative"))),
      h("label", { class: "pick" }, h("input", { type: "checkbox", checked: S.byCost, onchange: (e) => { S.byCost = e.target.checked; moved(); } }),
        "Keep the cost low, not the number of wrong decisions")));
  const others = S.told.columns.filter((n) => !S.columns.includes(n));
  view.append(...heading("What if", `Every number here is counted on the ${count(S.told.rows)} rows to learn from, each decided by models that did not see it. The other ${count(S.told.held)} rows stay unopened until the model is made, so move the bounds as often as you like.`),
    h("div", { class: "split" }, controls, h("div", {}, h("p", { class: "freshness", id: "freshness" }), h("div", { id: "results" }),
      h("h2", {}, "Groups without a promise"),
      h("div", { class: "row" }, select([[null, "choose a column"], ...others.map((n) => [n, n])], null,
        (v) => { if (v) { S.columns.push(v); ask_now(); } }, "another column to look at"),
      S.columns.length ? h("button", { class: "quiet", type: "button", onclick: () => { S.columns = []; ask_now(); } }, "Hide them") : null),
      h("h2", {}, "What other bounds would cost"), h("div", { id: "curve" }))),
    h("div", { class: "bar row" },
      h("button", { class: "quiet", type: "button", onclick: () => { S.pins.push({ name: pinName(), asked: asked() }); say("kept for comparison"); go("compare"); } }, "Keep this to compare"),
      h("button", { class: "act", type: "button", onclick: () => go("sign") }, "Continue to make and sign"), h("div", { id: "learning" })));
  if (S.answer) results();
  ask_now();
}
function pinName() { return `What-if ${S.pins.length + 1}: ` + (S.promises.map((p) => `${S.kinds[p.kind].title} ${percent(p.bound, 0)}`).join(", ") || "no promises"); }
function costInput(name) {
  return h("input", { type: "number", min: 0, step: "any", value: S[name], oninput: (e) => { const v = Number(e.target.value); if (e.target.value !== "" && v >= 0) { S[name] = v; moved(); } } });
}
function mover(promise, place) {
  const kind = S.kinds[promise.kind];
  const words = kind.says.replace("{bound}", "…").replace(/\{(\w+)\}/g, (_, gap) => gap === "against" ? (promise.against === "each" ? "every other group" : "everyone")
    : gap === "column" ? promise.column : groupWords(promise[gap]));
  return slider(kind.title, promise.bound, kind.least, kind.most, kind.points ? 0.005 : 0.01, kind.points ? "points" : "%",
    (v) => { promise.bound = v; S.touched = place; moved(); }, words);
}
function groupWords(group) {
  if (!group) return "everyone";
  if ("value" in group) return `${group.column}: ${group.value}`;
  return "below" in group ? `${group.column} under ${group.below}` : `${group.column} ${group.from} or more`;
}
function slider(title, value, least, most, step, unit, onmove, words) {
  const id = `f${++ids}`;
  const number = h("input", { type: "number", "aria-label": `${title}, in ${unit}`, min: 100 * least, max: 100 * most, step: 100 * step, value: +(100 * value).toFixed(2) });
  const range = h("input", { type: "range", id, min: least, max: most, step, value });
  range.addEventListener("input", () => { number.value = +(100 * range.value).toFixed(2); onmove(Number(range.value)); });
  number.addEventListener("input", () => { const v = Number(number.value) / 100; if (number.value !== "" && v >= least && v <= most) { range.value = v; onmove(v); } });
  return h("div", { class: "mover" }, h("div", { class: "top" }, h("label", { htmlFor: id }, title), h("span", {}, number, h("span", { class: "unit" }, ` ${unit}`))), range, words && h("span", { class: "says" }, words));
}
function moved() { S.made = S.files = null; ask_now(); }
async function ask_now() { // one request at a time, and after it the latest
  if (running) { again = true; return; }
  running = true;
  clearTimeout(waiting);
  let learnt = false;
  try {
    do {
      again = false;
      const number = ++S.number, given = asked();
      const answer = await ask("answer", { ...given, columns: S.columns, number });
      if (answer.learn) {
        if (learnt) throw new Error(answer.learn);
        learnt = true;
        const place = $("learning");
        if (place) { await learn(place); again = true; }
        continue;
      }
      if (!again) { S.answer = answer; problem(null); if (S.step === "whatif") results(); }
    } while (again);
    const number = S.number;
    waiting = setTimeout(() => exactly(number), 350);
  } catch (error) { problem(error); } finally { running = false; }
}
async function exactly(number) {
  try {
    const answer = await ask("answer", { ...asked(), columns: S.columns, exact: true, number });
    if (answer.stale || answer.learn || number !== S.number) return;
    S.answer = answer;
    if (S.step === "whatif") { results(); say(verdictWords(answer)[1]); }
    if (!S.promises.length) return;
    const place = Math.min(S.touched, S.promises.length - 1);
    const drawn = await ask("curve", { ...asked(), place });
    const box = $("curve");
    if (number === S.number && box) {
      box.replaceChildren(drawn.chart ? h("figure", {}, drawing(drawn.chart), h("figcaption", {}, `${S.kinds[S.promises[place].kind].title}: the bound along the bottom, what it costs at the side, on the sample and without a margin for new rows. Bounds that no rule keeps are left out.`))
        : h("p", { class: "note" }, "No other bound is compatible with the rest."));
    }
  } catch (error) { problem(error); }
}
function verdictWords(answer) {
  if (!answer.promises.length) return ["", "Nothing is promised: this is the plain model"];
  if (!answer.kept) return answer.exact ? ["broken", "These promises cannot all be kept"] : ["uncertain", "Not quite kept yet; the exact search follows"];
  if (!answer.exact) return ["kept", "All promises are kept on these rows"];
  if (answer.confidence === null) return ["uncertain", "Kept on these rows; nothing is said of new ones"];
  const sure = answer.confidence > 0.99 ? "more than 99%" : `about ${Math.round(100 * answer.confidence)}%`;
  return [answer.confidence >= S.confidence - 0.02 ? "kept" : "uncertain", `All promises are kept; on new rows with a confidence of ${sure}`];
}
function legendMark(kind) {
  const marks = { asked: '<circle class="mark-asked" cx="9" cy="9" r="5.5"/>', plain: '<circle class="mark-plain" cx="9" cy="9" r="5.5"/>',
    live: '<path class="mark-live" d="M9 3l6 6l-6 6l-6 -6z"/>', nobody: '<path class="mark-nobody" d="M5 5l8 8m0 -8l-8 8"/>' };
  return drawing(`<svg viewBox="0 0 18 18" aria-hidden="true">${marks[kind]}</svg>`);
}
function results() {
  const box = $("results"), answer = S.answer;
  if (!box || !answer) return;
  const [state, words] = verdictWords(answer);
  $("freshness").textContent = answer.exact ? `Exact: searched and counted on all ${count(answer.rows)} rows to learn from.`
    : answer.sampled ? `The rule was found on a sample of about ${count(answer.sample)} rows and counted on all ${count(answer.rows)}; the exact search follows.`
      : `Counted on all ${count(answer.rows)} rows; how sure it is on new rows follows.`;
  const mark = { kept: "✓", uncertain: "?", broken: "✗" }[state] || "–";
  const models = Object.entries(answer.models);
  box.replaceChildren(...[
    h("div", { class: `verdict ${state}` }, h("span", { class: "mark", "aria-hidden": "true" }, mark), h("div", {}, h("strong", {}, words), answer.exact && !answer.kept && h("p", {}, answer.status))),
    h("ul", { class: "legend" }, models.map(([name]) => h("li", {}, legendMark(name), NAMES[name]))),
    table("What each model does", ["Model", N("Wrong decisions"), N("Get a yes"), N("Cost per 1,000 people")],
      models.map(([name, m]) => [NAMES[name], [percent(m.error), h("small", {}, `${count(m.false_positives)} wrong yes, ${count(m.false_negatives)} wrong no`)], percent(m.yes),
        [money(m.money_per_1000), h("small", {}, `${money(m.money)} in all`)]])),
    answer.promises.length ? table("Each promise on the rows to learn from", ["Promise", N("Value"), N("Bound"), N("Room"), "Kept"],
      answer.promises.map((p) => [p.sentence, percent(p.value), `${p.relation === ">=" ? "≥" : "≤"} ${percent(p.bound)}`, p.room === null ? "–" : `${p.room >= 0 ? "+" : "−"}${percent(Math.abs(p.room), 2)}`,
        h("span", { class: p.kept ? "good" : "bad" }, p.kept ? "✓ kept" : "✗ not kept")])) : null,
    groupTable("Who gets a yes", answer, [{ name: "everyone", rows: answer.rows, rates: answer.models, strip: answer.strip, all: true }, ...answer.groups.filter((g) => g.promised)]),
    answer.groups.some((g) => !g.promised) ? groupTable("Groups without a promise", answer, answer.groups.filter((g) => !g.promised)) : null].filter(Boolean));
}
function groupTable(caption, answer, groups) {
  const models = Object.keys(answer.models).filter((name) => name !== "nobody");
  return table(caption, ["Group", `Share that gets a yes, from 0 to ${percent(answer.most, 0)}`, ...models.map((name) => N(SHORT[name])), N("Wrong")],
    groups.map((g) => [[g.name, h("small", {}, `${count(g.rows)} rows`)], drawing(g.strip), ...models.map((name) => percent(g.rates[name].yes)), percent(g.rates.asked.error)]));
}

// --- 4: compare --------------------------------------------------------------------------------------

const C = { one: null, other: null, column: null };
function sides() {
  const own = [["plain", "Plain model", { model: "plain" }], ["asked", "With promises, as now", { model: "asked", asked: asked() }], ["nobody", "No to everyone", { model: "nobody" }]];
  if (S.choices.live) own.push(["live", "Model in use", { model: "live" }]);
  S.pins.forEach((pin, i) => own.push([`pin${i}`, pin.name, { model: "asked", asked: pin.asked }]));
  if (S.made) own.push(["made", "The model that was made", { model: "made" }]);
  if (S.folder) own.push(["folder", `The model in ${S.folder}`, { model: "folder" }]);
  return own;
}
function showCompare(view) {
  const own = sides();
  C.one = own.some(([n]) => n === C.one) ? C.one : S.choices.live ? "live" : "plain";
  C.other = own.some(([n]) => n === C.other) ? C.other : "asked";
  C.column = C.column || (S.promises.map((p) => p.column || (p.group && p.group.column)).filter((n) => n && S.told.columns.includes(n))[0]) || S.told.columns[0];
  const place = h("div", { id: "compared" });
  const options = own.map(([name, words]) => [name, words]);
  view.append(...heading("Compare two models", "Who gains a yes, who loses one, and why."),
    h("div", { class: "fields" }, field("From", select(options, C.one, (v) => { C.one = v; compare(place); })), field("To", select(options, C.other, (v) => { C.other = v; compare(place); })),
      field("By groups of", select(S.told.columns.map((n) => [n, n]), C.column, (v) => { C.column = v; compare(place); }))), place);
  compare(place);
}
const compare = tried(async (place) => {
  const own = Object.fromEntries(sides().map(([n, , given]) => [n, given]));
  const told = await ask("compare", { one: own[C.one], other: own[C.other], columns: [C.column] });
  const row = (g) => [g.name, count(g.rows), count(g.gain), count(g.gain_right), count(g.lose), count(g.lose_right), `${g.gain - g.lose >= 0 ? "+" : "−"}${count(Math.abs(g.gain - g.lose))}`];
  const one = (words, list, why) => [h("h2", {}, words), list.length ? h("div", { class: "cases" }, list.map((each) => caseCard(each))) : h("p", { class: "note" }, why)];
  place.replaceChildren(
    h("p", {}, `${count(told.same)} decisions stay as they are; ${count(told.everyone.gain)} people gain a yes and ${count(told.everyone.lose)} lose one.`),
    table("Who gains and who loses", ["Group", N("Rows"), N("Gain a yes"), N("of whom should"), N("Lose a yes"), N("of whom should have it"), N("Net")], [row(told.everyone), ...told.groups.map(row)]),
    ...one("Some who gain a yes", told.cases.gain, "Nobody does."), ...one("Some who lose a yes", told.cases.lose, "Nobody does."),
    h("p", { class: "note" }, "Reasons are the parts of a score: a yes is given when they sum to 0 or more. In units of one wrong decision."));
});
function caseCard(each) {
  const cells = Object.entries(each.cells).map(([name, value]) => `${name}: ${value}`);
  const facts = h("p", { class: "facts" }, cells.slice(0, SHOWN).join(" · "));
  const more = cells.length > SHOWN ? h("details", { class: "facts" }, h("summary", {}, `${cells.length - SHOWN} more columns`), cells.slice(SHOWN).join(" · ")) : null;
  const signed = (part) => h("span", { class: `n ${part >= 0 ? "good" : "bad"}` }, `${part >= 0 ? "+" : "−"}${Math.abs(part).toFixed(3)}`);
  const list = (title, parts) => {
    if (!parts.length) return [h("h3", {}, title), h("p", { class: "note" }, "This model’s scores have no parts to show.")];
    const told = parts.filter((p) => p.part !== null), sum = told.reduce((all, p) => all + p.part, 0);
    return [h("h3", {}, title), h("ul", { class: "reasons" }, parts.map((p) => h("li", {}, h("span", {}, p.words), p.part === null ? "" : signed(p.part))),
      told.length ? h("li", { class: "sum" }, h("span", {}, sum >= 0 ? "In all: yes" : "In all: no"), signed(sum)) : null)];
  };
  return h("article", { class: "card case", "aria-label": `row ${each.row}` }, h("h3", {}, `Row ${count(each.row)}: the label is ${each.label}`), facts, more,
    h("p", { class: "facts" }, `Probability of a yes label, by models that did not see this row: ${percent(each.likely)}`), ...list("Before", each.one), ...list("After", each.other));
}

// --- 5: make and sign --------------------------------------------------------------------------------

function showSign(view) {
  const place = h("div");
  view.append(...heading("Make the model, and sign it", `The model is trained as the command line trains it, on the ${count(S.told.rows)} rows to learn from. Then the ${count(S.told.held)} rows held out are opened, to audit and certify it.`),
    h("p", { class: S.openings && !S.made ? "problem" : "note" }, S.openings
      ? `The rows held out were opened ${S.openings === 1 ? "once" : `${S.openings} times`}. A model for other bounds or choices opens them again: that is counted in the sign-off, and such a model gets no certificate.`
      : "Do this when the bounds are settled. Opening these rows again for other bounds is counted in the sign-off, and takes the certificate away."),
    h("div", { class: "row" }, h("button", { class: "act", type: "button", onclick: tried(async (event) => {
      event.target.disabled = true;
      try { S.made = await work("make", { ...asked(), out: S.out }, place, "Training the model, and auditing it on rows held out"); S.openings = S.made.openings; S.files = null; } finally { event.target.disabled = false; }
      go("sign");
    }) }, S.made ? "Make it again" : "Make the model")), place);
  if (!S.made) return;
  const made = S.made, state = made.state;
  view.append(h("div", { class: `verdict ${state}` }, h("span", { class: "mark", "aria-hidden": "true" }, { kept: "✓", uncertain: "?", broken: "✗" }[state] || "–"),
    h("div", {}, h("strong", {}, `${made.headline}.`), h("p", {}, `${made.summary[0].toUpperCase()}${made.summary.slice(1)}.`))),
  made.promises.length ? table("Each promise on the rows held out", ["Promise", N("Value"), N("Bound"), N("Rows"), "On these rows", "On new rows"], made.promises.map((p) => [[p.sentence, h("small", {}, h("code", {}, p.words))],
    percent(p.value), percent(p.bound), count(p.rows), h("span", { class: p.kept ? "good" : "bad" }, p.kept === null ? "not measured" : p.kept ? "✓ kept" : "✗ broken"), p.new])) : "", signForm());
  if (S.files) view.append(filesBox());
}
function signForm() {
  const boxes = S.made.limits.map((words) => h("label", { class: "pick" }, h("input", { type: "checkbox", name: "limit" }), words));
  const year = new Date(`${S.today}T00:00:00Z`);
  year.setUTCFullYear(year.getUTCFullYear() + 1);
  const owner = h("input", { type: "text", autocomplete: "name", maxlength: 200, value: S.owner || "" }), purpose = h("textarea", { maxlength: 2000, value: S.purpose || "" });
  const expires = h("input", { type: "date", min: S.today, value: year.toISOString().slice(0, 10) }), out = h("input", { type: "text", value: S.out });
  const replace = h("input", { type: "checkbox" });
  return h("form", { "aria-label": "Sign-off", onsubmit: tried(async (event) => {
    event.preventDefault();
    S.owner = owner.value; S.purpose = purpose.value; S.out = out.value;
    const accepted = boxes.filter((b) => b.querySelector("input").checked).length;
    S.files = await ask("sign", { owner: owner.value, purpose: purpose.value, expires: expires.value, accepted, out: out.value, replace: replace.checked });
    const old = $("files"); if (old) old.remove();
    $("view").firstElementChild.append(filesBox());
    $("files").querySelector("h2").focus();
    say("signed and written");
  }) }, h("h2", {}, "Sign-off"), h("div", { class: "fields" }, field("Owner: who is responsible for it", owner), field("Valid until", expires), field("Folder to write", out)),
  field("Purpose: what it may be used for", purpose),
  h("fieldset", {}, h("legend", {}, "Limits: read and accept each"), h("div", { class: "limits" }, boxes)),
  h("label", { class: "pick" }, replace, "Replace what is in the folder, if there is a model already"),
  h("div", { class: "row" }, h("button", { class: "act", type: "submit" }, "Sign and write")));
}
function filesBox() {
  const words = { "report.html": "the signed report", "run.toml": "the run file: ratebound train run.toml makes the same model", "model.safetensors": "the model", "audit.json": "the audit, for programs" };
  return h("div", { id: "files" }, h("h2", { tabindex: -1 }, "Signed and written"), h("p", {}, "To ", h("code", {}, S.files.folder), ":"),
    table("Files", ["File", "What it is", "SHA-256", "Download"], S.files.files.map((f) => [f.name, words[f.name], h("code", {}, f.sha256.slice(0, 16) + "…"), h("a", { href: `file/${f.name}`, download: f.name }, `${f.name}`)])));
}

// --- 6: verify ---------------------------------------------------------------------------------------

function showVerify(view) {
  const folder = h("input", { type: "text", value: S.folder || (S.files && S.files.folder) || "" }), data = h("input", { type: "text", placeholder: "new-rows.csv" }), label = h("input", { type: "text", value: (S.choices && S.choices.label) || "" });
  const place = h("div");
  view.append(...heading("Verify a model folder", "Digests and sign-off; and, with rows, its promises measured again and a certificate if the rows are new."),
    h("form", { "aria-label": "Verify", onsubmit: tried(async (event) => { event.preventDefault(); const told = await work("verify", { folder: folder.value, data: data.value, label: label.value }, place, "Checking"); S.folder = folder.value; verified(place, told); }) },
      h("div", { class: "fields" }, field("Model folder", folder, "A path on this machine."), field("Rows to measure it on", data, "A path to a table; leave it empty to check files alone."), field("Their label", label)),
      h("button", { class: "act", type: "submit" }, "Verify")), place);
}
function verified(place, told) {
  const mark = (right) => right === null ? h("span", { class: "unsure" }, "?") : h("span", { class: right ? "good" : "bad" }, right ? "✓" : "✗");
  const word = (right) => right === null ? "cannot be told" : right ? "yes" : "no";
  const parts = [h("h2", {}, "Files"), h("ul", { class: "checks" }, told.checks.map((c) => h("li", {}, mark(c.right), h("span", {}, `${c.what}: ${word(c.right)}`, h("small", {}, c.words))))),
    told.signed ? h("p", {}, `Signed by ${told.signed.owner} on ${told.signed.date}, for: ${told.signed.purpose}`) : "", h("h2", {}, "What it was trained for"),
    h("ul", {}, told.promised.map((p) => h("li", {}, h("code", {}, p)))), h("p", { class: "note" }, told.status)];
  if (told.audit) parts.push(h("h2", {}, "Measured again"), h("p", {}, `${told.audit.summary}.`), table("Each promise on these rows", ["Promise", N("Value"), N("Bound"), N("Rows"), "On these rows", "On new rows"],
    told.audit.promises.map((p) => [[p.sentence || p.words, h("small", {}, h("code", {}, p.words))], percent(p.value), percent(p.bound), count(p.rows), h("span", { class: p.kept ? "good" : "bad" }, p.kept === null ? "not measured" : p.kept ? "✓ kept" : "✗ broken"), p.new])));
  if (told.certificate) parts.push(h("h2", {}, "Certificate"), h("p", { class: told.certificate.holds ? "good" : "bad" }, told.certificate.holds ? "It holds." : "These rows do not show it."), h("pre", { class: "wide" }, h("code", {}, told.certificate.words)));
  if (told.uncertified) parts.push(h("p", { class: "note" }, told.uncertified));
  place.replaceChildren(...parts);
}

// --- the start ---------------------------------------------------------------------------------------

(async () => {
  try {
    const told = await ask("start");
    Object.assign(S, { data: told.table, kinds: told.kinds, models: told.models, out: told.out, today: told.today, folder: told.folder });
    $("where").textContent = told.table ? `${told.table.name.split("/").pop()}, ${count(told.table.rows)} rows` : told.folder;
    if (told.table) {
      const hidden = told.table.columns.filter((each) => each.protected).map((each) => each.name);
      S.choices = { label: told.table.label, positive: null, hidden, live: told.table.live, model: "linear", ...(told.given || {}) };
      if (S.choices.label) S.told = await ask("choose", S.choices).catch((error) => { problem(error); return null; });
    }
    go(told.folder || !told.table ? "verify" : "table");
  } catch (error) { problem(error); }
})();
