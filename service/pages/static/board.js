// Says how many entries are selected, and allows a comparison only of two to eight.

const MOST = 8;
const form = document.getElementById("compare");

if (form) {
  const told = form.querySelector(".chosen");
  const button = form.querySelector("button[type=submit]");
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];

  const tell = () => {
    const chosen = boxes.filter((box) => box.checked);
    const names = chosen.map((box) => box.dataset.name.trim());
    told.textContent = chosen.length ? `${chosen.length} selected: ${names.join(", ")}` : told.dataset.none;
    button.disabled = chosen.length < 2;
    for (const box of boxes) box.disabled = !box.checked && chosen.length >= MOST;
  };
  form.addEventListener("change", tell);
  addEventListener("pageshow", tell);
  tell();
}
