"""Normalized recurrent layers with the interface of ``torch.nn``: ``LSTM``, ``GRU`` and ``RNN``.

    from normcore.nn import LSTM

    layer = LSTM(64, 128, num_layers=2, norm="layer_norm")
    y, (h_n, c_n) = layer(x)

Without a norm they compute what ``torch.nn`` computes, and their ``state_dict`` is torch's.
"""

from normcore.nn.layers import GRU, LSTM, RNN

__all__ = ["GRU", "LSTM", "RNN"]
