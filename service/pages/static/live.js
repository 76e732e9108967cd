// Keeps the page of an experiment or a run up to date. Curves grow point by point, by server-sent events. Everything
// else is taken from the page itself, which is loaded again, so that only the server writes numbers.

const REDRAW = 500, REFRESH = 2000, POLL = 5000, SAY = 5000, MEAN = 10000; // milliseconds
const FAILURES = 3; // failures of the stream in a row; then the page is loaded again instead
const MOST_POINTS = 2000; // of a line
const ENDED = new Set(["succeeded", "diverged", "failed", "cancelled"]);
const WORDS = { live: "live", reconnecting: "reconnecting", ended: "ended" };

const chip = document.getElementById("live");
const figure = document.querySelector("[data-figure]");

/** Calls at most once in so many milliseconds, the first time at once; later calls wait and count as one. */
function atMostEvery(milliseconds, call) {
  let waits, last = -Infinity;
  return () => {
    waits ??= setTimeout(() => {
      waits = undefined;
      last = performance.now();
      call();
    }, Math.max(0, last + milliseconds - performance.now()));
  };
}

// Curves

let lines = []; // trace, x, y, attempts
let faded = []; // points of earlier attempts, after another attempt has begun
let early = []; // events before the figure was drawn; the figure may lack them
const origins = new Map(); // step from which each run's attempt went on; null if it started at step 0, or has not started
let revision = 0;

const redraw = atMostEvery(REDRAW, () => {
  const plot = figure?.querySelector(".plot-area");
  if (!plot?.data) return;
  const traces = lines.map(({ trace, x, y }) => ({ ...trace, x: [...x], y: [...y] }));
  if (lines.some(({ x }) => x.length > 0)) begin();
  revision += 1;
  window.Plotly.react(plot, [...faded, ...traces], { ...plot.layout, datarevision: revision });
});

/** The first point ends the wait for one. */
function begin() {
  figure.removeAttribute("data-empty");
  figure.querySelector(".figure-note")?.remove();
}

/** Take over what was just drawn; points that have come since stay. */
function adopt() {
  const before = lines;
  const data = figure.querySelector(".plot-area").data.filter((trace) => !trace.meta?.faded);
  lines = data.map((trace) => ({
    trace, x: [...trace.x], y: [...trace.y], attempts: trace.x.map(() => trace.meta?.attempt ?? 0),
  }));
  for (const { trace, x, y, attempts } of before) {
    if (!trace.meta?.run) continue;
    const same = lines.find((line) => line.trace.meta?.run === trace.meta.run && line.trace.meta.series === trace.meta.series);
    if (same) x.forEach((step, k) => add(same, step, y[k], attempts[k]));
  }
  const acts = early;
  early = [];
  acts.forEach((act) => act());
  redraw();
}

/** Do something to the lines, as soon as there are some. */
function onLines(act) {
  if (lines.length > 0) act();
  else early.push(act);
}

function add(line, step, value, attempt) {
  const { x, y, attempts } = line;
  let place = x.length;
  while (place > 0 && x[place - 1] >= step) place -= 1;
  if (x[place] === step) {
    if (attempts[place] < attempt) [y[place], attempts[place]] = [value, attempt];
    return;
  }
  x.splice(place, 0, step);
  y.splice(place, 0, value);
  attempts.splice(place, 0, attempt);
  if (x.length > MOST_POINTS) thin(line);
}

/** Leave out every second point but those of the newest quarter. */
function thin(line) {
  const old = line.x.length * 0.75;
  for (const name of ["x", "y", "attempts"]) line[name] = line[name].filter((_, k) => k > old || k % 2 === 0);
}

function append({ run_id: run, attempt, step, values }) {
  takeOver(run, attempt);
  for (const line of lines) {
    const { meta } = line.trace;
    if (meta?.run === run && meta.series in values) add(line, step, values[meta.series], attempt);
  }
  redraw();
}

/** An attempt that goes on from a checkpoint takes over at once, one that begins at the first step with its first measurement. */
function follow({ id, attempt, resumed_from_step: from }) {
  origins.set(id, from);
  if (from !== null) takeOver(id, attempt);
}

/** What earlier attempts had measured beyond the step that this one went on from fades. */
function takeOver(run, attempt) {
  const from = origins.get(run) ?? 0;
  for (const line of lines.filter(({ trace }) => trace.meta?.run === run)) {
    const { trace, x, y, attempts } = line;
    const goes = x.map((step, k) => step > from && attempts[k] < attempt);
    if (!goes.includes(true)) continue;
    faded.push({
      ...trace, meta: { faded: true }, opacity: 0.25, showlegend: false,
      x: x.filter((_, k) => goes[k]), y: y.filter((_, k) => goes[k]),
    });
    for (const name of ["x", "y", "attempts"]) line[name] = line[name].filter((_, k) => !goes[k]);
    redraw();
  }
}

/** The mean, and where runs diverged, are said by the service; they are asked for, not computed here. */
async function fetchComputed() {
  if (lines.length === 0) return;
  const answer = await fetch(figure.dataset.figure);
  if (!answer.ok) return;
  const { data } = await answer.json();
  const shown = lines.find(({ trace }) => trace.meta?.mean);
  const mean = data.find((trace) => trace.meta?.mean);
  if (shown && mean) [shown.x, shown.y] = [mean.x, mean.y];
  for (const trace of data.filter(({ meta }) => meta?.diverged)) markDivergence(trace);
  redraw();
}

