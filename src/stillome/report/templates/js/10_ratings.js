// Ratings of subjects: kept by the browser, saved as a table of participant_id, rating and note.
const RATINGS = ["good", "doubtful", "exclude"];

class Ratings {
  constructor(key, ids) {
    Object.assign(this, { key, ids, given: new Map(), listeners: [] });
    try {
      const stored = JSON.parse(localStorage.getItem(key) || "{}");
      ids.filter((id) => Object.hasOwn(stored, id)).forEach((id) => this.given.set(id, stored[id]));
    } catch { /* private windows store nothing; a damaged entry is not used */ }
  }

  of(id) { return this.given.get(id) || { rating: "", note: "" }; }

  set(id, part) {
    const now = { ...this.of(id), ...part };
    if (now.rating || now.note) this.given.set(id, now); else this.given.delete(id);
    this.store();
  }

  clear() { this.given.clear(); this.store(); }

  store() {
    try { localStorage.setItem(this.key, JSON.stringify(Object.fromEntries(this.given))); } catch { /* as above */ }
    this.listeners.forEach((listener) => listener());
  }

  table() {
    // In the order of the cohort. A tab or a new line in a note would begin another cell.
    const clean = (text) => text.replace(/\s+/g, " ").trim() || "n/a";
    const rows = this.ids.filter((id) => this.given.has(id))
      .map((id) => [id, clean(this.of(id).rating), clean(this.of(id).note)]);
    return [["participant_id", "rating", "note"], ...rows].map((row) => `${row.join("\t")}\n`).join("");
  }

  counts() {
    const all = [...this.given.values()];
    return RATINGS.map((word) => `${all.filter(({ rating }) => rating === word).length} ${word}`).join(", ");
  }
}

function ratingCell(ratings, id) {
  const td = document.createElement("td");
  const select = document.createElement("select");
  select.className = "rating";
  select.setAttribute("aria-label", `Rating of ${id}`);
  select.append(...["", ...RATINGS].map((word) => new Option(word || "–", word)));
  select.value = ratings.of(id).rating;
  select.dataset.rating = select.value;
  select.addEventListener("change", () => {
    select.dataset.rating = select.value;
    ratings.set(id, { rating: select.value });
  });
  td.append(select);
  return td;
}

function noteCell(ratings, id) {
  const td = document.createElement("td");
  const input = Object.assign(document.createElement("input"), { type: "text", className: "remark", value: ratings.of(id).note });
  input.setAttribute("aria-label", `Note on ${id}`);
  input.addEventListener("change", () => ratings.set(id, { note: input.value.trim() }));
  td.append(input);
  return td;
}

function startRatings({ key, values }) {
  const ratings = new Ratings(key, values[0]);
  const tell = () => {
    document.getElementById("rated").textContent = ratings.given.size ? `Rated: ${ratings.counts()}.` : "No subject is rated.";
    document.getElementById("export").disabled = !ratings.given.size;
    document.getElementById("forget").disabled = !ratings.given.size;
  };
  document.getElementById("export").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([ratings.table()], { type: "text/tab-separated-values" }));
    Object.assign(document.createElement("a"), { href: address, download: "ratings.tsv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  document.getElementById("forget").addEventListener("click", () => {
    if (confirm("Remove all ratings and notes from this browser?")) ratings.clear();
  });
  ratings.listeners.push(tell);
  tell();
  return ratings;
}
