// Says how many entries or experiments are selected, and allows a comparison only of two to eight.

const MOST = 8;
const form = document.getElementById("compare");

if (form?.querySelector(".bar")) {
  const told = form.querySelector(".chosen");
  const button = form.querySelector("button[type=submit]");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];

  const tell = () => {
    const chosen = boxes.filter((box) => box.checked);
    const names = chosen.map((box) => box.dataset.name.trim());
    told.textContent = chosen.length ? `${chosen.length} selected: ${names.join(", ")}` : told.dataset.none;
    button.disabled = new Set(chosen.map((box) => box.value)).size < 2; // experiments may have the same specification
    for (const box of boxes) box.disabled = !box.checked && chosen.length >= MOST;
  };
  form.addEventListener("change", tell);
  addEventListener("pageshow", tell);
  tell();
}
