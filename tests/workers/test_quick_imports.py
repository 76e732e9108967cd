"""Only the imports of the fork server are without searches for garbage, not the trainings."""

import gc
from multiprocessing.connection import Connection

from workers import fork_server


def tell(asker: Connection) -> None:
    asker.send((gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()))


def test_a_training_searches_for_garbage_as_usual_but_not_in_the_modules_of_the_fork_server() -> None:
    ours, theirs = fork_server.context.Pipe(duplex=False)
    process = fork_server.context.Process(target=tell, args=(theirs,))
    process.start()
    is_enabled, threshold, frozen = ours.recv()
    process.join()
    assert (is_enabled, threshold) == (True, (700, 10, 10))
    assert frozen > 100_000
