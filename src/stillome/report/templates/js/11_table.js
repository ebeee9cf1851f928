// The table of subjects: sorted, searched, and a page of it shown at a time.
function plainCell({ kind, digits }, value) {
  const td = document.createElement("td");
  if (kind === "number") td.className = "number";
  td.textContent = kind === "number" ? formatNumber(value, digits) : kind === "flags" ? value.join(", ") : value;
  return td;
}

function startTable({ columns, values }, ratings) {
  const find = (id) => document.getElementById(id);
  const n = values[0].length;
  const at = Object.fromEntries(columns.map((column, k) => [column.name, k]));
  const view = { column: 0, down: false, page: 0, size: 25, order: [...Array(n).keys()] };
  const collator = new Intl.Collator("en", { numeric: true });

  function compare(a, b) {
    const { kind } = columns[view.column];
    const [left, right] = [values[view.column][a], values[view.column][b]];
    if (kind === "number") {
      if (left === null || right === null) return (left === null) - (right === null) || a - b;
      return (view.down ? right - left : left - right) || a - b;
    }
    const text = (value) => (Array.isArray(value) ? value.join(" ") : value);
    const order = collator.compare(text(left), text(right));
    return (view.down ? -order : order) || a - b;
  }

  function matches(wanted, flags, id) {
    if (wanted === "any") return flags.length > 0;
    if (wanted === "rated") return ratings.given.has(id);
    if (wanted === "unrated") return !ratings.given.has(id);
    return !wanted || flags.includes(wanted);
  }

  function filter() {
    const wanted = find("search").value.trim().toLowerCase();
    const flag = find("flag").value;
    const flags = values[at.flags];
    view.order = [...Array(n).keys()].filter((row) => {
      if (!matches(flag, flags[row], values[0][row])) return false;
      return !wanted || values[0][row].toLowerCase().includes(wanted)
        || flags[row].some((word) => word.toLowerCase().includes(wanted));
    }).sort(compare);
    view.page = 0;
    draw();
  }

  function cell(column, value) {
    const td = document.createElement("td");
    if (column.kind === "number") {
      td.className = "number";
      td.textContent = formatNumber(value, column.digits);
    } else if (column.kind === "flags") {
      td.append(...value.map((word) => Object.assign(document.createElement("span"), { className: "badge caution", textContent: word })));
    } else if (column.kind === "id" && explorer && explorer.shows(value) >= 0) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: value, title: "Show in the motion slider" });
      button.addEventListener("click", () => explorer.choose(explorer.shows(value)));
      td.append(button);
    } else {
      td.textContent = value;
    }
    return td;
  }

  function cells(row) {
    const [first, ...others] = columns.map((column, k) => cell(column, values[k][row]));
    return [first, ratingCell(ratings, values[0][row]), noteCell(ratings, values[0][row]), ...others];
  }

  function tableRow(parts) {
    const tr = document.createElement("tr");
    tr.append(...parts);
    return tr;
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(view.order.length / view.size));
    view.page = Math.max(0, Math.min(view.page, pages - 1));
    const start = view.page * view.size;
    const rows = view.order.slice(start, start + view.size).map((row) => tableRow(cells(row)));
    find("rows").replaceChildren(...rows);
    find("count").textContent = view.order.length
      ? `${formatNumber(start + 1)}–${formatNumber(start + rows.length)} of ${formatNumber(view.order.length)} subjects`
      : "No subject matches.";
    find("back").disabled = view.page === 0;
    find("next").disabled = view.page === pages - 1;
    find("page").value = String(view.page + 1);
    find("page").max = String(pages);
    find("pages").textContent = formatNumber(pages);
    document.querySelectorAll(".subjects th:not(.plain)").forEach((th, k) => {
      if (k === view.column) th.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    });
  }

  document.querySelectorAll(".subjects th button").forEach((button, k) => button.addEventListener("click", () => {
    view.down = view.column === k ? !view.down : columns[k].kind !== "id";
    view.column = k;
    view.order.sort(compare);
    view.page = 0;
    draw();
  }));
  find("search").addEventListener("input", filter);
  find("flag").addEventListener("change", filter);
  find("size").addEventListener("change", (event) => { view.size = Number(event.target.value); view.page = 0; draw(); });
  find("back").addEventListener("click", () => { view.page -= 1; draw(); });
  find("next").addEventListener("click", () => { view.page += 1; draw(); });
  find("page").addEventListener("change", (event) => { view.page = Math.round(Number(event.target.value) || 1) - 1; draw(); });
  ratings.listeners.push(() => { if (!ratings.given.size) draw(); });
  // Paper has no pages to turn: all subjects are printed, as text, in the order of the screen.
  function printed(row) {
    const { rating, note } = ratings.of(values[0][row]);
    const [first, ...others] = columns.map((column, k) => plainCell(column, values[k][row]));
    return tableRow([first, ...[rating || "–", note].map((text) => plainCell({}, text)), ...others]);
  }
  addEventListener("beforeprint", () => {
    const chosen = new Set(view.order);
    const rest = [...Array(n).keys()].filter((row) => !chosen.has(row)).sort(compare);
    find("rows").replaceChildren(...[...view.order, ...rest].map(printed));
    find("count").textContent = `All ${formatNumber(n)} subjects`;
  });
  addEventListener("afterprint", draw);
  filter();
}

if (DATA.subjects) startTable(DATA.subjects, startRatings(DATA.subjects));
