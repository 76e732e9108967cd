// Saves a drawn figure as SVG or PNG in the page. Before it is drawn, and where this fails, the link asks the server.

const WIDTH = 780; // pixels of the saved figure
const LEAST_HEIGHT = 440;
const SCALE = 3; // pixels of a PNG for each of them, so that it is sharp in print

/** The figure in the light colours of paper, with the ranges and scales that the reader has chosen. */
async function contentOf(figure, plot) {
  const address = new URL(figure.dataset.figure, location.origin);
  address.searchParams.set("theme", "light");
  const answer = await fetch(address);
  const { data, layout } = await answer.json();
  for (const [name, axis] of Object.entries(plot.layout)) {
    if (/^[xy]axis/.test(name) && layout[name]) layout[name] = { ...layout[name], type: axis.type, range: axis.range, autorange: axis.autorange };
  }
  if (layout.annotations) layout.annotations = plot.layout.annotations; // their places depend on the scales
  const height = Math.max(layout.height ?? 0, LEAST_HEIGHT);
  const untitled = { title: { text: "" }, margin: { ...layout.margin, t: 16 } }; // a paper has a caption
  return { data, layout: { ...layout, ...untitled, width: WIDTH, height, font: { ...layout.font, family: "sans-serif", size: 13 } } };
}

async function save(link, figure, plot) {
  const format = link.dataset.save;
  const content = await contentOf(figure, plot);
  const { width, height } = content.layout;
  const url = await window.Plotly.toImage(content, { format, width, height, scale: format === "png" ? SCALE : 1 });
  const file = document.createElement("a");
  file.href = url;
  file.download = `${figure.dataset.figure.split("?")[0].split("/").slice(2).join("-")}.${format}`;
  file.click();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-save]");
  const figure = link?.parentElement.previousElementSibling;
  const plot = figure?.querySelector(".plot-area");
  if (!window.Plotly || !plot?.layout) return;
  event.preventDefault();
  save(link, figure, plot).catch(() => location.assign(link.href));
});
