import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from normcore.norms.step_average import StepAverage


@given(st.lists(st.lists(st.integers(-100, 100), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 3))
def test_average_is_the_mean_of_sequences_padded_with_their_last_entry(sequences: list[list[int]], chunk: int) -> None:
    average = StepAverage()
    for sequence in sequences:
        values = torch.tensor(sequence, dtype=torch.float64)
        for t in range(0, len(values), chunk):
            average.add(values[t : t + chunk], t)
    steps = max(map(len, sequences))
    padded = [s + [s[-1]] * (steps - len(s)) for s in sequences]
    expected = torch.tensor(padded, dtype=torch.float64).mean(0)
    torch.testing.assert_close(average.mean(), expected, rtol=0, atol=1e-9)


def test_skipped_step_is_refused() -> None:
    average = StepAverage()
    average.add(torch.zeros(2), 0)
    with pytest.raises(ValueError, match="expected statistics of step 2, received step 3"):
        average.add(torch.zeros(1), 3)
