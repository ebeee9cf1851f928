// The regions around a circle: left hemisphere at the left, each from front to back of the list.
class CircleView {
  constructor(canvas, slider, packed) {
    Object.assign(this, { canvas, slider, packed });
    this.angles = this.arrange();
  }

  arrange() {
    const { side, names } = this.slider.regions;
    const sides = side ? side.map((text) => text.toUpperCase()[0]) : [];
    const left = [...names.keys()].filter((i) => sides[i] === "L");
    const right = [...names.keys()].filter((i) => sides[i] === "R");
    const rest = [...names.keys()].filter((i) => sides[i] !== "L" && sides[i] !== "R");
    const angles = new Array(names.length);
    const spread = (members, from, to) => members.forEach((i, place) => {
      angles[i] = from + ((place + 0.5) / members.length) * (to - from);
    });
    const gap = 0.06;
    if (!left.length || !right.length) {
      spread([...names.keys()], -Math.PI / 2, (3 * Math.PI) / 2);
      return angles;
    }
    const bottom = rest.length ? (Math.PI * rest.length) / names.length : 0;
    spread(left, -Math.PI / 2 - gap, -(3 * Math.PI) / 2 + gap + bottom);
    spread(right, -Math.PI / 2 + gap, Math.PI / 2 - gap - bottom);
    spread(rest, Math.PI / 2 - bottom + gap, Math.PI / 2 + bottom - gap);
    return angles;
  }

  show(state) {
    const { context, width, height } = sharpCanvas(this.canvas, this.canvas.clientWidth < 420 ? 0.85 : 0.68);
    const { regions } = this.slider;
    const [cx, cy] = [width / 2, height / 2];
    const radius = Math.max(40, Math.min(height / 2 - 14, width / 2 - Math.min(130, width * 0.24)));
    const at = (i, r) => [cx + r * Math.cos(this.angles[i]), cy + r * Math.sin(this.angles[i])];
    const edges = state.edges;
    for (const { i, j, change } of edges) {
      styleEdge(context, change, state.largestChange);
      context.beginPath();
      context.moveTo(...at(i, radius - 6));
      context.quadraticCurveTo(cx, cy, ...at(j, radius - 6));
      context.stroke();
    }
    plainLines(context);
    const step = Math.PI / Math.max(regions.names.length, 4);
    context.lineWidth = 7;
    for (let i = 0; i < regions.names.length; i += 1) {
      context.strokeStyle = lobeColour(regions, i);
      context.beginPath();
      context.arc(cx, cy, radius, this.angles[i] - step * 0.86, this.angles[i] + step * 0.86);
      context.stroke();
    }
    this.name(context, edges, cx, cy, radius, width, height);
  }

  name(context, edges, cx, cy, radius, width, height) {
    // Only the ends of the strongest edges have names, moved apart where they would touch.
    const shown = new Set();
    for (const { i, j } of edges.slice(width < 420 ? -6 : -12).reverse()) shown.add(i).add(j);
    context.font = `11px ${cssColour("--sans")}`;
    context.textBaseline = "middle";
    context.fillStyle = cssColour("--ink");
    context.strokeStyle = cssColour("--muted");
    context.lineWidth = 0.7;
    for (const right of [false, true]) {
      const members = [...shown].filter((i) => (Math.cos(this.angles[i]) >= 0) === right);
      members.sort((a, b) => Math.sin(this.angles[a]) - Math.sin(this.angles[b]));
      let last = -Infinity;
      const room = height - 8;
      const places = members.map((i, k) => {
        const wanted = cy + (radius + 12) * Math.sin(this.angles[i]);
        last = Math.min(Math.max(wanted, last + 13, 8), room - 13 * (members.length - 1 - k));
        return last;
      });
      members.forEach((i, k) => {
        const [x, y] = [cx + (radius + 5) * Math.cos(this.angles[i]), cy + (radius + 5) * Math.sin(this.angles[i])];
        const edge = cx + (right ? 1 : -1) * (radius + 16);
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(edge, places[k]);
        context.stroke();
        context.textAlign = right ? "left" : "right";
        context.fillText(this.slider.regions.short[i], edge + (right ? 3 : -3), places[k], right ? width - edge - 4 : edge - 4);
      });
    }
  }
}
