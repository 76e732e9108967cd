"""Words of numbers, and filters with markup."""

from datetime import UTC, datetime

import pytest

from service import wording
from service.pages import formats


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (wording.value(0.95384, "accuracy"), "95.38%"),
        (wording.value(0.0, "error_rate"), "0.00%"),
        (wording.value(0.5, "image_r10"), "50.00%"),
        (wording.value(1.38416, "bits_per_char"), "1.3842"),
        (wording.value(-1131.44, "nats"), "-1\u202f131"),
        (wording.value(1.234e75, "nats"), "1.234e+75"),
        (wording.value(None, "accuracy"), "–"),
        (wording.interval((0.9515, 0.9563), "accuracy"), "95.15 – 95.63"),
        (wording.interval((140, None), "nats"), "140.00 – unknown"),
        (wording.interval((0.65, 0.65), "accuracy"), "no spread"),
        (wording.interval((0.65, 0.65001), "accuracy"), "65.000 – 65.001"),
        (wording.interval((140, 140.001), "nats"), "140.000 – 140.001"),
        (wording.interval_in_words((0.9515, 0.9563), "accuracy"), "95% interval 95.15 – 95.63"),
        (wording.interval_in_words((0.65, 0.65), "accuracy"), "no spread"),
        (wording.span((0.65, 0.65), "accuracy"), "65.00 – 65.00"),
        (wording.time_interval((120, 120), "steps"), "no spread"),
        (wording.time_interval((120, 140), "steps"), "95% interval 120 – 140"),
        (wording.interval(None, "accuracy"), "no interval"),
        (wording.difference(0.013, "accuracy"), "+1.30 points"),
        (wording.difference(-0.021, "bits_per_char", "bits"), "−0.0210 bits"),
        (wording.distance(-0.013, "accuracy"), "1.30 points"),
        (wording.difference_interval((-0.0012, 0.003), "accuracy"), "−0.12 – +0.30"),
        (wording.distance_interval((0.0012, 0.003), "accuracy"), "0.12 – 0.30"),
        (wording.distance_interval((-0.0030, -0.0012), "accuracy"), "0.12 – 0.30"),
        (wording.distance_interval((-0.0012, 0.003), "accuracy"), "−0.12 – 0.30"),
        (wording.distance_interval(None, "accuracy"), "no interval"),
        (wording.steps(11_000.4), "11\u202f000"),
        (wording.steps(32.5), "32.5"),
        (wording.seconds(6.13), "6.1 s"),
        (wording.seconds(59.7), "1 min"),
        (wording.seconds(125), "2 min 5 s"),
        (wording.seconds(3600 * 27), "1 d 3 h"),
        (wording.age(0.02), "0 s ago"),
        (wording.age(2745), "45 min ago"),
        (wording.age(3600 * 27), "1 d ago"),
        (wording.ratio(3.196), "×3.20"),
        (wording.ratio_interval((2.6, 4)), "2.60 – 4.00"),
        (wording.p_value(0.0002), "p\u00a0<\u00a00.001"),
        (wording.p_value(0.0021), "p\u00a0=\u00a00.002"),
        (wording.p_value(0.42), "p\u00a0=\u00a00.42"),
        (wording.size(512), "512 B"),
        (wording.size(178_944), "179 kB"),
        (wording.size(209_715_200), "209.7 MB"),
        (wording.size(15_800_000_000), "15.8 GB"),
        (wording.size(1_884_776_000_000), "1,885 GB"),
        (wording.size(999_600), "1.0 MB"),
        (wording.count(1, "entry"), "1 entry"),
        (wording.count(2, "entry"), "2 entries"),
        (wording.count(12_000, "run"), "12\u202f000 runs"),
        (wording.moment(datetime(2026, 11, 1, 9, 5, tzinfo=UTC)), "1 Nov 2026, 09:05 UTC"),
        (wording.listed(["a"]), "a"),
        (wording.listed(["a", "b", "c"]), "a, b and c"),
        (formats.name("rms_<b>"), "rms_<wbr>&lt;b&gt;"),
        (formats.name("none (lr 0.1, batch_size 16)"), "none (lr\u00a00.1, batch_<wbr>size\u00a016)"),
        (wording.option({"sites": ["input", "cell"], "on": True}), "sites: input, cell, on: true"),
        (wording.rank_interval((2, 3)), "2–3"),
        (wording.rank_interval((1, 1)), "1"),
    ],
)
def test_numbers_times_and_names(written: str, shown: str) -> None:
    assert written == shown


def test_text_between_backticks_is_code_and_other_text_is_escaped() -> None:
    assert formats.prose("``eps`` as in `normbench up`, <b>`") == (
        "<code>eps</code> as in <code>normbench up</code>, &lt;b&gt;`"
    )
    assert formats.prose("`<script>`") == "<code>&lt;script&gt;</code>"


def test_a_citation_is_escaped_and_its_arxiv_numbers_are_links() -> None:
    shown = formats.link_papers('<script>alert(1)</script> & "A", arXiv:1607.06450')
    assert shown == (
        "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;A&#34;, "
        '<a href="https://arxiv.org/abs/1607.06450" rel="noreferrer">arXiv:1607.06450</a>'
    )


def test_a_digest_is_shortened_and_whole_in_its_title() -> None:
    digest = "0123456789abcdef" * 4
    assert formats.shorten_digest(digest) == f'<abbr title="{digest}">0123456789ab</abbr>'
    assert formats.shorten_digest("AMD <EPYC>") == "AMD &lt;EPYC&gt;"
