"""Registry of the recurrent cells. Each cell is a class of options in the module of its tag; ``normcore/cells/``
implements the cell.

A package of yours adds a cell by an entry point in the group ``normbench.cells``.
"""

from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.registry import Registry

CELLS = Registry("cells", RecurrentModel, __name__, tag="cell", implemented_in="normcore.cells")
