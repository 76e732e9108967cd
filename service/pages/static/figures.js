// Figures are drawn by Plotly, which is loaded when the first of them comes near the window.

const QUIET = { displayModeBar: false, responsive: true, displaylogo: false };
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
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

async function draw(figure) {
  const note = figure.querySelector(".figure-note");
  try {
    const address = new URL(figure.dataset.figure, location.origin);
    address.searchParams.set("theme", theme());
    const [Plotly, answer] = await Promise.all([loadPlotly(), fetch(address)]);
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.detail);
    if (content.layout.height > figure.clientHeight) figure.style.height = `${content.layout.height}px`; // several panels
    const { clientWidth: width, clientHeight: height } = figure;
    const font = { ...content.layout.font, family: getComputedStyle(document.body).fontFamily, size: 13 };
    let plot = figure.querySelector(".plot-area");
    if (!plot) {
      plot = document.createElement("div");
      plot.className = "plot-area";
      figure.append(plot);
    }
    const { margin, yaxis } = content.layout;
    const own = { title: { text: "" }, margin: { ...margin, t: 8 } }; // the page has a heading
    const narrow = width < 480 ? { margin: { ...margin, t: 8, l: 44, r: 8 }, yaxis: { ...yaxis, title: { text: "" } } } : {};
    await Plotly.react(plot, content.data, { ...content.layout, ...own, ...narrow, font, width: undefined, height }, QUIET);
    note?.remove();
    figure.dataset.drawn = "";
    figure.dispatchEvent(new Event("drawn"));
  } catch (error) {
    if (note) note.textContent = `The figure cannot be drawn: ${error.message}. The table below has its numbers.`;
  }
}

const figures = [...document.querySelectorAll("[data-figure]")];
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    draw(target);
  }
}, { rootMargin: "400px" });
figures.forEach((figure) => near.observe(figure));
prefersDark.addEventListener("change", () => figures.filter((one) => "drawn" in one.dataset).forEach(draw));
