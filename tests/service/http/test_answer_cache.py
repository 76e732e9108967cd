"""A cached answer is made once for each version."""

from fastapi import Request, Response

from service.http.answer_cache import MOST, AnswerCache


def test_an_answer_is_made_anew_once_its_version_changes() -> None:
    answers, made = AnswerCache(), iter(range(100))

    def get(asked: str, version: int) -> bytes:
        return answers.get(asked, version, lambda: b"%d" % next(made))

    assert [get("a", 1), get("a", 1), get("b", 1), get("a", 2), get("a", 2), get("b", 1)] == [
        b"0",
        b"0",
        b"1",
        b"2",
        b"2",
        b"1",
    ]


def test_the_least_recently_used_answers_are_dropped_first() -> None:
    answers, made = AnswerCache(), []

    def get(asked: int) -> bytes:
        return answers.get(asked, 0, lambda: made.append(asked) or b"")  # type: ignore[func-returns-value]

    for asked in (*range(MOST), 0, MOST, 0, 1):
        get(asked)
    assert made == [*range(MOST), MOST, 1]


def test_the_tag_of_an_answer_holds_only_in_this_process() -> None:
    """Another database may have the same version numbers."""

    def respond(answers: AnswerCache, asked: str, version: int, known: str = "") -> Response:
        headers = [(b"if-none-match", known.encode())] if known else []
        request = Request({"type": "http", "headers": headers})
        return answers.respond(request, asked, version, lambda: b"{}", media_type="application/json", headers={})

    answers = AnswerCache()
    first = respond(answers, "a", 1)
    assert (first.status_code, first.body, first.headers["cache-control"]) == (200, b"{}", "no-cache")
    tag = first.headers["etag"]
    again = respond(answers, "a", 1, tag)
    assert (again.status_code, again.body, again.headers["etag"]) == (304, b"", tag)
    assert {respond(answers, *asked, tag).status_code for asked in (("a", 2), ("b", 1))} == {200}
    assert respond(AnswerCache(), "a", 1, tag).status_code == 200
