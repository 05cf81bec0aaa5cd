// Before the page is drawn: the theme that was chosen here, else the system's.
const root = document.documentElement;
const chosen = localStorage.getItem("theme");
if (chosen) root.dataset.theme = chosen;
if (localStorage.getItem("figures")) root.dataset.figures = ""; // on the cells, besides the words

async function copyLink(button) {
  const url = new URL(button.dataset.copy, location.href).href;
  try {
    await navigator.clipboard.writeText(url);
    button.textContent = "Copied";
  } catch {
    prompt("The link to this position", url);
  }
}

addEventListener("click", ({ target }) => {
  const copy = target.closest("[data-copy]");
  if (copy) copyLink(copy);
  if (target.closest("[data-toggle='figures']")) {
    localStorage.setItem("figures", root.toggleAttribute("data-figures") ? "1" : "");
  }
  if (!target.closest("#theme")) return;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
});