function markDivergence(trace) {
  const run = trace.meta.diverged;
  const line = lines.find((one) => one.trace.meta?.run === run);
  if (!line || lines.some((one) => one.trace.meta?.diverged === run)) return;
  const { color } = line.trace.line; // the colour in the current theme
  const marker = { ...trace.marker, color, line: { ...trace.marker.line, color } };
  lines.push({ trace: { ...trace, marker }, x: trace.x, y: trace.y, attempts: [] });
}

const freshenComputed = atMostEvery(MEAN, () => fetchComputed().catch(() => {}));

/** A figure that has no line yet gets those that there are now. */
const drawAnew = atMostEvery(REFRESH, () => {
  if (figure && "drawn" in figure.dataset && lines.length === 0) figure.dispatchEvent(new Event("stale"));
});

// Everything else

let states = readStates();
const sources = new Map(); // parts of the page as they came; scripts draw figures into them

function readStates() {
  return new Map([...document.querySelectorAll("[data-run]")].map((row) => [row.dataset.run, told(row.dataset)]));
}

/** A run that diverged has succeeded, and is no success. */
function told({ state, outcome }) {
  return outcome === "diverged" ? "diverged" : state;
}

function isOver() {
  return [...states.values()].every((state) => ENDED.has(state));
}

async function ask() {
  const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(answer.statusText);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const found = fresh.getElementById(part.id);
    if (!found || found.isEqualNode(sources.get(part.id) ?? part)) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const scrolled = part.querySelector(".log-frame")?.scrollTop;
    const replaced = document.importNode(found, true);
    sources.set(part.id, found);
    part.replaceWith(replaced);
    replaced.dispatchEvent(new Event("replaced", { bubbles: true }));
    if (scrolled) document.querySelector(".log-frame").scrollTop = scrolled; // 0 is the end, with the newest line
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
  for (const [run, state] of readStates()) notice(run, state);
}

const refresh = atMostEvery(REFRESH, () => ask().catch(() => {}));

let unsaid = [];
const say = atMostEvery(SAY, () => {
  document.getElementById("said").textContent = unsaid.join(", ");
  unsaid = [];
});

function notice(run, state) {
  if (states.get(run) === state) return;
  states.set(run, state);
  const row = document.getElementById(run);
  unsaid.push(`seed ${row?.dataset.seed} ${state}`);
  say();
  freshenComputed();
}

// The connection

let position = chip?.dataset.position;
let source, timer, failures = 0;

function show(state) {
  chip.hidden = false;
  chip.textContent = WORDS[state];
  chip.dataset.liveState = state;
}

function disconnect() {
  source?.close();
  source = undefined;
  clearTimeout(timer);
}

function connect() {
  disconnect();
  if (document.visibilityState === "hidden") return;
  if (isOver()) {
    end();
    return;
  }
  const address = new URL(chip.dataset.events, location.origin);
  address.searchParams.set("last_event_id", position);
  source = new EventSource(address);
  source.addEventListener("open", () => {
    failures = 0;
    show("live");
    refresh();
  });
  source.addEventListener("error", broken);
  source.addEventListener("state", (event) => {
    const run = JSON.parse(event.data);
    position = event.lastEventId;
    onLines(() => follow(run));
    notice(run.id, told(run));
    refresh();
  });
  source.addEventListener("measurement", (event) => {
    position = event.lastEventId;
    const measured = JSON.parse(event.data);
    onLines(() => append(measured));
    if (lines.length === 0) drawAnew();
    refresh();
    if (lines.some(({ trace }) => trace.meta?.mean)) freshenComputed();
  });
}

function broken() {
  disconnect();
  if (isOver()) {
    end();
    return;
  }
  failures += 1;
  show("reconnecting");
  timer = setTimeout(failures < FAILURES ? connect : poll, failures < FAILURES ? 1000 * failures : POLL);
}

/** The chip says that it is over when the rest of the page says so, too. */
async function end() {
  try {
    if (!isShownAsOver()) await ask();
    show("ended");
  } catch {
    show("reconnecting");
    timer = setTimeout(poll, POLL);
  }
}

function isShownAsOver() {
  return [...readStates().values()].every((state) => ENDED.has(state));
}

/** Without a stream the page is asked for anew, by its ETag; once it answers, the stream is tried again. */
async function poll() {
  try {
    await ask();
    connect();
  } catch {
    timer = setTimeout(poll, POLL);
  }
}

/** A log may grow without a measurement; the page is asked for anew, by its ETag. */
function watchLog() {
  const mayGrow = document.querySelector("[data-grows=yes]") && document.visibilityState !== "hidden" && !isOver();
  if (mayGrow) refresh();
}

if (chip) {
  setInterval(watchLog, POLL);
  figure?.addEventListener("drawn", adopt);
  if (figure && "drawn" in figure.dataset) adopt();
  document.addEventListener("visibilitychange", () => (document.visibilityState === "hidden" ? disconnect() : connect()));
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", (event) => event.persisted && connect());
  connect();
}
