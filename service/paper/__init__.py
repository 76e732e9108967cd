"""Tables for papers: a room declares its table as a ``PaperTable``, which is written in LaTeX or in Markdown."""
