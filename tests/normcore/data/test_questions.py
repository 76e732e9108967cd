"""Questions are read in both official formats, their texts are filtered, and errors in the files are named."""

import io
import tarfile
from pathlib import Path

import pytest

from normcore.data import questions
from normcore.data.questions import Question, parse_numbered, parse_question, vocabulary
from normcore.data.registry import DatasetCorrupt

QUESTION = """http://web.archive.org/web/2015/http://edition.cnn.com/story/index.html

( @entity0 ) @entity1 went home . did @entity2 stay ? nobody knows it

@placeholder went away

@entity1

@entity0:CNN
@entity1:Ada
@entity2:Bob
"""
NUMBERED = """1 @entity1 went home .
2 it rained .
3 @entity2 stayed .
4 nobody knew .
5 @placeholder went away\t@entity1\t0
"""


def sentences(question: Question) -> list[str]:
    return [" ".join(sentence) for sentence in question.passage]


def test_question_of_the_archive_is_parsed() -> None:
    found = parse_question(QUESTION, "a.question")
    assert sentences(found) == [
        "( @entity0 ) @entity1 went home .",
        "did @entity2 stay ?",
        "nobody knows it",
    ]
    assert " ".join(found.question) == "@placeholder went away"
    assert found.answer == "@entity1"
    assert found.can_be_answered
    assert not found._replace(answer="@entity7").can_be_answered


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("@entity1\n\n@entity0:CNN", "@entity9\n\n@entity0:CNN"), "line 7: the answer '@entity9' is not among the"),
        (
            ("@entity1\n\n@entity0:CNN\n@entity1", "Ada\n\n@entity0:CNN\nAda"),
            "line 10: expected an entity such as @entity7:Ada, received 'Ada:Ada'",
        ),
        (("@entity1\n\n", "@entity1\n@entity2\n\n"), "line 8: expected one answer, received a second line"),
        (("@entity2 stay", "@entity3 stay"), "line 3: '@entity3' is not among the entities"),
        (("went away", "saw @entity77"), "line 5: '@entity77' is not among the entities"),
        (("@entity2:Bob", "Bob"), "line 11: expected an entity such as @entity7:Ada, received 'Bob'"),
        (("@entity2:Bob", "@entity99999999:Bob"), "line 11: expected an entity .* received '@entity99999999:Bob'"),
        (
            ("@entity2:Bob", "@entity02:Bob"),
            "line 11: expected an entity such as @entity7:Ada, received '@entity02:Bob'",
        ),
        (("@entity2:Bob", "@entity\u0662:Bob"), "line 11: expected an entity such as @entity7:Ada"),
        (("\n@entity1:Ada", "\n\n@entity1:Ada"), "received 6 parts; download the archive again"),
        (("@placeholder", "someone"), "line 5: the question has no @placeholder"),
        (("\n\n@entity0:CNN", "\n@entity0:CNN"), "received 4 parts; download the archive again"),
    ],
)
def test_error_in_a_question_is_named(change: tuple[str, str], message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=f"^b.question.*{message}"):
        parse_question(QUESTION.replace(*change), "b.question")


def test_questions_of_numbered_lines_are_parsed() -> None:
    found = list(parse_numbered(NUMBERED + NUMBERED.replace("rained", "snowed"), "sample.txt"))
    assert [len(one.passage) for one in found] == [4, 4]
    assert sentences(found[1])[1] == "it snowed ."
    assert (" ".join(found[0].question), found[0].answer) == ("@placeholder went away", "@entity1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("3 @", "4 @"), "line 3: expected the number 3, received '4'"),
        (("it rained .", ""), "line 2: expected a sentence"),
        (("\t@entity1\t", "\tAda\t"), "line 5: expected a question with @placeholder, and an entity"),
        (("\t@entity1\t", "\t@entity3\t"), "line 5: the answer @entity3 is in none of the four sentences"),
        (("\t@entity1\t", "\t@entity99999\t"), "line 5: expected a question with @placeholder, and an entity"),
        (("@placeholder", "who"), "line 5: expected a question with @placeholder, and an entity"),
    ],
)
def test_error_in_a_line_is_named(change: tuple[str, str], message: str) -> None:
    with pytest.raises(DatasetCorrupt, match=message):
        list(parse_numbered(NUMBERED.replace(*change), "sample.txt"))


def test_the_filter_counts_shared_words_once_and_keeps_the_order() -> None:
    passage = ["went went went .", "home", "he went away", "away", "@placeholder !", "they went home"]
    asked = "@placeholder went away , home !"
    question = Question([sentence.split() for sentence in passage], asked.split(), "@entity0")
    assert sentences(question.filter_sentences(2)) == ["he went away", "they went home"]
    assert sentences(question.filter_sentences(3)) == ["went went went .", "he went away", "they went home"]
    assert sentences(question.filter_sentences(9)) == passage


def test_the_vocabulary_is_ordered_by_how_often_words_occur() -> None:
    found = vocabulary([parse_question(QUESTION, "q")], None)
    assert found[:2] == ["went", "("]
    assert not {"@entity0", "@placeholder"} & set(found)
    assert vocabulary([parse_question(QUESTION, "q")], 1) == ["went"]


def archive(folder: Path, members: dict[str, bytes]) -> Path:
    (folder / "cnn_questions").mkdir(exist_ok=True)
    path = folder / "cnn_questions" / "cnn.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


LONG = QUESTION.replace("nobody knows it", "a . b . c . d .").encode()


def test_the_official_archive_is_read_by_split(tmp_path: Path) -> None:
    content = LONG
    archive(
        tmp_path,
        {
            "cnn/questions/training/1.question": content,
            "cnn/questions/training/2.question": content,
            "cnn/questions/validation/3.question": content,
            "cnn/questions/test/4.question": content,
            "cnn/stories/5.story": b"something else",
        },
    )
    found = questions.load("cnn_questions", tmp_path)
    assert [len(part) for part in (found.train, found.valid, found.test)] == [2, 1, 1]
    assert {len(one.passage) for one in found.train} == {4}
    assert list(found.checksums) == ["cnn_questions/cnn.tgz"]
    full = questions.load("cnn_questions", tmp_path, full=True)
    assert {len(one.passage) for one in full.train} == {6}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "cnn/questions/training/1.question",
            b"\xff\xfe",
            r"cnn.tgz: .*1.question is no UTF-8; download the archive again",
        ),
        ("cnn/questions/dev/1.question", LONG, "dev/1.question is in none of the folders training, validation, test"),
        ("cnn/questions/test/1.question", b"nothing", r"cnn.tgz: cnn/questions/test/1.question: expected an address"),
    ],
)
def test_error_in_the_archive_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    archive(tmp_path, {name: content})
    with pytest.raises(DatasetCorrupt, match=message):
        questions.load("cnn_questions", tmp_path)


@pytest.mark.parametrize("folder", ["training", "validation", "test"])
def test_a_folder_without_questions_is_named(tmp_path: Path, folder: str) -> None:
    others = {"training", "validation", "test"} - {folder}
    archive(tmp_path, {f"cnn/questions/{other}/1.question": LONG for other in others})
    with pytest.raises(DatasetCorrupt, match=rf"cnn\.tgz: there is no question in the folder {folder}"):
        questions.load("cnn_questions", tmp_path)


def test_numbered_lines_that_end_within_a_text_are_named() -> None:
    cut = NUMBERED + "1 one more .\n2 and another .\n"
    with pytest.raises(DatasetCorrupt, match="sample ends after 2 sentences of a text, without their question"):
        list(parse_numbered(cut, "sample"))
