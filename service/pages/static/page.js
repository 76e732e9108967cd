// What every page can do more with scripts than without: copy, apply a choice at once, keep the place on the page.

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

const PLACE = "normbench.place"; // where the reader was when a choice loaded the page anew

for (const form of document.querySelectorAll("form[data-apply]")) {
  form.addEventListener("change", (event) => {
    const { name, value } = event.target;
    sessionStorage.setItem(PLACE, JSON.stringify({ path: location.pathname, name, value, y: scrollY }));
    form.requestSubmit();
  });
}

const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
sessionStorage.removeItem(PLACE);
if (kept?.path === location.pathname) {
  const controls = [...document.querySelectorAll("form[data-apply] :is(input, select)")];
  const control = controls.find((one) => one.name === kept.name && (one.type !== "radio" || one.value === kept.value));
  control?.focus({ preventScroll: true });
  scrollTo(0, kept.y);
}
