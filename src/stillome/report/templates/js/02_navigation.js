// Mark the section in view in the navigation, and keep its link in view where the list scrolls.
const links = new Map(
  [...document.querySelectorAll(".side nav a")].map((link) => [link.hash.slice(1), link]),
);
const navigation = document.querySelector(".side nav");
const inView = new Set();
links.values().next().value.setAttribute("aria-current", "true");

function follow(link) {
  // Not scrollIntoView, which would also move the page.
  const over = link.offsetLeft + link.offsetWidth / 2 - navigation.clientWidth / 2;
  navigation.scrollTo({ left: over, behavior: "auto" });
}

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
  follow(links.get(current));
}, { rootMargin: "-10% 0px -60% 0px" });
links.forEach((_, id) => watcher.observe(document.getElementById(id)));
