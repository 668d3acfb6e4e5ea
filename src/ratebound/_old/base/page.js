"use strict";
// What the page can do beyond being read: sorting tables, opening folds, showing values, moving along a price.
(() => {
  const page = document.querySelector(".ratebound");
  if (!page) return;

  // --- sorting ---------------------------------------------------------------------------------
  const key = (row, column) => {
    const cell = row.cells[column], data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number";
    if (numbers) return a - b;
    if (typeof a === "number") return -1; // what has no number comes last
    if (typeof b === "number") return 1;
    return a.localeCompare(b);
  };
  for (const table of page.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    if (body.rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].sort((a, b) => compare(key(a, column), key(b, column)));
        body.append(...(down ? rows.reverse() : rows));
      });
    });
  }

  // --- folds: open on paper, and where a link leads -----------------------------------------------
  const folds = page.querySelectorAll("details");
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...folds].filter((each) => !each.open);
    for (const each of closed) each.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
  });
  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const own = target && target.querySelector(":scope > details");
    if (own) own.open = true;
  };
  window.addEventListener("hashchange", unfold);
  unfold();

  // --- values where the pointer is ---------------------------------------------------------------
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the drawings have these words as their labels
  page.append(tip);
  page.addEventListener("pointermove", (event) => {
    const drawn = event.target.closest("[data-tip]");
    tip.hidden = !drawn;
    if (!drawn) return;
    tip.textContent = drawn.dataset.tip;
    const left = Math.min(event.clientX + 12, document.documentElement.clientWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 8)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });

  // --- moving along what a promise costs -----------------------------------------------------------
  const STEPS = 200;
  const short = (number) => String(Number(number.toFixed(4)));
  page.querySelectorAll("svg[data-curve]").forEach((svg, place) => {
    const curve = JSON.parse(svg.dataset.curve), { xs, ys, places } = curve;
    if (xs.length < 2) return;
    const first = xs[0], last = xs[xs.length - 1];
    const at = (x) => {
      const right = Math.max(1, xs.findIndex((each) => each >= x - 1e-12));
      const share = (x - xs[right - 1]) / (xs[right] - xs[right - 1] || 1);
      const between = (a, b) => a + share * (b - a);
      return [between(ys[right - 1], ys[right]), between(places[right - 1][0], places[right][0]),
        between(places[right - 1][1], places[right][1])];
    };
    const mark = document.createElementNS(svg.namespaceURI, "circle");
    mark.setAttribute("r", "4");
    mark.setAttribute("class", "moved");
    svg.append(mark);
    const label = document.createElement("label"), range = document.createElement("input");
    const said = document.createElement("output");
    range.type = "range";
    range.min = 0;
    range.max = STEPS;
    range.id = `price-${place}`;
    said.htmlFor = range.id;
    label.append("Move the ", curve.bound === "bound" ? "bound" : "number added", range);
    label.className = "mover";
    svg.after(label, said);
    const show = () => {
      const x = first + (range.value / STEPS) * (last - first), [y, cx, cy] = at(x);
      mark.setAttribute("cx", cx);
      mark.setAttribute("cy", cy);
      const change = curve.here === null ? "" : ` (${y >= curve.here[1] ? "+" : "−"}${short(Math.abs(y - curve.here[1]))})`;
      said.textContent = `At ${short(x)}: ${curve.objective} ${short(y)}${change}`;
      range.setAttribute("aria-valuetext", said.textContent);
    };
    const start = curve.here === null ? first : curve.here[0];
    range.value = Math.round(STEPS * (start - first) / (last - first));
    range.addEventListener("input", show);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, [left, right] = [places[0][0], places[places.length - 1][0]];
      range.value = Math.round(STEPS * Math.min(Math.max((x - left) / (right - left), 0), 1));
      show();
    });
    show();
  });
})();
