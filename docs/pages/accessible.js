// What the theme leaves out for those who do not use a mouse: the search has a name, and code that
// is wider than the page can be reached and scrolled by keys.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  for (const code of document.querySelectorAll("pre > code")) code.tabIndex = 0;
  document.querySelectorAll(".md-code__nav").forEach((bar, i) =>
    bar.setAttribute("aria-label", `Code ${i + 1}`));
});
