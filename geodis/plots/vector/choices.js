/* Draws figures with a choice of panel and axes (`choices_data`), in the colours of the page, which
   are variables of the root element. */
"use strict";

const root = document.documentElement;
const SVG = "http://www.w3.org/2000/svg";
const OUTLINES = ["", "M-.9-.9H.9V.9H-.9Z", "M0-1.1L1 .8H-1Z", "M0-1.2L1.2 0L0 1.2L-1.2 0Z",
  "M0 1.1L1-.8H-1Z", "M-.4-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z",
  "M-1-.6L-.6-1L0-.4L.6-1L1-.6L.4 0L1 .6L.6 1L0 .4L-.6 1L-1 .6L-.4 0Z"];

function color(name) {
  return getComputedStyle(root).getPropertyValue("--" + name).trim();
}

function drawn(kind, parent, attributes, text) {
  const element = document.createElementNS(SVG, kind);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  if (text !== undefined) element.textContent = text;  /* text, never markup */
  parent.appendChild(element);
  return element;
}

/* Positions along a chosen axis. */
function picked(places, columns, chosen) {
  if (!places || !places.columns) return places;
  const all = columns[places.columns][chosen[places.along]];
  return places.rows ? places.rows.map(row => all[row]) : all;
}

/* Ends of short lines at points: pairs of positions. */
function lineEnds(mark, columns, chosen) {
  if (mark.ends) return mark.ends;
  const points = columns[mark.columns], leads = columns[mark.directions];
  const [px, py] = [points[chosen.x], points[chosen.y]];
  const half = mark.half * Math.max(extent(px), extent(py));
  return mark.rows.map((row, i) => [-1, 1].map(side => [
    px[row] + side * half * leads[chosen.x][i], py[row] + side * half * leads[chosen.y][i]]));
}

function extent(values) {
  return Math.max(...values) - Math.min(...values);
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(f => f * power).find(step => step >= least * (1 - 1e-9)) || 1;
}

/* The limits of an axis. */
function ends(axis, values) {
  if (axis.limits) return axis.limits;
  if (axis.names.length) return [-0.5, axis.names.length - 0.5];
  let low = Infinity, high = -Infinity;
  values.forEach(v => { if (v !== null) { low = Math.min(low, v); high = Math.max(high, v); } });
  if (low > high) return [0, 1];
  if (axis.zero) low = Math.min(low, 0);
  const room = 0.04 * (high - low) || 0.5;
  return [axis.zero && low === 0 ? 0 : low - room, high + room];
}

function ticksOf(axis, low, high, most) {
  if (axis.names.length) return axis.names.map((name, i) => [i, name]);
  const step = niceStep((high - low) / most), ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    ticks.push([k * step, String(+(k * step).toPrecision(10))]);
  }
  return ticks;
}

/* Tooltips: templates with fields filled in. */
function toldOf(mark, i, x, y, label) {
  return mark.hover.map(([literal, name, digits]) => {
    if (!name) return literal;
    const value = name === "x" ? x : name === "y" ? y : name === "label" ? label
      : mark.told[name][i];
    if (typeof value !== "number" || !digits) return literal + value;
    const [, count, kind] = digits.match(/^\.(\d+)([gf])$/) || [null, 4, "g"];
    return literal + (kind === "f" ? value.toFixed(+count) : String(+value.toPrecision(+count)));
  }).join("");
}

