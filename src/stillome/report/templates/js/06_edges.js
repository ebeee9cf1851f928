// The edges that change most, for the circle and the brain.
function changedEdges(state, packed, most) {
  const changes = state.shown.map((value, edge) => value - state.scan[edge]);
  const order = [...changes.keys()].filter((edge) => changes[edge] !== 0);
  order.sort((a, b) => Math.abs(changes[b]) - Math.abs(changes[a]));
  const chosen = new Set(order.slice(0, most));
  const found = [];
  let edge = 0;
  for (let i = 0; i < packed.nRegions; i += 1) {
    for (let j = i + 1; j < packed.nRegions; j += 1, edge += 1) {
      if (chosen.has(edge)) found.push({ i, j, change: changes[edge] });
    }
  }
  return found.sort((a, b) => Math.abs(a.change) - Math.abs(b.change));
}

function styleEdge(context, change, largest) {
  // Widths are on the scale of the largest change at any reference, so that lines grow and fade.
  const weight = Math.sqrt(Math.min(1, Math.abs(change) / largest));
  context.strokeStyle = cssColour(change < 0 ? "--loss" : "--gain");
  context.globalAlpha = 0.25 + 0.7 * weight;
  context.lineWidth = 0.4 + 3.6 * weight;
  context.setLineDash(change < 0 ? [5, 3] : []);
}

function plainLines(context) {
  context.globalAlpha = 1;
  context.setLineDash([]);
}
