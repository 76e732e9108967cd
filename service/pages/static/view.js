// The view of a figure: its zoom, logarithmic axes, and a y axis from zero. It lives in the fragment of the address.

const AXES = ["x", "y"];

const nameOf = (figure) => new URL(figure.dataset.figure, location.origin).pathname.split("/").pop();
const numbersOf = (data, axis) => data.flatMap((trace) => [...(trace[axis] ?? [])]).filter(Number.isFinite);
const short = (number) => Number(number.toPrecision(5));

function rangeIn(text) {
  const range = (text ?? "").split(",").map(Number);
  return range.length === 2 && range.every(Number.isFinite) && range[0] < range[1] ? range : undefined;
}

/** The view that the address asks for. */
function read(name) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const log = asked.get(`${name}.log`) ?? "";
  return {
    range: { x: rangeIn(asked.get(`${name}.x`)), y: rangeIn(asked.get(`${name}.y`)) },
    log: { x: log.includes("x"), y: log.includes("y") },
    zero: asked.get(`${name}.from`) === "0",
  };
}

function write(name, { range, log, zero }) {
  const asked = new URLSearchParams(location.hash.slice(1));
  const put = (key, text) => (text ? asked.set(`${name}.${key}`, text) : asked.delete(`${name}.${key}`));
  for (const axis of AXES) put(axis, range[axis]?.map(short).join(","));
  put("log", AXES.filter((axis) => log[axis]).join(""));
  put("from", zero ? "0" : "");
  const fragment = asked.toString().replaceAll("%2C", ",");
  history.replaceState(history.state, "", fragment ? `#${fragment}` : location.pathname + location.search);
}

const endsOf = (numbers) => [Math.min(...numbers), Math.max(...numbers)];

/** The range of an axis before any zoom; undefined if Plotly chooses it. */
function baseRange(layout, data, view, axis) {
  const own = layout[`${axis}axis`]?.range;
  const numbers = numbersOf(data, axis);
  if (axis === "y" && view.zero && !view.log.y) {
    const [low, high] = own ?? endsOf(numbers);
    return [Math.min(0, low), Math.max(0, high)];
  }
  if (!own || !view.log[axis] || own[0] > 0) return own;
  return [Math.min(...numbers.filter((number) => number > 0)), own[1]];
}

/** Annotations on logarithmic axes have places in powers of ten; shapes and points have not. */
function moved(annotation, log) {
  const places = AXES.filter((axis) => log[axis] && annotation[`${axis}ref`] === axis);
  return { ...annotation, ...Object.fromEntries(places.map((axis) => [axis, Math.log10(annotation[axis])])) };
}

function viewed(layout, data, view) {
  const axes = AXES.map((axis) => {
    const range = view.range[axis] ?? baseRange(layout, data, view, axis);
    const shown = view.log[axis] ? range?.map((end) => Math.log10(Math.max(end, Number.MIN_VALUE))) : range;
    const own = layout[`${axis}axis`];
    const kind = view.log[axis] ? { type: "log", tickformat: own?.tickformat || ",~r" } : { type: "linear" };
    const ticks = axis === "x" && view.log.x ? { dtick: "D2" } : {}; // 1, 2 and 5
    return [`${axis}axis`, { ...own, ...kind, ...ticks, range: shown, autorange: !shown }];
  });
  const annotations = (layout.annotations ?? []).map((one) => moved(one, view.log));
  return { ...layout, ...Object.fromEntries(axes), annotations };
}

function button(text, act, isPressed) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button";
  made.textContent = text;
  if (isPressed !== undefined) made.setAttribute("aria-pressed", isPressed);
  made.addEventListener("click", act);
  return made;
}

/**
 * The controls of a figure's view, in the element `.view` before the figure. A figure without this element, or with
 * several panels, has none.
 */
export class View {
  constructor(figure) {
    this.figure = figure;
    this.place = figure.parentElement.querySelector(`:scope > .figure-tools > .view`);
    this.name = nameOf(figure);
    this.state = read(this.name);
  }

  /** The layout in this view, to be drawn with this data. */
  layout(layout, data) {
    this.has = this.place !== null && !layout.yaxis2 && layout.yaxis?.type !== "category";
    if (!this.has) return layout;
    this.base = layout;
    const [low, high] = layout.yaxis?.range ?? endsOf(numbersOf(data, "y"));
    this.may = {
      x: numbersOf(data, "x").every((number) => number > 0),
      y: numbersOf(data, "y").every((number) => number > 0),
      zero: low * high > 0,
    };
    for (const axis of AXES) this.state.log[axis] &&= this.may[axis];
    return viewed(layout, data, this.state);
  }

  /** Show the controls, and follow the zoom of a plot that was drawn. */
  follow(Plotly, plot) {
    if (!this.has) return;
    this.plot = plot;
    this.Plotly = Plotly;
    if (!this.isFollowing) {
      plot.on("plotly_relayout", (change) => this.zoomed(change));
      plot.on("plotly_doubleclick", () => this.change({ range: {} }));
    }
    this.isFollowing = true;
    this.showControls();
  }

  zoomed(change) {
    const range = { ...this.state.range };
    for (const axis of AXES) {
      const ends = [change[`${axis}axis.range[0]`], change[`${axis}axis.range[1]`]];
      if (ends.every(Number.isFinite)) range[axis] = this.state.log[axis] ? ends.map((end) => 10 ** end) : ends;
    }
    this.state.range = range;
    write(this.name, this.state);
    this.showControls();
  }

  change(changed) {
    Object.assign(this.state, changed);
    write(this.name, this.state);
    const { xaxis, yaxis, annotations } = viewed(this.base, this.plot.data, this.state);
    this.Plotly.react(this.plot, this.plot.data, { ...this.plot.layout, xaxis, yaxis, annotations });
    this.showControls();
  }

  /** Show the later half of what is shown now: the ends of curves are close together. */
  zoomIn() {
    const shown = this.plot.layout.xaxis.range;
    const later = [(shown[0] + shown[1]) / 2, shown[1]];
    const x = this.state.log.x ? later.map((end) => 10 ** end) : later;
    this.change({ range: { ...this.state.range, x } });
  }

  showControls() {
    const { range, log, zero } = this.state;
    const isZoomed = AXES.some((axis) => range[axis]);
    const focused = this.place.contains(document.activeElement) ? document.activeElement.textContent : undefined;
    const toggle = (axis) => button(`log ${axis}`, () => this.change({ log: { ...log, [axis]: !log[axis] }, range: {} }), log[axis]);
    const buttons = [
      this.may.zero && !log.y && button("from zero", () => this.change({ zero: !zero, range: {} }), zero),
      ...AXES.filter((axis) => this.may[axis]).map(toggle),
      button("Zoom to the end", () => this.zoomIn()),
      isZoomed && button("Reset zoom", () => this.change({ range: {} })),
    ].filter(Boolean);
    this.place.replaceChildren(...buttons);
    if (focused) (buttons.find((one) => one.textContent === focused) ?? buttons.at(-1)).focus();
  }
}
