/* Draws the charts that `interactive.py` describes, in the colours of the page's style: variables
   of the root element that are named like the colours. */
"use strict";

const root = document.documentElement;
/* Named one by one: other buttons send the figure to a server. */
const buttons = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
const narrow = window.matchMedia("(max-width: 40rem)");

function color(name) {
  return getComputedStyle(root).getPropertyValue("--" + name).trim();
}

/* Viridis, without its dark end on a dark page, where those points could not be seen. */
function pointScale() {
  if (root.dataset.theme !== "dark") return "Viridis";
  return [[0, "#8f7bea"], [0.33, "#3f9bd1"], [0.66, "#35c48a"], [1, "#fde725"]];
}

/* Replace every "@name" by a colour of the theme, "@scale" and "@points" by its scales. */
function themed(value) {
  if (typeof value === "string" && value[0] === "@") {
    if (value === "@points") return pointScale();
    if (value === "@scale") return [[0, color("low")], [0.5, color("mid")], [1, color("high")]];
    return color(value.slice(1));
  }
  if (Array.isArray(value)) return value.map(themed);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, themed(part)]));
  }
  return value;
}

/* Points keep their proportions: on a phone a high figure would be mostly empty. */
function heightOf(chart) {
  return narrow.matches && chart.kind === "choices" ? 360 : chart.height;
}

function layoutOf(chart, own) {
  const layout = themed(own);
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.font = { color: color("ink"), size: 12, family: getComputedStyle(document.body).fontFamily };
  layout.height = heightOf(chart);
  layout.margin = layout.margin || { l: 60, r: 16, t: 24, b: 56 };
  layout.hoverlabel = { namelength: -1 };
  if (narrow.matches) layout.dragmode = false;  /* a finger scrolls the page */
  layout.modebar = { bgcolor: "rgba(0,0,0,0)", color: color("faint"), activecolor: color("main") };
  if (layout.showlegend) layout.legend = { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 };
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis/.test(key)) {
      layout[key] = Object.assign({ gridcolor: color("line"), zerolinecolor: color("line"),
        linecolor: color("line"), automargin: true }, layout[key]);
      if (layout[key].title) layout[key].title = Object.assign({ standoff: 8 }, layout[key].title);
    }
  }
  return layout;
}

function extent(values) {
  return Math.max(...values) - Math.min(...values);
}

/* Places along a chosen axis: of points, or of short lines at points. */
function picked(places, columns, chosen) {
  if (!places || !places.columns) return places;
  const points = columns[places.columns], all = points[chosen[places.along]];
  const own = places.rows ? places.rows.map(row => all[row]) : all;
  if (!places.directions) return own;
  const half = places.half * Math.max(extent(points[chosen.x]), extent(points[chosen.y]));
  const leads = columns[places.directions][chosen[places.along]];
  return own.flatMap((at, i) => [at - half * leads[i], at + half * leads[i], null]);
}

/* One panel of several, along the axes that were chosen. */
function chosenPanel(own, chosen) {
  const panel = own.panels[chosen.panel];
  const traces = panel.data.map(trace => Object.assign({}, trace, {
    x: picked(trace.x, own.columns, chosen), y: picked(trace.y, own.columns, chosen),
    name: trace.name && trace.name.more
      ? trace.name.text + (trace.name.more[chosen.x + "|" + chosen.y] || "") : trace.name }));
  const layout = Object.assign({}, panel.layout, {
    xaxis: Object.assign({}, own.axes[chosen.x], panel.layout.xaxis),
    yaxis: Object.assign({}, own.axes[chosen.y], panel.layout.yaxis) });
  return [traces, layout];
}

/* Legends above a plot grow upwards: a chart is as much higher as its legend has lines. */
function drawChart(element, chart, chosen) {
  if (chart.kind === "views") return drawLinkedViews(element, chart);
  const [data, own] = chart.kind === "choices" ? chosenPanel(chart.data, chosen)
    : [chart.data, chart.layout];
  const traces = themed(data), layout = layoutOf(chart, own);
  if (layout.showlegend) {
    const shown = traces.filter(trace => trace.showlegend !== false);
    const letters = shown.reduce((sum, trace) => sum + trace.name.length + 7, 0);
    const lines = Math.min(12, Math.ceil(letters * 7 / Math.max(element.clientWidth - 80, 160)));
    layout.margin = Object.assign({}, layout.margin, { t: 16 + 21 * lines });
    layout.height = heightOf(chart) + 21 * lines;
  }
  element.style.minHeight = layout.height + "px";
  element.style.minWidth = chart.min_width ? chart.min_width + "px" : "";
  return Plotly.react(element, traces, layout, { responsive: true, displaylogo: false,
    modeBarButtons: buttons, displayModeBar: !narrow.matches });
}
