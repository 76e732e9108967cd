// The page of a sweep: controls that are empty stay out of the address, and sections that take long come when they are
// near the window.

document.querySelector("form[data-without-empty]")?.addEventListener("formdata", ({ formData }) => {
  for (const name of new Set(formData.keys())) {
    const given = formData.getAll(name).filter(Boolean);
    formData.delete(name);
    given.forEach((value) => formData.append(name, value));
  }
});

const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    fill(target);
  }
}, { rootMargin: "200px" });

async function fill(section) {
  try {
    const answer = await fetch(section.dataset.fragment, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(section.id);
    if (answer.ok && fresh) section.replaceWith(document.adoptNode(fresh));
  } catch {} // the link that stands there still leads to the page
}

document.querySelectorAll("[data-fragment]").forEach((section) => near.observe(section));
