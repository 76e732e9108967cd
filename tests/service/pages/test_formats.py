"""Formats of numbers."""

from datetime import UTC, datetime

import pytest

from service.pages import formats


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (formats.value(0.95384, "accuracy"), "95.38%"),
        (formats.value(0.0, "error_rate"), "0.00%"),
        (formats.value(0.5, "image_r10"), "50.00%"),
        (formats.value(1.38416, "bits_per_char"), "1.3842"),
        (formats.value(-1131.44, "nats"), "-1\u202f131"),
        (formats.value(1.234e75, "nats"), "1.234e+75"),
        (formats.value(None, "accuracy"), "–"),
        (formats.interval((0.9515, 0.9563), "accuracy"), "95.15 – 95.63"),
        (formats.interval((140, None), "nats"), "140.00 – unknown"),
        (formats.interval((0.65, 0.65), "accuracy"), "no spread"),
        (formats.interval((0.65, 0.65001), "accuracy"), "65.000 – 65.001"),
        (formats.interval((140, 140.001), "nats"), "140.000 – 140.001"),
        (formats.interval_in_words((0.9515, 0.9563), "accuracy"), "95% interval 95.15 – 95.63"),
        (formats.interval_in_words((0.65, 0.65), "accuracy"), "no spread"),
        (formats.span((0.65, 0.65), "accuracy"), "65.00 – 65.00"),
        (formats.time_interval((120, 120), "steps"), "no spread"),
        (formats.time_interval((120, 140), "steps"), "95% interval 120 – 140"),
        (formats.interval(None, "accuracy"), "no interval"),
        (formats.difference(0.013, "accuracy"), "+1.30 points"),
        (formats.difference(-0.021, "bits_per_char", "bits"), "−0.0210 bits"),
        (formats.distance(-0.013, "accuracy"), "1.30 points"),
        (formats.difference_interval((-0.0012, 0.003), "accuracy"), "−0.12 – +0.30"),
        (formats.steps(11_000.4), "11\u202f000"),
        (formats.steps(32.5), "32.5"),
        (formats.seconds(6.13), "6.1 s"),
        (formats.seconds(59.7), "1 min"),
        (formats.seconds(125), "2 min 5 s"),
        (formats.seconds(3600 * 27), "1 d 3 h"),
        (formats.ratio(3.196), "×3.20"),
        (formats.ratio_interval((2.6, 4)), "2.60 – 4.00"),
        (formats.p_value(0.0002), "p\u00a0<\u00a00.001"),
        (formats.p_value(0.0021), "p\u00a0=\u00a00.002"),
        (formats.p_value(0.42), "p\u00a0=\u00a00.42"),
        (formats.size(512), "512 B"),
        (formats.size(178_944), "179 kB"),
        (formats.size(209_715_200), "209.7 MB"),
        (formats.size(15_800_000_000), "15.8 GB"),
        (formats.size(1_884_776_000_000), "1,885 GB"),
        (formats.size(999_600), "1.0 MB"),
        (formats.count(1, "entry"), "1 entry"),
        (formats.count(2, "entry"), "2 entries"),
        (formats.count(12_000, "run"), "12\u202f000 runs"),
        (formats.moment(datetime(2026, 11, 1, 9, 5, tzinfo=UTC)), "1 Nov 2026, 09:05 UTC"),
        (formats.listed(["a"]), "a"),
        (formats.listed(["a", "b", "c"]), "a, b and c"),
        (formats.name("rms_<b>"), "rms_<wbr>&lt;b&gt;"),
        (formats.option({"sites": ["input", "cell"], "on": True}), "sites: input, cell, on: true"),
        (formats.rank_interval((2, 3)), "2–3"),
        (formats.rank_interval((1, 1)), "1"),
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
