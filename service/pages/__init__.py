"""The web pages: HTML made from the same functions as the API. Nothing here computes a number.

How to add a page:

1. Write a module ``service/pages/<page>.py`` with ``router = PageRouter()`` (``service.pages.routing``), and add it to
   ``PAGES`` of ``service/app.py``. Declare query parameters as in the API; an unknown parameter is answered by a page
   with status 422.
2. A route reads values from a package of the service: the dataclasses of its ``schemas``. Pure functions of the page's
   module turn them into texts. The route ends with ``rendering.page(request, "<page>.html", ...)``. If the version of
   the data is known before the work is done, ``rendering.answer_from_cache(request, parts, version, make)`` can answer
   304 without the work.
3. A template ``templates/<folder>/<page>.html`` extends ``base.html``, sets ``title``, ``here`` (the part of the
   navigation) and ``crumbs``, and fills the block ``main``. ``templates/parts/*.html`` have the macros that all pages
   share: chips, method names with their symbols, empty states, controls, the last card with curl and downloads.
4. Numbers go through the filters of ``formats``; nothing is formatted in a template. Texts of docstrings go through
   ``prose``, and calls of the API are written by ``curl``, which adds the key if the service asks for keys.
5. No script and no style stands in the page: the Content-Security-Policy forbids it. Scripts are modules in
   ``static/``, loaded by the block ``scripts``; they read their data from ``data-*`` attributes. The page must work
   without scripts.
6. A form that changes stored data includes ``parts/token.html``, and its route depends on ``own_fields``, or takes
   ``OwnSpecFields`` if the form holds a spec (``service.pages.forms``).
7. In a table of the class ``cards``, rows become cards on phones; the ``data-label`` of a cell is its label there.
8. A button or control is as high as ``--target``; a link that stands alone has the class ``target``.
9. Colours come only from ``static/tokens.css``; colours of methods come from ``normcore.figures.styles``.
10. Write a test in ``tests/service/pages/``. ``new_page`` and ``site`` of its conftest give a page in a browser; they
    check its console and requests. ``check_accessible`` asks axe, and ``check_fits`` finds elements that are too wide.
11. ``normbench publish`` makes static pages of these pages (``normbench/publishing/``). It takes out scripts, forms,
    controls and commands. Give the attribute ``data-live`` to any other element that means nothing without the service.
"""
