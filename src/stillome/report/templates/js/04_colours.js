// Colour scales: amounts on a logarithmic scale, changes on a symmetric one.
const AMOUNTS = {
  light: ["#ffffff", "#d3e4ef", "#86b6d4", "#3a7fb0", "#154a78", "#061c33"],
  dark: ["#1b1f23", "#183349", "#1f5f8f", "#3e93c9", "#93cdf0", "#f4fbff"],
};
const CHANGES = {
  light: ["#08244a", "#1b5a9c", "#74afdb", "#ffffff", "#fdd49e", "#f7a54a", "#e67e14"],
  dark: ["#a9d8ff", "#4f9fdd", "#23517a", "#1b1f23", "#6e4419", "#c97a24", "#ffb869"],
};

function ramp(stops) {
  // 256 steps between the stops, as RGB.
  const parts = stops.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Array.from({ length: 256 }, (_, step) => {
    const at = (step / 255) * (parts.length - 1);
    const low = Math.min(Math.floor(at), parts.length - 2);
    return parts[low].map((value, c) => Math.round(value + (parts[low + 1][c] - value) * (at - low)));
  });
}

function theme() { return root.dataset.theme === "dark" ? "dark" : "light"; }

function amountScale(largest, whole) {
  const unit = whole ? 1 : largest / 1000;
  const top = Math.log1p(largest / unit);
  return {
    colours: ramp(AMOUNTS[theme()]),
    position: (value) => Math.log1p(value / unit) / top,
    ticks: niceTicks(largest, unit),
    signed: false,
  };
}

function changeScale(largest) {
  const small = largest / 100;
  const top = Math.log1p(largest / small);
  const position = (value) => 0.5 + (0.5 * Math.sign(value) * Math.log1p(Math.abs(value) / small)) / top;
  const steps = [largest, largest / 10, largest / 100].map(roundDown);
  return {
    colours: ramp(CHANGES[theme()]),
    position,
    ticks: [...steps.map((step) => -step), 0, ...steps.reverse()],
    signed: true,
  };
}

function roundDown(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].find((step) => step * power <= value * (1 + 1e-9)) * power;
}

function niceTicks(largest, unit) {
  const ticks = [0];
  for (let tick = unit; tick <= largest * (1 + 1e-9); tick *= 10) ticks.push(tick);
  return ticks;
}

function formatTick(value, signed) {
  const shown = Number(value.toPrecision(2)).toLocaleString("en-US", { maximumSignificantDigits: 2 });
  return (signed && value > 0 ? "+" : "") + shown.replace("-", "−");
}

function drawScale(scale, canvas, ticks) {
  canvas.width = 256;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  const image = context.createImageData(256, 1);
  scale.colours.forEach((colour, step) => image.data.set([...colour, 255], 4 * step));
  context.putImageData(image, 0, 0);
  ticks.replaceChildren(...scale.ticks.map((tick) => {
    const mark = document.createElement("span");
    mark.style.left = `${100 * Math.min(1, Math.max(0, scale.position(tick)))}%`;
    mark.textContent = formatTick(tick, scale.signed);
    return mark;
  }));
}

function lobeColour(regions, index) {
  const colour = regions.lobe ? regions.colours[regions.lobe[index]] : null;
  if (!colour) return cssColour("--muted");
  return colour === "#222222" ? cssColour("--ink") : colour;
}

function sharpCanvas(canvas, ratio) {
  // Give the canvas as many pixels as the screen has; draw in CSS pixels.
  const width = canvas.clientWidth;
  const height = Math.round(width * ratio);
  const density = Math.max(window.devicePixelRatio || 1, 1);
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
