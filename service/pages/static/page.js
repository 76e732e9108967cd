// Scripts of every page: copy a text, apply a choice at once, keep the place on the page.

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press Ctrl+C";
      getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

const PLACE = "normbench.place"; // the scroll position, kept while a choice reloads the page

document.addEventListener("change", ({ target }) => { // a control may stand outside of its form
  if (!target.form?.hasAttribute("data-apply")) return;
  const { name, value } = target;
  sessionStorage.setItem(PLACE, JSON.stringify({ path: location.pathname, name, value, y: scrollY }));
  target.form.requestSubmit();
});

const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
sessionStorage.removeItem(PLACE);
if (kept?.path === location.pathname) {
  const controls = [...document.querySelectorAll("input, select")].filter((one) => one.form?.hasAttribute("data-apply"));
  const control = controls.find((one) => one.name === kept.name && (one.type !== "radio" || one.value === kept.value));
  control?.focus({ preventScroll: true });
  scrollTo(0, kept.y);
}
