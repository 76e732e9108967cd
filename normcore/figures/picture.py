"""Pictures of grey levels, encoded as PNG.

Shapes: N images of S x S pixels.
"""

import io
import math

import numpy as np
from PIL import Image

BORDER = 1  # pixels between two images


def sheet(images: np.ndarray) -> np.ndarray:
    """Arrange images (N, S, S) in [0, 1] in a grid, about as many rows as columns, with lines of grey 0.5 between them.

    Returns:
        The grid as one picture (rows, columns of pixels).
    """
    count, side = images.shape[:2]
    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    step = side + BORDER
    whole = np.full((down * step + BORDER, across * step + BORDER), 0.5)
    for k, image in enumerate(images):
        top, left = (BORDER + step * place for place in divmod(k, across))
        whole[top : top + side, left : left + side] = image
    return whole


def png(levels: np.ndarray, scale: int = 4) -> bytes:
    """Encode grey levels (rows, columns), 0 black to 1 white, as PNG; each level fills ``scale`` x ``scale`` pixels."""
    grey = (levels.clip(0, 1) * 255).round().astype(np.uint8)
    content = io.BytesIO()
    Image.fromarray(grey.repeat(scale, 0).repeat(scale, 1)).save(content, "png", optimize=True)
    return content.getvalue()
