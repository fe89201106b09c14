/* Draws linked views (`views_data`): the same points in several spaces, each on a canvas. The point
   under the pointer and the selected points are shown in all of them. */

const REACH = 16;         /* pixels around the pointer within which a point is selected */
const SMALL = 46, LARGE = 128;  /* pixels of an image on a view, and in the tooltip */

function made(kind, parent, className, text) {
  const element = document.createElement(kind);
  if (className) element.className = className;
  if (text) element.textContent = text;  /* text, never markup */
  parent.appendChild(element);
  return element;
}

function times(a, b) {
  return a.map(row => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
}

/* A rotation about the vertical axis, then about the horizontal axis. */
function turnBy(right, down) {
  const [c, s, d, t] = [Math.cos(right), Math.sin(right), Math.cos(down), Math.sin(down)];
  return times([[1, 0, 0], [0, d, -t], [0, t, d]], [[c, 0, s], [0, 1, 0], [-s, 0, c]]);
}

function seenFrom(eye, place) {
  return eye.map(row => row[0] * place[0] + row[1] * place[1] + row[2] * place[2]);
}

class LinkedViews {
  constructor(element, data) {
    this.data = data;
    this.element = element;
    this.coloring = 0;
    this.hovered = -1;
    this.pinned = -1;
    this.chosen = null;
    this.choosing = false;
    this.sheet = null;
    element.textContent = "";
    element.classList.add("views");
    this.makeControls();
    this.legend = made("p", element, "views-legend small");
    const grid = made("div", element, "views-grid");
    this.views = data.views.map((view, number) => this.makeView(grid, view, number));
    this.tip = made("div", element, "views-tip");
    this.tip.setAttribute("aria-hidden", "true");
    this.tipImage = made("canvas", this.tip);
    this.tipText = made("span", this.tip);
    this.table = new ViewsTable(this);
    this.writeLegend();
    linkPage(this);
    new ResizeObserver(() => this.draw()).observe(grid);
  }

  makeControls() {
    const bar = made("div", this.element, "controls");
    const label = made("label", bar, "", "coloured by ");
    const list = made("select", label);
    list.name = "coloring";
    this.data.colorings.forEach(one => made("option", list, "", one.name));
    this.list = list;
    list.addEventListener("change", event => {
      event.stopPropagation();
      this.color(list.selectedIndex);
    });
    if (this.data.sheet) {
      const box = made("label", bar);
      this.withImages = made("input", box);
      this.withImages.type = "checkbox";
      this.withImages.checked = true;
      made("span", box, "", "images");
      this.withImages.addEventListener("change", () => this.draw());
    }
    this.mode = made("button", bar, "", "choose an area");
    this.mode.type = "button";
    this.mode.setAttribute("aria-pressed", "false");
    this.mode.addEventListener("click", () => this.setMode(!this.choosing));
    this.clear = made("button", bar, "", "show all again");
    this.clear.type = "button";
    this.clear.hidden = true;
    this.clear.addEventListener("click", () => this.choose(null));
    this.count = made("span", bar, "small");
  }

  color(number) {
    this.coloring = this.list.selectedIndex = number;
    this.writeLegend();
    this.draw();
  }

  setMode(choosing) {
    this.choosing = choosing;
    this.mode.setAttribute("aria-pressed", String(choosing));
    this.views.forEach(({ canvas }) => {
      canvas.style.cursor = choosing ? "crosshair" : "grab";
      canvas.style.touchAction = choosing ? "none" : "";  /* touch draws the frame */
    });
  }

  makeView(grid, view, number) {
    const box = made("div", grid, "view");
    made("h3", box, "", view.title);
    const canvas = made("canvas", box);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", view.title + ". " + view.note);
    if (view.turns) canvas.tabIndex = 0;
    made("p", box, "small", view.note + (view.turns ? " Drag to turn it." : ""));
    const up = view.places.concat(...view.outlines.map(line => line.path)).map(p => Math.abs(p[1]));
    const tall = view.turns ? 1 : Math.max(0.4, Math.min(1, Math.max(...up)));
    canvas.style.aspectRatio = "1 / " + tall;  /* a line needs little height */
    const own = Object.assign({ box, canvas, number, tall, turned: view.eye.map(row => row.slice()),
      area: null, from: null }, view);
    canvas.style.cursor = "grab";
    canvas.addEventListener("pointerdown", event => this.press(own, event));
    canvas.addEventListener("pointermove", event => this.move(own, event));
    canvas.addEventListener("pointerup", () => this.release(own));
    canvas.addEventListener("pointercancel", () => { own.from = own.area = null; this.draw(); });
    canvas.addEventListener("pointerleave", () => this.hover(-1));
    box.addEventListener("pointerenter", () => lightMap(this, number));
    box.addEventListener("pointerleave", () => lightMap(this, -1));
    canvas.addEventListener("keydown", event => this.key(own, event));
    return own;
  }

  writeLegend() {
    const coloring = this.data.colorings[this.coloring];
    this.legend.textContent = "";
    coloring.legend.forEach(([text, shade]) => {
      const chip = made("span", this.legend, "chip");
      made("i", chip).style.background = shade;
      made("span", chip, "", text);
    });
    if (!coloring.legend.length) {
      this.legend.textContent = coloring.colors.length > 1
        ? "Each map has its own colours, which show the position on that map."
        : "A dot has the same colour on all maps, by " + coloring.name + ".";
    }
    if (this.data.sheet) {
      made("span", this.legend, "", this.chosen ? "The images are among those that you chose."
        : "Thumbnails differ along this factor and match as closely as possible in the others.");
    }
  }

  at(own, event) {
    const box = own.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  press(own, event) {
    own.from = own.last = own.first = this.at(own, event);
    own.canvas.setPointerCapture(event.pointerId);
    if (this.choosing || event.shiftKey) {
      this.hover(-1);
      own.area = [own.from, own.from];
    }
  }

  move(own, event) {
    const now = this.at(own, event);
    if (own.area) {
      own.area[1] = now;
      this.drawView(own);
    } else if (own.from && own.turns) {
      const pace = 3 / own.canvas.clientWidth;
      own.turned = times(turnBy((now[0] - own.last[0]) * pace, (now[1] - own.last[1]) * pace),
        own.turned);
      own.last = now;
      this.hover(-1);
      this.drawView(own);
    } else {
      this.hover(this.nearest(own, now), own, now);
    }
  }

  release(own) {
    if (own.area) {
      const [[x0, y0], [x1, y1]] = own.area;
      const inside = own.spots.filter(spot => spot.front && (spot.x - x0) * (spot.x - x1) <= 0
        && (spot.y - y0) * (spot.y - y1) <= 0).map(spot => spot.row);
      own.area = null;
      this.choose(inside.length ? new Set(inside) : null);
    } else if (own.from && Math.hypot(own.last[0] - own.first[0], own.last[1] - own.first[1]) < 4) {
      this.pin(this.nearest(own, own.first));
    }
    own.from = null;
  }

  key(own, event) {
    const steps = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15],
      ArrowDown: [0, 0.15] }[event.key];
    if (!steps) return;
    event.preventDefault();
    own.turned = times(turnBy(...steps), own.turned);
    this.drawView(own);
  }

  choose(rows) {
    this.chosen = rows;
    this.writeLegend();
    this.clear.hidden = !rows;
    this.count.textContent = rows
      ? rows.size + " of " + this.data.shown[0] + " points chosen" : "";
    this.table.list();
    this.draw();
  }

  nearest(own, [x, y]) {
    let best = -1, least = REACH * REACH;
    (own.spots || []).forEach(spot => {
      const away = (spot.x - x) ** 2 + (spot.y - y) ** 2;
      if (spot.front && away < least && this.shows(spot.row)) [best, least] = [spot.row, away];
    });
    return best;
  }

  shows(row) {
    return !this.chosen || this.chosen.has(row);
  }

  /* Highlight a point in all views, and its map. */
  point(row, map = -1) {
    lightMap(this, map);
    if (row === this.hovered) return;
    this.hovered = row;
    this.table.light();
    this.draw();
  }

  /* A pressed point stays highlighted until it is pressed again. */
  pin(row) {
    this.pinned = row === this.pinned ? -1 : row;
    this.table.light();
    this.draw();
  }

  hover(row, own, [x, y] = [0, 0]) {
    this.point(row, own ? own.number : -1);
    this.tip.style.display = row < 0 ? "none" : "block";
    if (row < 0) return;
    this.tipText.textContent = this.data.told[row] || "";
    this.tipImage.style.display = this.sheet ? "block" : "none";
    if (this.sheet) {
      const scale = LARGE / Math.max(this.data.sheet.width, this.data.sheet.height);
      this.tipImage.width = this.data.sheet.width * scale;
      this.tipImage.height = this.data.sheet.height * scale;
      this.paint(this.tipImage.getContext("2d"), row, 0, 0, scale);
    }
    const box = own.canvas.getBoundingClientRect(), all = this.element.getBoundingClientRect();
    const left = box.left - all.left + x + 18;
    this.tip.style.left = Math.min(left, all.width - LARGE - 40) + "px";
    this.tip.style.top = box.top - all.top + y + 18 + "px";
  }

  paint(context, row, x, y, scale) {
    const { columns, width, height } = this.data.sheet;
    context.imageSmoothingEnabled = width > 12;
    context.drawImage(this.sheet, row % columns * width, Math.floor(row / columns) * height,
      width, height, x, y, width * scale, height * scale);
  }

  /* Load the sheet of images once; the views are also drawn before it is loaded. */
  load() {
    if (!this.data.sheet || this.sheet) return Promise.resolve(this.draw());
    return new Promise(resolve => {
      const sheet = new Image();
      sheet.onload = () => { this.sheet = sheet; this.table.paint(); resolve(this.draw()); };
      sheet.onerror = () => resolve(this.draw());
      sheet.src = this.data.sheet.uri;
    });
  }

  draw() {
    this.views.forEach(own => this.drawView(own));
  }

  drawView(own) {
    const canvas = own.canvas, wide = canvas.clientWidth;
    if (!wide) return;
    const sharp = window.devicePixelRatio || 1, context = canvas.getContext("2d");
    canvas.width = wide * sharp;
    canvas.height = canvas.clientHeight * sharp;
    context.scale(sharp, sharp);
    const size = 0.86 * Math.min(wide, canvas.clientHeight / own.tall) / 2;
    const middle = [wide / 2, canvas.clientHeight / 2];
    const project = (place, eye) => {
      const [x, y, z] = seenFrom(eye, place);
      return { x: middle[0] + size * x, y: middle[1] - size * y, z };
    };
    own.outlines.forEach(line => this.drawOutline(context, own, line, project));
    const colors = this.data.colorings[this.coloring].colors;
    const shades = colors[colors.length > 1 ? own.number : 0];
    own.spots = own.places.map((place, row) => {
      const spot = project(place, own.turned);
      return Object.assign(spot, { row, front: !own.hides || spot.z >= 0 });
    });
    own.spots.slice().sort((a, b) => a.z - b.z).forEach(spot => {
      const shown = this.shows(spot.row);
      const deep = own.turns ? (spot.z + 1) / 2 : 1;
      context.globalAlpha = !spot.front ? 0.14 : own.hides || !own.turns ? 0.9 : 0.25 + 0.65 * deep;
      if (!shown) context.globalAlpha *= 0.2;
      context.fillStyle = shown ? shades[spot.row] : color("faint");
      context.beginPath();
      context.arc(spot.x, spot.y, (own.turns ? 2 + 1.4 * deep : 2.8), 0, 2 * Math.PI);
      context.fill();
    });
    context.globalAlpha = 1;
    this.drawLetters(context, own, project);
    if (this.sheet && this.withImages.checked) this.drawImages(context, own);
    [this.pinned, this.hovered].filter((row, i, both) => row >= 0 && both.indexOf(row) === i)
      .forEach(row => this.drawMarked(context, own, row));
    if (own.area) this.drawArea(context, own);
    canvas.dataset.spots = own.spots.length;
  }

  drawOutline(context, own, line, project) {
    const still = line.look === "silhouette", eye = still ? [[1, 0, 0], [0, 1, 0], [0, 0, 1]] : own.turned;
    const path = line.path.map(place => project(place, eye));
    context.strokeStyle = color(line.look === "guide" ? "faint" : "ink");
    context.lineWidth = line.look === "guide" ? 0.7 : 1.1;
    for (let i = 1; i < path.length; i++) {
      const behind = own.hides && path[i].z + path[i - 1].z < 0;
      context.globalAlpha = line.look === "guide" ? (behind ? 0.15 : 0.55) : still ? 0.5 : 0.9;
      context.beginPath();
      context.moveTo(path[i - 1].x, path[i - 1].y);
      context.lineTo(path[i].x, path[i].y);
      context.stroke();
    }
    context.globalAlpha = 1;
    const [a, b] = [path[0], path[path.length - 1]];
    const long = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const [dx, dy] = [(b.x - a.x) / long, (b.y - a.y) / long];
    for (let head = 0; head < line.heads; head++) {
      const shift = 9 * (head - (line.heads - 1) / 2);
      const [x, y] = [(a.x + b.x) / 2 + shift * dx, (a.y + b.y) / 2 + shift * dy];
      context.lineWidth = 1.8;
      context.beginPath();
      context.moveTo(x - 5 * dx - 5 * dy, y - 5 * dy + 5 * dx);
      context.lineTo(x + 4 * dx, y + 4 * dy);
      context.lineTo(x - 5 * dx + 5 * dy, y - 5 * dy - 5 * dx);
      context.stroke();
    }
  }

  drawLetters(context, own, project) {
    context.fillStyle = color("ink");
    context.font = "bold 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    own.letters.forEach(([text, place]) => {
      const spot = project(place.map(x => 1.07 * x), own.turned);
      context.globalAlpha = 0.65 + 0.35 * Math.sign(spot.z + 0.1);
      context.fillText(text, spot.x, spot.y);
    });
    context.globalAlpha = 1;
  }

  /* Draw images at an even sample of the shown points, without overlap. */
  drawImages(context, own) {
    const { width, height } = this.data.sheet, scale = SMALL / Math.max(width, height);
    const [wide, high] = [width * scale, height * scale], taken = [];
    const order = this.chosen ? [...this.chosen] : own.order;
    order.forEach(row => {
      const spot = own.spots[row];
      if (!spot.front || (own.turns && !own.hides && spot.z < 0)) return;
      if (taken.some(other => Math.abs(other.x - spot.x) < 1.12 * wide
        && Math.abs(other.y - spot.y) < 1.12 * high)) return;
      taken.push(spot);
    });
    context.lineWidth = 2;
    taken.sort((a, b) => a.z - b.z).forEach(spot => {
      const colors = this.data.colorings[this.coloring].colors;
      context.strokeStyle = colors[colors.length > 1 ? own.number : 0][spot.row];
      this.paint(context, spot.row, spot.x - wide / 2, spot.y - high / 2, scale);
      context.strokeRect(spot.x - wide / 2, spot.y - high / 2, wide, high);
    });
    own.canvas.dataset.images = taken.length;
  }

  /* Mark the highlighted point in every view by a ring or its image. */
  drawMarked(context, own, row) {
    const spot = own.spots[row];
    if (this.sheet) {
      const { width, height } = this.data.sheet, scale = 1.4 * SMALL / Math.max(width, height);
      context.globalAlpha = spot.front ? 1 : 0.5;
      this.paint(context, spot.row, spot.x - width * scale / 2, spot.y - height * scale / 2, scale);
      context.strokeStyle = color("accent");
      context.lineWidth = 3;
      context.strokeRect(spot.x - width * scale / 2, spot.y - height * scale / 2, width * scale,
        height * scale);
      context.globalAlpha = 1;
      return;
    }
    context.strokeStyle = color("accent");
    context.lineWidth = 3;
    context.setLineDash(spot.front ? [] : [3, 3]);
    context.beginPath();
    context.arc(spot.x, spot.y, 8, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
  }

  drawArea(context, own) {
    const [[x0, y0], [x1, y1]] = own.area;
    context.strokeStyle = color("accent");
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.strokeRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
    context.setLineDash([]);
  }
}

/* Made once, and redrawn when the theme changes. */
function drawLinkedViews(element, chart) {
  if (!element.linkedViews) element.linkedViews = new LinkedViews(element, chart.data);
  return element.linkedViews.load();
}
