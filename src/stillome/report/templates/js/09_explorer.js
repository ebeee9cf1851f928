// The motion slider: one state, and every view drawn from it.
function startExplorer(slider, outlines) {
  const packed = new Packed(slider);
  const find = (id) => document.getElementById(id);
  const range = find("reference");
  const views = [
    new MatrixView(find("matrix"), find("cell"), slider, packed),
    new CircleView(find("circle"), slider, packed),
    ...(slider.regions.places ? [new BrainView(find("brain"), slider, outlines)] : []),
  ];
  const chosen = { key: 0, level: 0, mode: "change", most: 40 };
  let extent = null;

  function measureKey() {
    // The largest change and amount at any reference: one scale while the slider moves.
    const scan = packed.edges(chosen.key, -1);
    const levels = slider.references.map((_, level) => packed.edges(chosen.key, level));
    let change = 0;
    let amount = 0;
    for (const shown of levels) {
      shown.forEach((value, edge) => {
        change = Math.max(change, Math.abs(value - scan[edge]));
        amount = Math.max(amount, value, scan[edge]);
      });
    }
    extent = { scan, levels, change: change || 1, amount: amount || 1 };
  }

  function state() {
    const { mode, level } = chosen;
    const scale = mode === "change" ? changeScale(extent.change) : amountScale(extent.amount, slider.whole);
    const found = { mode, scan: extent.scan, shown: extent.levels[level], scale, largestChange: extent.change };
    found.edges = changedEdges(found, packed, chosen.most);
    return found;
  }

  function emptied(scan, shown) {
    // The mean of a group is rarely zero: only a single subject has edges without fibres.
    if (chosen.key < slider.groups) return "";
    return `; edges without any: ${formatNumber(100 * zeroShare(scan), 1)} % → `
      + `${formatNumber(100 * zeroShare(shown), 1)} %`;
  }

  function tell({ scan, shown }) {
    const unit = slider.unit ? ` ${slider.unit}` : "";
    const digits = slider.digits;
    const level = `${formatNumber(slider.references[chosen.level], digits)}${unit}`;
    const motion = slider.motion[chosen.key];
    const totals = slider.totals[chosen.key];
    const [before, after] = [totals[0], totals[chosen.level + 1]];
    const change = before > 0 ? 100 * (after / before - 1) : 0;
    find("level").textContent = level;
    range.setAttribute("aria-valuetext", `reference motion ${level}`);
    const amount = (value) => formatNumber(value, value < 100 ? 2 : 0);
    find("told").textContent = `${slider.keys[chosen.key]}, scanned at `
      + `${motion === null ? "unknown motion" : `${formatNumber(motion, digits)}${unit}`}: `
      + `${amount(before)} ${slider.things} in the scan, ${amount(after)} at a motion of ${level} `
      + `(${change > 0 ? "+" : ""}${formatNumber(change, 1)} %)${emptied(scan, shown)}.`;
  }

  function draw() {
    const now = state();
    views.forEach((view) => view.show(now));
    drawScale(now.scale, find("scale"), find("ticks"));
    tell(now);
    find("matrix-title").textContent = chosen.mode === "change"
      ? "Change of every edge against the scan" : "Above the diagonal: adjusted; below: as scanned";
  }

  function choose(key) {
    chosen.key = key;
    find("who").value = String(key);
    measureKey();
    draw();
  }

  find("who").addEventListener("change", (event) => choose(Number(event.target.value)));
  range.addEventListener("input", () => { chosen.level = Number(range.value); draw(); });
  find("most").addEventListener("change", (event) => { chosen.most = Number(event.target.value); draw(); });
  document.querySelectorAll("input[name=mode]").forEach((input) => input.addEventListener("change", () => {
    chosen.mode = input.value;
    draw();
  }));
  startPlaying(find("play"), range);
  let redraw = 0;
  new ResizeObserver(() => { cancelAnimationFrame(redraw); redraw = requestAnimationFrame(draw); })
    .observe(find("views"));
  themeListeners.push(draw);
  choose(0);
  return {
    shows: (name) => slider.keys.indexOf(name, slider.groups),
    choose(key) { choose(key); find("slider").scrollIntoView(); range.focus({ preventScroll: true }); },
  };
}

function startPlaying(button, range) {
  let timer = null;
  const stop = () => { clearInterval(timer); timer = null; button.setAttribute("aria-pressed", "false"); };
  button.addEventListener("click", () => {
    if (timer !== null) { stop(); return; }
    button.setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      const next = (Number(range.value) + 1) % (Number(range.max) + 1);
      range.value = String(next);
      range.dispatchEvent(new Event("input"));
      if (next === Number(range.max)) stop();
    }, 450);
  });
}

const explorer = DATA.slider ? startExplorer(DATA.slider, DATA.outlines) : null;
