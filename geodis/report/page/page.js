/* The figures of the page, what a reader chooses of them, and the theme. */

const charts = JSON.parse(document.getElementById("charts").textContent);

function choice(chart, name) {
  const list = document.querySelector("#controls-" + chart.name + " [name=" + name + "]");
  return list ? +list.value : 0;
}

function draw(chart) {
  const chosen = { panel: choice(chart, "panel"), x: choice(chart, "x"), y: choice(chart, "y") };
  return drawChart(document.getElementById("figure-" + chart.name), chart, chosen);
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
      controls.querySelector("[name=x]").value = view[0];
      controls.querySelector("[name=y]").value = view[1];
    }
    draw(chart);
  });
});

setTheme(usual()).then(() => { root.dataset.drawn = "true"; });
