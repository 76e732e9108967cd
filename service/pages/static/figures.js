// Plotly draws the figures. It is loaded when the first figure comes near the window.

import { keysOf } from "./keys.js";
import { View } from "./view.js";

const NARROW = 480; // pixels; above a narrower figure the names stand in a list
const LEAST_HEIGHT = 260; // pixels of a plot below this list
const QUIET = { displayModeBar: false, responsive: true, displaylogo: false, doubleClick: false };
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const hasFinger = matchMedia("(pointer: coarse)").matches; // a finger scrolls the page, and buttons zoom
const views = new WeakMap();
let plotly;

function loadPlotly() {
  plotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("plotly.min.js", import.meta.url);
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => reject(new Error("the script that draws figures did not load")));
    document.head.append(script);
  });
  return plotly;
}

function theme() {
  return document.documentElement.dataset.theme ?? (prefersDark.matches ? "dark" : "light");
}

const EMPTY = "Nothing is measured yet; the curves begin with the first evaluation.";

/** Axes without lines would look like a fault: until there is a point, a sentence stands in their place. */
function showWhetherEmpty(figure, isEmpty) {
  const note = figure.querySelector(".figure-note");
  figure.toggleAttribute("data-empty", isEmpty);
  if (!isEmpty) note?.remove();
  else if (note) note.textContent = EMPTY;
}

/** Names above a narrow plot; the height that is left to it. */
function putKeys(figure, plot, content) {
  figure.querySelector(".keys")?.remove();
  const keys = figure.clientWidth < NARROW ? keysOf(content) : undefined;
  if (keys) plot.before(keys);
  const taken = keys ? keys.offsetHeight : 0;
  if (figure.clientHeight - taken < LEAST_HEIGHT) figure.style.height = `${taken + LEAST_HEIGHT}px`;
  plot.style.top = `${taken}px`;
  return figure.clientHeight - taken;
}

async function draw(figure) {
  const note = figure.querySelector(".figure-note");
  try {
    const address = new URL(figure.dataset.figure, location.origin);
    const asked = theme();
    address.searchParams.set("theme", asked);
    const [Plotly, answer] = await Promise.all([loadPlotly(), fetch(address)]);
    const content = await answer.json();
    if (theme() !== asked) return draw(figure); // the colours were changed meanwhile
    if (!answer.ok) throw new Error(content.detail);
    if (content.layout.height > figure.clientHeight) figure.style.height = `${content.layout.height}px`; // several panels
    const width = figure.clientWidth;
    const font = { ...content.layout.font, family: getComputedStyle(document.body).fontFamily, size: 13 };
    let plot = figure.querySelector(".plot-area");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "plot-area";
      figure.append(plot);
    }
    const height = putKeys(figure, plot, content);
    const { margin, yaxis, yaxis2, hoverlabel } = content.layout;
    const own = { title: { text: "" }, margin: { ...margin, t: 8 } }; // the page has a heading
    const untitled = yaxis2 ? {} : { yaxis: { ...yaxis, title: { text: "" } } }; // several panels need their titles
    const narrow = width < NARROW
      ? { margin: { ...margin, t: 8, l: yaxis2 ? 60 : 44, r: 8 }, ...untitled, showlegend: false, hoverlabel: { ...hoverlabel, namelength: 20 } }
      : {};
    if (!views.has(figure)) views.set(figure, new View(figure));
    const view = views.get(figure);
    const dragmode = hasFinger ? false : "zoom";
    const layout = { ...content.layout, ...own, ...narrow, font, dragmode, width: undefined, height };
    await Plotly.react(plot, content.data, view.layout(layout, content.data), QUIET);
    view.follow(Plotly, plot);
    showWhetherEmpty(figure, content.data.every(({ x }) => !x?.length));
    figure.dataset.drawn = "";
    figure.dispatchEvent(new Event("drawn"));
  } catch (error) {
    if (note) note.textContent = `The figure cannot be drawn: ${error.message}. The table below has its numbers.`;
  }
}

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    draw(target);
  }
}, { rootMargin: "400px" });
function watch(part) {
  for (const figure of part.querySelectorAll("[data-figure]")) {
    near.observe(figure);
    figure.addEventListener("stale", () => draw(figure));
  }
}
watch(document);
document.addEventListener("replaced", ({ target }) => watch(target));
prefersDark.addEventListener("change", () => document.querySelectorAll("[data-figure][data-drawn]").forEach(draw));
