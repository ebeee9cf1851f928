// Light or dark: what the system asks for, until the reader chooses.
const root = document.documentElement;
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];

function storedTheme() {
  try { return localStorage.getItem("stillome-theme"); } catch { return null; }
}

function applyTheme(theme) {
  root.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.setAttribute("aria-pressed", String(theme === "dark"));
  button.textContent = theme === "dark" ? "Light mode" : "Dark mode";
  themeListeners.forEach((listener) => listener());
}

document.getElementById("theme").addEventListener("click", () => {
  const theme = root.dataset.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("stillome-theme", theme); } catch { /* private windows store nothing */ }
  applyTheme(theme);
});
systemDark.addEventListener("change", () => {
  if (!storedTheme()) applyTheme(systemDark.matches ? "dark" : "light");
});
applyTheme(storedTheme() || (systemDark.matches ? "dark" : "light"));

const cssColour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
