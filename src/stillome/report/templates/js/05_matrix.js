// The connectome as a matrix, ordered by hemisphere and lobe.
class MatrixView {
  constructor(canvas, readout, slider, packed) {
    Object.assign(this, { canvas, readout, slider, packed, cell: null });
    this.image = document.createElement("canvas");
    this.image.width = packed.nRegions;
    this.image.height = packed.nRegions;
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerdown", (event) => this.point(event));
    canvas.addEventListener("keydown", (event) => this.walk(event));
  }

  show(state) {
    this.state = state;
    this.fill();
    this.draw();
    this.tell();
  }

  fill() {
    // Change: the same above and below. Before and after: the scan below, the adjusted above.
    const { mode, scan, shown, scale } = this.state;
    const n = this.packed.nRegions;
    const context = this.image.getContext("2d");
    const image = context.createImageData(n, n);
    const put = (i, j, value) => {
      const step = Math.round(255 * Math.min(1, Math.max(0, scale.position(value))));
      image.data.set([...scale.colours[step], 255], 4 * (i * n + j));
    };
    let edge = 0;
    for (let i = 0; i < n; i += 1) {
      for (let j = i + 1; j < n; j += 1, edge += 1) {
        if (mode === "change") {
          put(i, j, shown[edge] - scan[edge]);
          put(j, i, shown[edge] - scan[edge]);
        } else {
          put(i, j, shown[edge]);
          put(j, i, scan[edge]);
        }
      }
    }
    context.putImageData(image, 0, 0);
  }

  draw() {
    const { context, width } = sharpCanvas(this.canvas, 1);
    const strip = 10;
    const n = this.packed.nRegions;
    this.origin = this.slider.regions.lobe || this.slider.regions.side ? strip + 4 : 1;
    this.side = width - this.origin - 1;
    const size = this.side / n;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, this.origin, this.origin, this.side, this.side);
    this.drawLobes(context, strip, size);
    context.strokeStyle = cssColour("--muted");
    context.lineWidth = 1;
    context.strokeRect(this.origin, this.origin, this.side, this.side);
    if (this.cell) this.drawCell(context, size);
  }

  drawLobes(context, strip, size) {
    const { regions } = this.slider;
    for (let i = 0; i < regions.names.length; i += 1) {
      const at = this.origin + i * size;
      if (regions.lobe) {
        context.fillStyle = lobeColour(regions, i);
        context.fillRect(0, at, strip, size + 0.5);
        context.fillRect(at, 0, size + 0.5, strip);
      }
      if (i === 0) continue;
      const otherSide = regions.side && regions.side[i] !== regions.side[i - 1];
      const otherLobe = regions.lobe && regions.lobe[i] !== regions.lobe[i - 1];
      if (!otherSide && !otherLobe) continue;
      context.strokeStyle = cssColour(otherSide ? "--ink" : "--muted");
      context.globalAlpha = otherSide ? 0.9 : 0.35;
      context.lineWidth = otherSide ? 1.4 : 0.7;
      context.beginPath();
      context.moveTo(this.origin, at);
      context.lineTo(this.origin + this.side, at);
      context.moveTo(at, this.origin);
      context.lineTo(at, this.origin + this.side);
      context.stroke();
      context.globalAlpha = 1;
    }
  }

  drawCell(context, size) {
    const [i, j] = this.cell;
    const pad = Math.max(0, (9 - size) / 2);
    context.strokeStyle = cssColour("--gain");
    context.lineWidth = 2;
    context.strokeRect(
      this.origin + j * size - pad, this.origin + i * size - pad, size + 2 * pad, size + 2 * pad,
    );
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const n = this.packed.nRegions;
    const at = (value) => Math.floor(((value - this.origin) / this.side) * n);
    const [i, j] = [at(event.clientY - box.top), at(event.clientX - box.left)];
    if (i < 0 || j < 0 || i >= n || j >= n) return;
    this.select(i, j);
  }

  walk(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const last = this.packed.nRegions - 1;
    const [i, j] = this.cell || [0, 0];
    const clip = (value) => Math.min(last, Math.max(0, value));
    this.select(clip(i + step[0]), clip(j + step[1]));
  }

  select(i, j) {
    if (this.cell && this.cell[0] === i && this.cell[1] === j) return;
    this.cell = [i, j];
    this.draw();
    this.tell();
  }

  tell() {
    if (!this.cell) return;
    const [i, j] = this.cell;
    const { names } = this.slider.regions;
    if (i === j) {
      this.readout.textContent = `${names[i]}: connections of a region with itself are not counted`;
      return;
    }
    const edge = this.packed.place(i, j);
    const { whole } = this.slider;
    const [scan, shown] = [this.state.scan[edge], this.state.shown[edge]];
    this.readout.textContent = `${names[i]} – ${names[j]}: scanned ${formatAmount(scan, whole)}, `
      + `adjusted ${formatAmount(shown, whole)} (${formatSigned(shown - scan, whole)})`;
  }
}
