// Before the page is drawn: the theme that was chosen here, else the system's.
const root = document.documentElement;
const chosen = localStorage.getItem("theme");
if (chosen) root.dataset.theme = chosen;
if (localStorage.getItem("figures")) root.dataset.figures = ""; // on the cells, besides the words

addEventListener("click", ({ target }) => {
  if (target.closest("[data-toggle='figures']")) {
    localStorage.setItem("figures", root.toggleAttribute("data-figures") ? "1" : "");
  }
  if (!target.closest("#theme")) return;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});
