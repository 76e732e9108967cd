import pytest

pytest.register_assert_rewrite("tests.normcore.kernels.twin")
