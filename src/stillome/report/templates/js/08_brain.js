// The glass brain: three projections of the regions, with outlines of the MNI brain.
const BRAIN_VIEWS = [
  { name: "sagittal", title: "from the side", across: 1, up: 2, ends: ["P", "A"] },
  { name: "coronal", title: "from the front", across: 0, up: 2, ends: ["L", "R"] },
  { name: "axial", title: "from above", across: 0, up: 1, ends: ["L", "R"] },
];

class BrainView {
  constructor(canvas, slider, outlines) {
    Object.assign(this, { canvas, slider, outlines: slider.regions.mni ? outlines : null });
    this.boxes = BRAIN_VIEWS.map((view) => this.box(view));
  }

  box(view) {
    const points = this.outlines
      ? this.outlines[view.name].silhouette.flat()
      : this.slider.regions.places.map((place) => [place[view.across], place[view.up]]);
    const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
    const pad = 0.05 * Math.max(Math.max(...xs) - Math.min(...xs), 1);
    return {
      left: Math.min(...xs) - pad, right: Math.max(...xs) + pad,
      low: Math.min(...ys) - pad, high: Math.max(...ys) + pad,
    };
  }

  show(state) {
    const widths = this.boxes.map((box) => box.right - box.left);
    const heights = this.boxes.map((box) => box.high - box.low);
    const gap = 0.03 * sum(widths);
    const total = sum(widths) + 2 * gap;
    const title = 18;
    const ratio = Math.max(...heights) / total + title / Math.max(this.canvas.clientWidth, 1);
    const { context, width } = sharpCanvas(this.canvas, ratio);
    const scale = width / total;
    let left = 0;
    BRAIN_VIEWS.forEach((view, k) => {
      const box = this.boxes[k];
      const top = title + ((Math.max(...heights) - heights[k]) * scale) / 2;
      const at = ([x, y]) => [left + (x - box.left) * scale, top + (box.high - y) * scale];
      this.outline(context, view, at);
      this.network(context, view, at, state);
      this.label(context, view, left, widths[k] * scale, top + heights[k] * scale);
      left += (widths[k] + gap) * scale;
    });
  }

  outline(context, view, at) {
    if (!this.outlines) return;
    const { silhouette, section } = this.outlines[view.name];
    context.strokeStyle = cssColour("--muted");
    context.fillStyle = cssColour("--wash");
    for (const [lines, alpha, filled] of [[silhouette, 0.9, true], [section, 0.35, false]]) {
      for (const line of lines) {
        context.beginPath();
        smoothPath(context, line.map(at), filled);
        context.globalAlpha = 0.55;
        if (filled) context.fill();
        context.globalAlpha = alpha;
        context.lineWidth = filled ? 1.3 : 1;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
  }

  network(context, view, at, state) {
    const { places } = this.slider.regions;
    const spot = (i) => at([places[i][view.across], places[i][view.up]]);
    for (const { i, j, change } of state.edges) {
      styleEdge(context, change, state.largestChange);
      context.beginPath();
      context.moveTo(...spot(i));
      context.lineTo(...spot(j));
      context.stroke();
    }
    plainLines(context);
    const size = places.length > 150 ? 1.4 : 2.4;
    for (let i = 0; i < places.length; i += 1) {
      context.fillStyle = lobeColour(this.slider.regions, i);
      context.beginPath();
      context.arc(...spot(i), size, 0, 2 * Math.PI);
      context.fill();
    }
  }

  label(context, view, left, width, bottom) {
    context.font = `11px ${cssColour("--sans")}`;
    context.fillStyle = cssColour("--muted");
    context.textBaseline = "top";
    context.textAlign = "center";
    context.fillText(view.title, left + width / 2, 0);
    if (!this.outlines) return;
    context.textBaseline = "bottom";
    context.textAlign = "left";
    context.fillText(view.ends[0], left + 3, bottom);
    context.textAlign = "right";
    context.fillText(view.ends[1], left + width - 3, bottom);
  }
}

function smoothPath(context, points, closed) {
  const middle = (a, b) => [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
  if (points.length < 3) {
    context.moveTo(...points[0]);
    points.slice(1).forEach((point) => context.lineTo(...point));
    return;
  }
  const ring = closed ? points.slice(0, -1) : points;
  const last = ring.length - 1;
  context.moveTo(...(closed ? middle(ring[last], ring[0]) : ring[0]));
  ring.forEach((point, k) => {
    if (k === last && !closed) context.lineTo(...point);
    else context.quadraticCurveTo(...point, ...middle(point, ring[(k + 1) % ring.length]));
  });
}
