// The page that submits: 400 ms after a change the form is sent, and the answer is put into the page. Only the server
// reads the fields and writes the YAML.

const form = document.getElementById("submit-form");
const PAUSE = 400;
let timer;
let asking;

function ask(submitter) {
  clearTimeout(timer);
  asking?.abort();
  asking = new AbortController();
  const sent = new URLSearchParams(new FormData(form, submitter));
  if (!submitter) sent.set("action", "estimate");
  return show(sent, asking.signal);
}

async function show(sent, signal) {
  const estimate = document.querySelector(".estimate");
  estimate.dataset.asking = "";
  try {
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: sent, headers: { Accept: "text/html" }, signal });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!fresh.getElementById("submit-form")) throw new Error(fresh.querySelector("h1")?.textContent ?? answer.statusText);
    for (const { id } of document.querySelectorAll("details[open][id]")) fresh.getElementById(id)?.setAttribute("open", "");
    const held = document.activeElement;
    const field = held.closest(".field")?.querySelector("[id^='f-']")?.id;
    for (const part of document.querySelectorAll("[data-part]")) {
      noteWhatStands(part);
      follow(part, document.adoptNode(fresh.getElementById(part.id)), held);
    }
    if (!held.isConnected) (document.getElementById(held.id) ?? document.getElementById(field))?.focus({ preventScroll: true });
  } catch (error) {
    if (error.name === "AbortError") return;
    const told = document.createElement("p");
    told.className = "claim bad";
    told.textContent = `No estimate: ${error.message}. What you typed is still here.`;
    document.getElementById("comes-to").replaceChildren(told);
  }
  delete estimate.dataset.asking;
}

// Writes what the user has typed or chosen into the markup, to compare it with the markup of the answer.
function noteWhatStands(part) {
  for (const control of part.querySelectorAll("input, option, textarea")) {
    if (control.matches("option")) control.toggleAttribute("selected", control.selected);
    else if (control.matches("textarea")) control.textContent = control.value;
    else if (control.matches("[type=radio], [type=checkbox]")) control.toggleAttribute("checked", control.checked);
    else control.setAttribute("value", control.value);
  }
}

// Turns `old` into `fresh`, but keeps `held`, the control that has the focus, and what is typed there.
function follow(old, fresh, held) {
  if (old.isEqualNode(fresh)) return;
  if (!old.contains(held)) {
    old.replaceWith(fresh);
    return;
  }
  for (const { name, value } of fresh.attributes) if (name !== "value") old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  const [olds, freshes] = [[...old.children], [...fresh.children]];
  if (olds.length === freshes.length && olds.every((one, k) => one.tagName === freshes[k].tagName)) {
    olds.forEach((one, k) => follow(one, freshes[k], held));
  } else {
    old.replaceWith(fresh);
  }
}

form.addEventListener("input", ({ target }) => {
  form.elements.edited.value = target.name === "yaml" ? "yaml" : "fields";
  const none = target.type === "text" ? document.getElementById(target.id.replace("f-", "n-")) : null;
  if (none) none.checked = false;
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
});
form.addEventListener("submit", (event) => {
  if (event.submitter?.name !== "reset") return;
  event.preventDefault();
  ask(event.submitter);
});
form.addEventListener("keydown", (event) => { // Enter would press the first button, which resets a field
  if (event.key !== "Enter" || !event.target.matches("input, select")) return;
  event.preventDefault();
  ask();
});
