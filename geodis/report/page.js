/* Draws the figures of the page from the data in it, in the colours of the theme. */
"use strict";

const charts = JSON.parse(document.getElementById("charts").textContent);
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

/* Replace every "@name" by a colour of the theme, and "@scale" by its scale. */
function themed(value) {
  if (typeof value === "string" && value[0] === "@") {
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
  return narrow.matches && chart.kind === "cloud" ? 360 : chart.height;
}

function layoutOf(chart, more) {
  const layout = themed(Object.assign({}, chart.layout, more || {}));
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

function choice(chart, name) {
  const list = document.querySelector("#controls-" + chart.name + " [name=" + name + "]");
  return list ? list.value : null;
}

/* Points along two axes, coloured by a factor; lines along the directions of manifold factors. */
function cloud(chart) {
  const own = chart.data, x = +choice(chart, "x"), y = +choice(chart, "y");
  const painted = own.colors[+choice(chart, "color")];
  const px = own.points[x], py = own.points[y];
  const base = { type: "scatter", mode: "markers", hovertemplate: "%{text}<extra></extra>" };
  const traces = [];
  if (painted.labels) {
    painted.labels.forEach((text, code) => {
      const rows = [];
      painted.values.forEach((value, i) => { if (value === code) rows.push(i); });
      traces.push(Object.assign({}, base, { name: text, x: rows.map(i => px[i]), y: rows.map(i => py[i]),
        text: rows.map(() => painted.name + ": " + text),
        marker: { size: 5, opacity: 0.6, color: own.palette[code % own.palette.length] } }));
    });
  } else {
    traces.push(Object.assign({}, base, { name: painted.name, x: px, y: py, showlegend: false,
      text: painted.values.map(value => painted.name + ": " + (painted.names ? painted.names[value] : value)),
      marker: { size: 5, opacity: 0.6, color: painted.values, colorscale: pointScale(), showscale: true,
        colorbar: { thickness: 12, outlinewidth: 0, title: { text: painted.name, side: "right" },
          ...(painted.names && painted.names.length <= 30
            ? { tickvals: painted.names.map((_, code) => code), ticktext: painted.names } : {}) } } }));
  }
  const span = Math.max(Math.max(...px) - Math.min(...px), Math.max(...py) - Math.min(...py));
  own.lines.forEach(line => {
    const lx = [], ly = [], half = 0.03 * span;
    own.line_points.forEach((point, s) => {
      for (let k = 0; k < line.per_point; k++) {
        const at = s * line.per_point + k;
        const dx = half * line.ends[x][at], dy = half * line.ends[y][at];
        lx.push(px[point] - dx, px[point] + dx, null);
        ly.push(py[point] - dy, py[point] + dy, null);
      }
    });
    traces.push({ type: "scatter", mode: "lines", name: line.name, x: lx, y: ly, hoverinfo: "skip",
      line: { color: line.color, width: 2 } });
  });
  const layout = layoutOf(chart, { showlegend: true,
    xaxis: { title: { text: own.axes[x].name }, zeroline: false },
    yaxis: { title: { text: own.axes[y].name }, zeroline: false, scaleanchor: "x" } });
  return [themed(traces), layout];
}

/* Pairs of points by two kinds of distance. */
function scatter(chart) {
  const own = chart.data, x = choice(chart, "x"), y = choice(chart, "y");
  const only = choice(chart, "group");
  const traces = own.groups.filter((_, i) => only === "all" || +only === i).map(group => {
    const agreement = group.correlation[x + "|" + y] ?? group.correlation[y + "|" + x];
    const rank = agreement === undefined ? "" : " (rank correlation " + agreement.toFixed(2) + ")";
    return { type: "scatter", mode: "markers", name: group.name + rank, x: group.values[x],
      y: group.values[y], marker: { size: 5, opacity: 0.6, color: group.color },
      hovertemplate: x + " %{x:.3g}<br>" + y + " %{y:.3g}<extra></extra>" };
  });
  const layout = layoutOf(chart, { showlegend: true,
    xaxis: { title: { text: x + " distance" }, rangemode: "tozero" },
    yaxis: { title: { text: y + " distance" }, rangemode: "tozero" } });
  return [themed(traces), layout];
}

const drawn = { cloud: cloud, scatter: scatter, plain: chart => [themed(chart.data), layoutOf(chart)] };

/* Legends above a plot grow upwards: a chart is as much higher as its legend has lines. */
function draw(chart) {
  const element = document.getElementById("figure-" + chart.name);
  const [traces, layout] = drawn[chart.kind](chart);
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

function drawAll() {
  return Promise.all(charts.map(draw));
}

const preferred = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;

function setTheme(theme) {
  root.dataset.theme = theme;
  return drawAll();
}

function usual() {
  return chosen || (preferred.matches ? "dark" : "light");
}

document.getElementById("theme").addEventListener("click", () => {
  chosen = root.dataset.theme === "dark" ? "light" : "dark";
  setTheme(chosen);
});
preferred.addEventListener("change", () => setTheme(usual()));
window.addEventListener("beforeprint", () => setTheme("light"));
window.addEventListener("afterprint", () => setTheme(usual()));

charts.forEach(chart => {
  const controls = document.getElementById("controls-" + chart.name);
  if (!controls) return;
  controls.addEventListener("change", event => {
    if (event.target.name === "view") {
      const view = chart.data.views[+event.target.value];
      controls.querySelector("[name=x]").value = view.x;
      controls.querySelector("[name=y]").value = view.y;
    }
    draw(chart);
  });
});

setTheme(usual()).then(() => { root.dataset.drawn = "true"; });
