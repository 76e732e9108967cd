"""Static copies of a service's pages: they are fetched, made to work from a disk, and written into a folder.

- ``sitemap`` lists the pages to publish, with their addresses and their files.
- ``elements`` reads HTML into a tree and writes it again.
- ``static_page`` makes a page work without its service: links, controls, scripts, figures.
- ``folder`` writes files, and replaces only files that an earlier publication wrote.
- ``publication`` puts these steps together.
"""
