"""Citations: the works behind a task, a method, a data set or an experiment, also as BibTeX."""