function drawChoices(element, chart, chosen) {
  const own = chart.data, panel = own.panels[chosen.panel];
  const axes = [own.axes[chosen.x], own.axes[chosen.y]];
  const wide = Math.max(320, Math.min(element.clientWidth || 720, 900));
  const tall = wide < 500 ? Math.min(chart.height, wide) : chart.height;
  const marks = panel.marks.map(mark => mark.kind === "dots"
    ? { mark, x: picked(mark.x, own.columns, chosen), y: picked(mark.y, own.columns, chosen) }
    : { mark, lines: lineEnds(mark, own.columns, chosen) });
  const all = [0, 1].map(k => marks.flatMap(one => one.lines ? one.lines.flatMap(line =>
    line.map(end => end[k])) : k ? one.y : one.x));
  let [[xl, xh], [yl, yh]] = [ends(axes[0], all[0]), ends(axes[1], all[1])];
  const labels = marks.filter(({ mark }) => mark.label).map(({ mark }) => [mark.label
    + ((mark.more || {})[chosen.x + "|" + chosen.y] || ""), mark.color]);
  const scaled = panel.marks.find(mark => mark.legend);
  element.textContent = "";
  const svg = drawn("svg", element, { viewBox: `0 0 ${wide} ${tall}`, width: "100%",
    "font-size": 12, role: "img", "aria-label": chart.about });
  const legend = drawn("g", svg, { class: "legend" });
  let [x, line] = [0, 0];
  const entries = scaled ? [[panel.title + ":", null]].concat(scaled.legend) : labels;
  entries.forEach(([text, shade]) => {
    const room = 30 + 6.7 * text.length;
    if (x && x + room > wide) [x, line] = [0, line + 1];
    if (shade) drawn("circle", legend, { cx: x + 6, cy: 10 + 19 * line, r: 4.5,
      fill: shade[0] === "#" ? shade : `var(--${shade})` });
    drawn("text", legend, { x: x + (shade ? 14 : 0), y: 14 + 19 * line, fill: "var(--ink)",
      class: "legend-text" }, text);
    x += room;
  });
  const [left, right, top, foot] = [62, wide - 8, 12 + 19 * (entries.length ? line + 1 : 0),
    tall - 42];
  if (panel.equal) {
    const unit = Math.min((right - left) / (xh - xl), (foot - top) / (yh - yl));
    const [dx, dy] = [(right - left) / unit / 2, (foot - top) / unit / 2];
    const [mx, my] = [(xl + xh) / 2, (yl + yh) / 2];
    [xl, xh, yl, yh] = [mx - dx, mx + dx, my - dy, my + dy];
  }
  const atX = v => left + (v - xl) / (xh - xl) * (right - left);
  const atY = v => foot - (v - yl) / (yh - yl) * (foot - top);
  const grid = drawn("g", svg, { stroke: "var(--line)", fill: "var(--faint)" });
  ticksOf(axes[0], xl, xh, wide / 90).forEach(([v, text]) => {
    drawn("path", grid, { d: `M${atX(v)} ${top}V${foot}` });
    drawn("text", grid, { x: atX(v), y: foot + 16, "text-anchor": "middle", stroke: "none" }, text);
  });
  ticksOf(axes[1], yl, yh, tall / 60).forEach(([v, text]) => {
    drawn("path", grid, { d: `M${left} ${atY(v)}H${right}` });
    drawn("text", grid, { x: left - 6, y: atY(v) + 4, "text-anchor": "end", stroke: "none" }, text);
  });
  drawn("text", svg, { x: (left + right) / 2, y: tall - 6, "text-anchor": "middle",
    fill: "var(--ink)", class: "x-title" }, axes[0].title);
  drawn("text", svg, { x: 12, y: (top + foot) / 2, "text-anchor": "middle", fill: "var(--ink)",
    transform: `rotate(-90 12 ${(top + foot) / 2})` }, axes[1].title);
  marks.forEach(({ mark, x: xs, y: ys, lines }) => {
    if (lines) {
      const d = lines.map(([a, b]) => `M${atX(a[0]).toFixed(1)} ${atY(a[1]).toFixed(1)}`
        + `L${atX(b[0]).toFixed(1)} ${atY(b[1]).toFixed(1)}`).join("");
      drawn("path", svg, { d, stroke: `var(--${mark.color})`, "stroke-width": 1.6, fill: "none",
        class: "lines" });
      return;
    }
    const group = drawn("g", svg, { fill: `var(--${mark.color})`, opacity: mark.alpha,
      class: "dots" });
    const outline = OUTLINES[mark.marker % OUTLINES.length];
    xs.forEach((value, i) => {
      if (value === null || ys[i] === null) return;
      const [cx, cy] = [atX(value).toFixed(1), atY(ys[i]).toFixed(1)];
      const dot = outline
        ? drawn("path", group, { d: outline, transform: `translate(${cx} ${cy}) scale(${mark.radius})` })
        : drawn("circle", group, { cx, cy, r: mark.radius });
      if (mark.colors) dot.setAttribute("fill", mark.colors[i]);
      if (mark.told.row) dot.dataset.row = mark.told.row[i];
      if (mark.hover.length) dot.dataset.tip = toldOf(mark, i, value, ys[i], mark.label);
    });
  });
}

function drawChart(element, chart, chosen) {
  return chart.kind === "views" ? drawLinkedViews(element, chart)
    : drawChoices(element, chart, chosen);
}
