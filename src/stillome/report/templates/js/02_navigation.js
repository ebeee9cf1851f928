// Mark the section in view in the navigation.
const links = new Map(
  [...document.querySelectorAll(".side nav a")].map((link) => [link.hash.slice(1), link]),
);
const inView = new Set();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) inView.add(entry.target.id); else inView.delete(entry.target.id);
  }
  const current = [...links.keys()].find((id) => inView.has(id));
  if (!current) return;
  links.forEach((link, id) => {
    if (id === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}, { rootMargin: "-10% 0px -60% 0px" });
links.forEach((_, id) => watcher.observe(document.getElementById(id)));
