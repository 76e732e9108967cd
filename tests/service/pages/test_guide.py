"""The guide, as a service shows it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from service.pages import guide
from tests.service.pages.conftest import PHONE, NewPage, Site, check_accessible, check_fits

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make guide`` builds it, but in another folder."""
    site = tmp_path_factory.mktemp("guide")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


@pytest.fixture
def shown(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The site, which services of this process show."""
    monkeypatch.setattr(guide, "BUILT", built)
    return built


def test_the_guide_loads_nothing_from_elsewhere_and_is_searched(
    shown: Path, empty_site: Site, new_page: NewPage
) -> None:
    """``new_page`` fails on a request to another host, and on a message of the console, as one about the policy."""
    page = new_page(empty_site, figures=True)
    page.goto("/")
    page.get_by_role("link", name="Guide").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("normbench")
    page.get_by_placeholder("Search").fill("fingerprint")
    results = page.locator(".md-search-result__item")
    expect(results.first).to_contain_text("fingerprint")
    results.first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.url.startswith(f"{empty_site.url}/guide/")


def test_equations_are_drawn_by_the_browser(shown: Path, empty_site: Site, new_page: NewPage) -> None:
    page = new_page(empty_site, size=PHONE, figures=True)
    page.goto("/guide/reference/methods.html")
    fraction = page.locator("math mfrac").first
    expect(fraction).to_be_visible()
    assert fraction.evaluate("(one) => one.getBoundingClientRect().height > 10")
    check_fits(page)


def test_colours_are_chosen_on_the_guide(shown: Path, empty_site: Site, new_page: NewPage) -> None:
    """A script in the page changes the colours, and the policy lets it run."""
    page = new_page(empty_site, figures=True)
    page.goto("/guide/index.html")
    page.get_by_title("Dark colours").click()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    page.goto("/guide/results/reliability.html")
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
    page.goto("/guide/index.html")  # answered with 304
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")


def test_only_scripts_of_the_page_itself_may_run(shown: Path, shared_client: TestClient) -> None:
    answer = shared_client.get("/guide/index.html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self'; img-src 'self' data:; script-src 'self' 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = shared_client.get("/guide/index.html", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["content-security-policy"] == policy, "a browser takes the headers of the later answer"
    script = shared_client.get("/guide/search/search_index.json")
    assert script.headers["content-type"] == "application/json"
    assert "sha256" not in script.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["nowhere.html", "..%2Fguide.py", "%2Fetc%2Fpasswd", "start", "x" * 300])
def test_files_beside_the_guide_are_not_shown(shown: Path, shared_client: TestClient, path: str) -> None:
    assert shared_client.get(f"/guide/{path}").status_code == 404


def test_the_page_of_a_guide_that_is_not_built_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_site: Site, new_page: NewPage
) -> None:
    monkeypatch.setattr(guide, "BUILT", tmp_path / "nothing")
    page = new_page(empty_site, figures=True)
    page.goto("/guide")
    expect(page.get_by_text("make guide")).to_be_visible()
    check_accessible(page)


@pytest.mark.parametrize(
    ("script", "digest"),
    [(b"", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), (b"abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")],
)
def test_a_script_is_allowed_by_the_digest_of_its_text(script: bytes, digest: str) -> None:
    """The digests are those of FIPS 180."""
    allowed = guide.policy(b"<p><script>" + script + b'</script><script src="x.js"></script>')
    assert f"script-src 'self' 'sha256-{digest}'; object-src" in allowed
