/* Figures of the page and their controls, tooltips, copy buttons, and the theme. */

const charts = JSON.parse(document.getElementById("charts").textContent);

function choice(chart, name) {
  const list = document.querySelector("#controls-" + chart.name + " [name=" + name + "]");
  return list ? +list.value : 0;
}

function draw(chart) {
  const chosen = { panel: choice(chart, "panel"), x: choice(chart, "x"), y: choice(chart, "y") };
  return drawChart(document.getElementById("figure-" + chart.name), chart, chosen);
}

/* Figures are drawn when they are about to become visible. */
const drawnCharts = new Set();
const watch = new IntersectionObserver(entries => entries.forEach(entry => {
  if (!entry.isIntersecting) return;
  watch.unobserve(entry.target);
  const chart = charts.find(one => "figure-" + one.name === entry.target.id);
  drawnCharts.add(chart);
  draw(chart);
}), { rootMargin: "600px" });

function drawAll() {
  return Promise.all(charts.map(chart => { drawnCharts.add(chart); return draw(chart); }));
}

const preferred = window.matchMedia("(prefers-color-scheme: dark)");
let chosen = null;

function setTheme(theme) {
  root.dataset.theme = theme;
  return Promise.all([...drawnCharts].map(draw));
}

function usual() {
  return chosen || (preferred.matches ? "dark" : "light");
}

document.getElementById("theme").addEventListener("click", () => {
  chosen = root.dataset.theme === "dark" ? "light" : "dark";
  setTheme(chosen);
});
preferred.addEventListener("change", () => setTheme(usual()));
window.addEventListener("beforeprint", () => { setTheme("light"); drawAll(); });
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

/* Horizontally scrolling boxes can be scrolled by keyboard. */
function reachable() {
  document.querySelectorAll(".wide, pre").forEach(box => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
}

let resized = 0;
window.addEventListener("resize", () => {
  clearTimeout(resized);
  resized = setTimeout(() => {
    [...drawnCharts].filter(one => one.kind === "choices").forEach(draw);
    reachable();
  }, 150);
});

/* Tooltips of marks. */
const tip = document.getElementById("tip");
document.addEventListener("pointermove", event => {
  const marked = event.target.closest && event.target.closest("[data-tip]");
  tip.style.display = marked ? "block" : "none";
  if (!marked) return;
  tip.textContent = marked.dataset.tip;  /* text, never markup */
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
});

/* A copy button for every code block. */
function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = made("textarea", document.body);
  area.value = text;
  area.select();
  document.execCommand("copy");
  area.remove();
  return Promise.resolve();
}

document.querySelectorAll(".code").forEach(box => {
  const button = made("button", box, "", "copy");
  button.type = "button";
  button.addEventListener("click", () => copy(box.querySelector("code").textContent).then(() => {
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  }));
});

root.dataset.theme = usual();
const boxes = charts.map(chart => document.getElementById("figure-" + chart.name));
charts.forEach((chart, i) => {
  if (boxes[i].getBoundingClientRect().top > 2 * window.innerHeight) return watch.observe(boxes[i]);
  drawnCharts.add(chart);
  draw(chart);
});
reachable();
root.dataset.drawn = "true";
