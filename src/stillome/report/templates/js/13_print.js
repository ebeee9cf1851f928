// Paper: everything that is folded opens, and canvases are drawn in ink on white.
const opened = [];
let screenTheme = null;

addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((part) => { part.open = true; opened.push(part); });
  screenTheme = root.dataset.theme;
  if (screenTheme === "dark") applyTheme("light");
});
addEventListener("afterprint", () => {
  opened.splice(0).forEach((part) => { part.open = false; });
  if (screenTheme === "dark") applyTheme("dark");
});
