"""A worker that cannot work says so and ends."""

from pathlib import Path

from tests.processes import service


def test_a_device_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with service(tmp_path) as broken:
        assert broken.start("worker", "--device", "cuda:63").wait(60) == 2
        assert "cannot train on cuda:63 here; name another with --device" in broken.logs()


def test_a_device_that_is_no_device_is_refused_by_its_setting(tmp_path: Path) -> None:
    with service(tmp_path) as broken:
        assert broken.start("worker", "--device", "tpu").wait(60) == 2
        assert "NORMBENCH_DEVICE='tpu'" in broken.logs()
