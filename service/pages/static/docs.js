// Swagger UI on the page /docs, with repairs for people who use a screen reader or only the keyboard.
const target = document.getElementById("swagger-ui");

const headingText = ({ text }) => text; // Swagger's heading is a link, which must not stand inside a button

function nameOf(control) {
  const row = control.closest("[data-param-name]");
  if (row) return row.dataset.paramName;
  if (control.matches(".examples-select-element")) return "Example";
  if (control.matches(".content-type")) return "Media type";
  return control.closest(".opblock-section-request-body") ? "Request body" : control.placeholder || "Value";
}

function complete() {
  for (const control of target.querySelectorAll(":is(select, input, textarea):not([aria-label])")) {
    control.setAttribute("aria-label", nameOf(control));
  }
  for (const button of target.querySelectorAll("button:empty:not([aria-label])")) button.setAttribute("aria-label", "Copy");
  for (const button of target.querySelectorAll(".close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const heading of target.querySelectorAll("h3:not([aria-level])")) {
    heading.setAttribute("aria-level", "2");
  }
  for (const heading of target.querySelectorAll(":is(h4, h5):not([aria-level])")) {
    heading.setAttribute("aria-level", heading.localName === "h4" ? "3" : "4");
  }
  for (const text of target.querySelectorAll("pre:not([tabindex])")) text.tabIndex = 0; // it may scroll
  for (const table of target.querySelectorAll("table[role=region]")) table.removeAttribute("role"); // it is a table
}

new MutationObserver(complete).observe(target, { childList: true, subtree: true });
window.SwaggerUIBundle({
  domNode: target,
  url: target.dataset.document,
  plugins: [{ components: { DeepLink: headingText } }],
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: -1,
  syntaxHighlight: { activated: false }, // its colours know one theme
});
