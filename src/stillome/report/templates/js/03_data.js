// The numbers inside the page, and the slider's matrices unpacked.
const DATA = JSON.parse(document.getElementById("report-data").textContent);

class Packed {
  // Upper triangles as uint16 of the square root; level −1 is the scan.
  constructor(slider) {
    const bytes = Uint8Array.from(atob(slider.packed), (letter) => letter.charCodeAt(0));
    this.values = new Uint16Array(bytes.buffer);
    this.nRegions = slider.regions.names.length;
    this.nEdges = (this.nRegions * (this.nRegions - 1)) / 2;
    this.nLevels = slider.references.length;
    this.unit = slider.largest / (65535 * 65535);
  }

  edges(key, level) {
    const start = (key * (this.nLevels + 1) + level + 1) * this.nEdges;
    const edges = new Float32Array(this.nEdges);
    for (let e = 0; e < this.nEdges; e += 1) {
      const packed = this.values[start + e];
      edges[e] = packed * packed * this.unit;
    }
    return edges;
  }

  place(i, j) {
    const [row, column] = i < j ? [i, j] : [j, i];
    return row * this.nRegions - (row * (row + 1)) / 2 + (column - row - 1);
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const zeroShare = (values) => values.reduce((n, value) => n + (value === 0), 0) / values.length;

function formatNumber(value, digits = 0) {
  if (value === null || !Number.isFinite(value)) return "–";
  const shown = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return shown.replace("-", "−");
}

function formatAmount(value, whole) {
  if (whole && Math.abs(value - Math.round(value)) < 0.02 * Math.max(1, Math.abs(value) / 1000)) {
    return formatNumber(Math.round(value));
  }
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 1 || size === 0 ? 1 : Math.min(6, 1 - Math.floor(Math.log10(size)));
  return formatNumber(value, digits);
}

const formatSigned = (value, whole) => (value > 0 ? "+" : "") + formatAmount(value, whole);
