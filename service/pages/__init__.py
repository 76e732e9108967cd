"""The web pages: HTML made from the same functions as the API. Nothing here computes a number.

How to add a page:

1. A module ``service/pages/<page>.py`` with ``router = PageRouter()`` (``service.pages.routing``), which stands in
   ``PAGES`` of ``service/app.py``. Query parameters are declared as in the API, and unknown ones are answered by a page
   with status 422.
2. A route reads values from its room (the dataclasses of the room's ``schemas``), turns them into what the page says in
   pure functions of that module, and ends with ``rendering.page(request, "<page>.html", ...)``. Where a version of the
   data is known before the work is done, ``rendering.kept(request, version, make)`` answers 304 without doing it.
3. A template ``templates/<folder>/<page>.html`` extends ``base.html``, sets ``title``, ``here`` (the part of the
   navigation) and ``crumbs``, and fills the block ``main``. ``templates/parts/*.html`` have the macros that all pages
   share: chips, method names with their symbols, empty states, controls, the last card with curl and downloads.
4. Numbers go through the filters of ``formats``; nothing is formatted in a template. Texts of docstrings go through
   ``prose``, and calls of the API are written by ``curl``, which adds the key where one is asked for.
5. No script and no style stands in the page, as the Content-Security-Policy forbids it. Scripts are modules in
   ``static/``, loaded by the block ``scripts``; what they need stands in ``data-*`` attributes. Without them the page
   is still read and used.
6. A form that changes what is stored includes ``parts/token.html``, and its route takes ``OwnFields`` or depends on
   ``own_fields`` (``service.pages.forms``).
7. A table that has the class ``cards`` turns its rows into cards on phones; each cell's ``data-label`` says what it is.
8. What is pressed is as high as ``--target``; a link that stands alone has the class ``target``.
9. Colours come from ``static/tokens.css`` alone; those of methods from ``normcore.figures.styles``.
10. A test in ``tests/service/pages/``: ``new_page`` and ``site`` of its conftest give a browser's page whose console
    and requests are watched, ``check_accessible`` asks axe, and ``check_fits`` looks for what is too wide.
"""
