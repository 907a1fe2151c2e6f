"use strict";
// The page works without this: it sorts and filters tables, and shows and hides curves.
document.documentElement.classList.add("js");

function value(cell) {
  const text = cell.textContent.trim().replace(/[−]/g, "-").replace(/(\d),(?=\d{3})/g, "$1");
  const number = parseFloat(text.replace(/^[\[#]/, ""));
  return text === "–" || text === "" ? null : Number.isNaN(number) ? text.toLowerCase() : number;
}

function order(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

for (const grid of document.querySelectorAll(".grid")) {
  for (const table of grid.querySelectorAll("table")) {
    const body = table.tBodies[0];
    if (body.rows.length < 2 || table.classList.contains("talk")) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
        const known = [], none = [];
        for (const row of body.rows) (value(row.cells[column]) === null ? none : known).push(row);
        known.sort((a, b) => sign * order(value(a.cells[column]), value(b.cells[column])));
        body.append(...known, ...none);
      });
    });
  }
  if ("filter" in grid.dataset) {
    const label = document.createElement("label"), input = document.createElement("input");
    label.className = "filter";
    input.type = "search";
    label.append("Filter rows: ", input);
    grid.prepend(label);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/);
      for (const row of grid.querySelector("tbody").rows)
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    });
  }
  const fits = () => {
    const scroll = grid.querySelector(".scroll");
    grid.classList.toggle("fits", scroll.scrollWidth <= scroll.clientWidth);
  };
  addEventListener("resize", fits);
  fits();
}

for (const curves of document.querySelectorAll(".curves")) {
  for (const entry of curves.querySelectorAll(".legend li")) {
    const label = document.createElement("label"), input = document.createElement("input");
    input.type = "checkbox";
    input.checked = !entry.classList.contains("off");
    label.append(input, " ", ...entry.childNodes);
    entry.append(label);
    const show = () => {
      entry.classList.toggle("off", !input.checked);
      for (const drawn of curves.querySelectorAll(".curve, .band"))
        if (drawn.dataset.agent === entry.dataset.agent) drawn.classList.toggle("off", !input.checked);
    };
    input.addEventListener("change", show);
    show();
  }
}
