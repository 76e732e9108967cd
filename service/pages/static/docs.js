// Swagger UI on the page /docs.
const target = document.getElementById("swagger-ui");
window.SwaggerUIBundle({
  domNode: target,
  url: target.dataset.document,
  deepLinking: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: -1,
});
