"""Normalized recurrent layers with the interface of ``torch.nn``: ``LSTM``, ``GRU`` and ``RNN``.

    from normcore.nn import LSTM

    layer = LSTM(64, 128, num_layers=2, norm="layer_norm")
    y, (h_n, c_n) = layer(x)

Without a norm they compute what ``torch.nn`` computes, and their ``state_dict`` is torch's.
"""

import gc

collects = gc.isenabled()
gc.disable()  # one search through all objects of torch would take as long as these imports
try:
    from normcore.nn.layers import GRU, LSTM, RNN
finally:
    if collects:
        gc.enable()

__all__ = ["GRU", "LSTM", "RNN"]
