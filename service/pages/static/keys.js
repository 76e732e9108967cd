// The names of a figure's lines as a list that wraps, for windows too narrow for Plotly's legend.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "6 3", dot: "2 3", solid: "none" };
const SHAPES = {
  circle: "M5 0A5 5 0 1 1-5 0 5 5 0 1 1 5 0z",
  diamond: "M0-6 6 0 0 6-6 0z",
  square: "M-5-5h10V5H-5z",
  "triangle-up": "M0-6 6 5H-6z",
  "triangle-down": "M0 6-6-5H6z",
  cross: "M-2-6h4v4h4v4H2v4h-4V2h-4v-4h4z",
  x: "M-5.6-2.8-2.8-5.6 0-2.8l2.8-2.8 2.8 2.8L2.8 0l2.8 2.8-2.8 2.8L0 2.8l-2.8 2.8-2.8-2.8L-2.8 0z",
  star: "M0-7 1.7-2.3H6.7L2.7.6 4.1 5.4 0 2.5-4.1 5.4-2.7.6-6.7-2.3H-1.7z",
};

function drawnPart(name, attributes) {
  const part = document.createElementNS(SVG, name);
  for (const [key, content] of Object.entries(attributes)) part.setAttribute(key, content);
  return part;
}

/** A piece of a line with its symbol. */
function sample({ line, marker, mode }, color) {
  const svg = drawnPart("svg", { viewBox: "-15 -8 30 16", width: 30, height: 16, "aria-hidden": "true" });
  if (mode.includes("lines")) {
    const dash = DASHES[line?.dash] ?? "none";
    svg.append(drawnPart("path", { d: "M-15 0H15", stroke: color, "stroke-width": 2, "stroke-dasharray": dash }));
  }
  const symbol = mode.includes("markers") ? marker?.symbol ?? "circle" : "";
  const shape = SHAPES[symbol.replace("-open", "")];
  const fill = symbol.endsWith("-open") ? "none" : color;
  if (shape) svg.append(drawnPart("path", { d: shape, fill, stroke: color, "stroke-width": 1.5 }));
  return svg;
}

/** A list of the lines that have a name, or nothing if there is one line at most: then there is nothing to tell apart. */
export function keysOf({ data, layout }) {
  const named = data.filter(({ showlegend, name }) => showlegend !== false && name);
  if (named.length < 2) return undefined;
  const list = document.createElement("ul");
  list.className = "keys";
  named.forEach((trace, k) => {
    const color = trace.line?.color ?? trace.marker?.color ?? layout.colorway[k % layout.colorway.length];
    const item = document.createElement("li");
    item.append(sample({ ...trace, mode: trace.mode ?? "lines" }, color), trace.name);
    list.append(item);
  });
  return list;
}
