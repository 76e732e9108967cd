// The page of a sweep: controls that are empty stay out of the address.

document.querySelector("form[data-without-empty]")?.addEventListener("formdata", ({ formData }) => {
  for (const name of new Set(formData.keys())) {
    const given = formData.getAll(name).filter(Boolean);
    formData.delete(name);
    given.forEach((value) => formData.append(name, value));
  }
});
