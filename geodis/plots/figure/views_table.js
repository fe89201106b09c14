/* The table of linked views, and links to other parts of the page: elements with the attribute
   data-row for a row, data-map for a map, data-coloring for a coloring. */

const MOST_LISTED = 12;   /* selected points in the table, an even sample */
const MOST_ENDS = 24;     /* points at the ends of all maps, equally many per map */
const THUMB = 40;         /* pixels of an image in the table */

class ViewsTable {
  constructor(views) {
    this.views = views;
    const { data, element } = views;
    const many = data.views.length > 1;
    this.numberOf = new Map((data.rows || []).map((row, i) => [row, i]));
    const each = Math.max(2, Math.floor(MOST_ENDS / data.views.length));
    this.ends = data.views.flatMap((view, map) => (view.ends || []).slice(0, each).map(([where, number]) =>
      ({ where: (many ? titleOf(view) + ", " : "") + where, number, map })));
    const box = made("details", element, "views-table");
    box.open = window.innerWidth > 640;  /* closed initially in small windows */
    this.title = made("summary", box);
    this.body = made("tbody", made("table", made("div", box, "wide")));
    this.list();
  }

  /* List the ends of the maps, or the selected points. */
  list() {
    const { chosen, data } = this.views;
    const step = chosen ? Math.max(1, chosen.size / MOST_LISTED) : 1, some = [...(chosen || [])];
    const entries = chosen
      ? some.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step))
        .map(number => ({ where: "", number, map: -1 })) : this.ends;
    const few = chosen && chosen.size > entries.length;
    this.title.textContent = !chosen ? "At the ends of the maps" : few
      ? entries.length + " of the " + chosen.size + " that you chose" : "Those that you chose";
    this.body.textContent = "";
    entries.forEach(({ where, number, map }) => {
      const line = made("tr", this.body);
      line.dataset.number = number;
      if (this.views.data.sheet) {
        const image = made("canvas", made("td", line));
        image.setAttribute("aria-hidden", "true");
        image.className = "thumb";
      }
      const [name, ...known] = (data.told[number] || "").split(", ");
      const button = made("button", made("td", line), "plain", name || "point " + number);
      button.type = "button";
      button.addEventListener("click", () => this.views.pin(number));
      button.addEventListener("focus", () => this.views.point(number));
      button.addEventListener("blur", () => this.views.point(-1));
      if (!chosen) made("td", line, "", where);
      made("td", line, "small", known.join(", "));
      line.addEventListener("pointerenter", () => this.views.point(number, map));
      line.addEventListener("pointerleave", () => this.views.point(-1));
    });
    this.paint();
    this.light();
  }

  /* Draw the images, once their sheet is loaded. */
  paint() {
    const { sheet } = this.views.data;
    if (!sheet || !this.views.sheet) return;
    const scale = THUMB / Math.max(sheet.width, sheet.height);
    this.body.querySelectorAll("tr").forEach(line => {
      const image = line.querySelector("canvas");
      image.width = sheet.width * scale;
      image.height = sheet.height * scale;
      this.views.paint(image.getContext("2d"), +line.dataset.number, 0, 0, scale);
    });
  }

  /* Highlight elements of the point under the pointer, and of the pinned point. */
  light() {
    const { hovered, pinned, data } = this.views;
    const shown = [hovered, pinned].filter(number => number >= 0);
    this.body.querySelectorAll("tr").forEach(line => {
      const number = +line.dataset.number;
      line.classList.toggle("lit", shown.includes(number));
      line.querySelector("button").setAttribute("aria-pressed", String(number === pinned));
    });
    const rows = shown.map(number => String((data.rows || [])[number]));
    document.querySelectorAll("[data-row]").forEach(box =>
      box.classList.toggle("lit", rows.includes(box.dataset.row)));
  }

  /* The index of a row number; -1 if it is not shown. */
  numberOfRow(row) {
    return this.numberOf.has(+row) ? this.numberOf.get(+row) : -1;
  }
}

/* The title of a map without its space: "Factor 0", "one run: Factor 0". */
function titleOf(view) {
  const end = view.title.lastIndexOf(": ");
  return end < 0 ? view.title : view.title.slice(0, end);
}

/* Highlight a map and all elements that refer to it; -1 for none. */
function lightMap(views, map) {
  views.views.forEach(own => own.box.classList.toggle("lit", own.number === map));
  document.querySelectorAll("[data-map]").forEach(box =>
    box.classList.toggle("lit", +box.dataset.map === map));
}

/* Link rows, maps and colorings of these views to the rest of the page. */
function linkPage(views) {
  const over = (box, on) => {
    if (box.dataset.row !== undefined) views.point(on ? views.table.numberOfRow(box.dataset.row) : -1);
    else lightMap(views, on ? +box.dataset.map : -1);
  };
  document.querySelectorAll("[data-row], [data-map]").forEach(box => {
    box.addEventListener("pointerenter", () => over(box, true));
    box.addEventListener("pointerleave", () => over(box, false));
    if (box.dataset.row !== undefined) {
      box.addEventListener("click", () => views.pin(views.table.numberOfRow(box.dataset.row)));
    }
  });
  /* Points of other figures, which are redrawn whenever their axes change. */
  const rowOf = event => {
    const dot = event.target.closest && event.target.closest(".dots [data-row]");
    return dot ? views.table.numberOfRow(dot.dataset.row) : -1;
  };
  document.addEventListener("pointerover", event => { if (rowOf(event) >= 0) views.point(rowOf(event)); });
  document.addEventListener("pointerout", event => { if (rowOf(event) >= 0) views.point(-1); });
  document.addEventListener("click", event => { if (rowOf(event) >= 0) views.pin(rowOf(event)); });
  document.querySelectorAll("[data-coloring]").forEach(box => {
    box.addEventListener("click", () => {
      const line = box.closest("[data-map]");
      const names = views.data.colorings.map(one => one.name);
      const wanted = [box.dataset.coloring, "position in factor " + (line ? line.dataset.map : "")];
      const found = wanted.map(name => names.indexOf(name)).find(place => place >= 0);
      if (found !== undefined) views.color(found);
      views.element.scrollIntoView({ block: "nearest" });
    });
  });
}
