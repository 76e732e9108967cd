// Shows a film of a run: pictures in grey levels on a canvas, with a slider. It is fetched when its button is pressed,
// because it may have megabytes.

const FRAME = 150; // milliseconds that a picture stands
const LEAST_WIDTH = 320; // pixels of the canvas, at least

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-film] button");
  if (!button) return;
  const film = button.parentElement;
  if (film.play) {
    film.play();
    return;
  }
  button.disabled = true;
  try {
    const answer = await fetch(film.dataset.film);
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.detail);
    film.play = build(film, framesOf(content), content.layout?.title?.text ?? "film");
    button.textContent = "Play";
    film.play();
  } catch (error) {
    button.replaceWith(`The film cannot be shown: ${error.message}`);
  }
  button.disabled = false;
});

/** Grey levels of each picture, row by row. */
function framesOf({ data, frames }) {
  const traces = frames?.length ? frames.map((frame) => frame.data[0]) : data;
  if (!traces.every(({ type, z }) => type === "heatmap" && Array.isArray(z?.[0]))) throw new Error("it has no pictures");
  return traces.map(({ z }) => z);
}

function build(film, frames, title) {
  const canvas = document.createElement("canvas");
  canvas.width = frames[0][0].length;
  canvas.height = frames[0].length;
  canvas.style.width = `${Math.max(LEAST_WIDTH, canvas.width)}px`;
  canvas.setAttribute("role", "img");
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 1, max: frames.length, value: frames.length });
  slider.setAttribute("aria-label", "Picture of the film");
  const place = document.createElement("output");
  film.append(canvas, slider, place);
  const show = () => {
    draw(canvas, frames[slider.value - 1]);
    place.textContent = `${slider.value} of ${frames.length}`;
    canvas.setAttribute("aria-label", `${title}: picture ${slider.value} of ${frames.length}`);
  };
  let timer;
  slider.addEventListener("pointerdown", () => clearInterval(timer));
  slider.addEventListener("input", () => {
    clearInterval(timer); // keys move the slider, too
    show();
  });
  return () => {
    clearInterval(timer);
    slider.value = matchMedia("(prefers-reduced-motion: reduce)").matches ? frames.length : 1;
    show();
    timer = setInterval(() => {
      if (Number(slider.value) === frames.length) clearInterval(timer);
      else {
        slider.value = Number(slider.value) + 1;
        show();
      }
    }, FRAME);
  };
}

function draw(canvas, rows) {
  const pixels = new ImageData(canvas.width, canvas.height);
  rows.flat().forEach((level, k) => {
    pixels.data.fill(Math.round(255 * Math.min(Math.max(level, 0), 1)), 4 * k, 4 * k + 3);
    pixels.data[4 * k + 3] = 255;
  });
  canvas.getContext("2d", { willReadFrequently: true }).putImageData(pixels, 0, 0);
}
