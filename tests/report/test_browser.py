"""The report in a real browser: what a reader can do with it."""

import json

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from report.run_folders import HOSTILE_ID
from report.variants import bare, with_many_regions, with_many_subjects, with_regions
from stillome.evaluate.verdict import Check, Verdict
from stillome.report.page import render


@pytest.fixture
def page(browser, run_folder):
    """The report, freshly opened on a wide screen, in light colours."""
    open_page(browser, run_folder / "report.html", 1600)
    yield browser
    assert problems(browser) == []


def open_page(browser, path, width):
    resize(browser, width)
    browser.get_log("performance")
    browser.get(path.as_uri())
    browser.execute_script("localStorage.clear()")
    if browser.execute_script("return document.documentElement.dataset.theme") == "dark":
        browser.find_element(By.ID, "theme").click()


def resize(browser, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def problems(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] != "DEBUG"]


def pixels(browser, name):
    return browser.execute_script(f"return document.getElementById('{name}').toDataURL()")


def text(browser, name):
    return browser.find_element(By.ID, name).text


def column(browser, place):
    rows = browser.find_elements(By.CSS_SELECTOR, "#rows tr")
    return [row.find_elements(By.TAG_NAME, "td")[place].text for row in rows]


def overflow(browser):
    """How much wider the page is than the window, in pixels."""
    return browser.execute_script(
        "const page = document.documentElement; return page.scrollWidth - page.clientWidth"
    )


def test_nothing_is_fetched_from_anywhere(page):
    entries = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    addresses = [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    ]
    assert any(address.endswith("report.html") for address in addresses)
    assert all(address.startswith(("file:", "data:")) for address in addresses)
    resources = page.execute_script(
        "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    )
    assert all(name.startswith(("file:", "data:")) for name in resources)


def test_the_slider_moves_every_view(page):
    before = [pixels(page, name) for name in ("matrix", "circle", "brain")]
    level, told = text(page, "level"), text(page, "told")
    page.find_element(By.ID, "reference").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    after = [pixels(page, name) for name in ("matrix", "circle", "brain")]
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert text(page, "level") != level
    assert text(page, "told") != told


def test_more_motion_means_fewer_fibres(page):
    def fibres():
        return int(text(page, "told").split(" in the scan, ")[1].split(" ")[0].replace(",", ""))

    slider = page.find_element(By.ID, "reference")
    still = fibres()
    slider.send_keys(Keys.END)
    assert fibres() < still


def test_another_subject_is_another_matrix(page):
    everybody = pixels(page, "matrix")
    Select(page.find_element(By.ID, "who")).select_by_visible_text(HOSTILE_ID)
    assert pixels(page, "matrix") != everybody
    assert text(page, "told").startswith(HOSTILE_ID)


def test_before_and_after_can_be_compared(page):
    change = pixels(page, "matrix")
    page.find_element(By.CSS_SELECTOR, "input[value=amount]").send_keys(Keys.SPACE)
    assert pixels(page, "matrix") != change
    assert "below: as scanned" in text(page, "matrix-title")


def test_pointing_at_an_edge_tells_its_regions_and_counts(page, folder):
    matrix = page.find_element(By.ID, "matrix")
    page.execute_script(
        """const box = arguments[0].getBoundingClientRect();
        arguments[0].dispatchEvent(new PointerEvent("pointermove", {
          clientX: box.right - 4, clientY: box.top + 20}));""",
        matrix,
    )
    first = text(page, "cell")
    names = set(folder.cohort.regions["name"])
    pair, counts = first.split(": scanned ")
    assert set(pair.split(" – ")) <= names
    page.find_element(By.ID, "reference").send_keys(Keys.END)
    assert text(page, "cell").split(": scanned ")[0] == pair
    scan = counts.split(",")[0]
    assert text(page, "cell").split(": scanned ")[1].startswith(scan)


def test_the_matrix_shows_the_counts_of_the_run(page, folder):
    rows = page.execute_script(
        "return JSON.parse(document.getElementById('report-data').textContent).slider.regions.names"
    )
    page.find_element(By.ID, "matrix").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    names = folder.cohort.regions["name"].tolist()
    place = [names.index(rows[0]), names.index(rows[2])]
    expected = folder.slider.observed[0][place[0], place[1]]
    told = text(page, "cell").split(": scanned ")[1].split(", adjusted")[0]
    assert float(told.replace(",", "")) == pytest.approx(expected, rel=0.02, abs=0.6)


def test_the_keyboard_reaches_and_works_everything(page):
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert page.switch_to.active_element.get_attribute("class") == "skip"
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert page.current_url.endswith("#verdict")
    for start, following in (
        ("who", ["play", "reference", "", "matrix", "most"]),
        ("search", ["flag", "size"]),
    ):
        page.execute_script("document.getElementById(arguments[0]).focus()", start)
        for name in following:
            page.switch_to.active_element.send_keys(Keys.TAB)
            assert page.switch_to.active_element.get_attribute("id") == name


def test_the_table_sorts_both_ways(page):
    header = page.find_elements(By.CSS_SELECTOR, ".subjects th:not(.plain)")[1]
    for direction in ("descending", "ascending"):
        header.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        values = [float(value) for value in column(page, 3)]
        assert values == sorted(values, reverse=direction == "descending")
        assert header.get_attribute("aria-sort") == direction


def test_the_table_is_searched_and_filtered(page, folder):
    page.find_element(By.ID, "search").send_keys("script")
    assert column(page, 0) == [HOSTILE_ID]
    page.find_element(By.ID, "search").send_keys(Keys.CONTROL, "a")
    page.find_element(By.ID, "search").send_keys("few fibres")
    assert column(page, 0) == [folder.cohort.subject_ids[0]]
    page.find_element(By.ID, "search").send_keys(Keys.CONTROL, "a")
    page.find_element(By.ID, "search").send_keys("nobody")
    assert text(page, "count") == "No subject matches."
    page.execute_script("document.getElementById('search').value = ''")
    Select(page.find_element(By.ID, "flag")).select_by_value("any")
    assert len(column(page, 0)) == int((folder.subjects["flags"] != "").sum())


def test_the_table_is_paged(page, folder):
    first = column(page, 0)
    page.find_element(By.ID, "next").send_keys(Keys.ENTER)
    assert not set(first) & set(column(page, 0))
    assert text(page, "count") == f"26–50 of {folder.cohort.n_subjects} subjects"


def test_a_subject_of_the_table_opens_in_the_slider(page):
    page.find_element(By.ID, "search").send_keys("script")
    page.find_element(By.CSS_SELECTOR, "#rows button").send_keys(Keys.ENTER)
    assert text(page, "told").startswith(HOSTILE_ID)
    assert page.switch_to.active_element.get_attribute("id") == "reference"


def test_ids_stay_text(page):
    scripts = page.find_elements(By.TAG_NAME, "script")
    assert all("alert" not in script.get_attribute("textContent")[:40] for script in scripts)
    assert len(scripts) == 3
    assert HOSTILE_ID in [option.text for option in Select(page.find_element(By.ID, "who")).options]


def test_dark_mode_changes_page_and_canvas_and_is_remembered(page):
    def ground():
        return page.execute_script("return getComputedStyle(document.body).backgroundColor")

    light, matrix = ground(), pixels(page, "matrix")
    page.find_element(By.ID, "theme").click()
    assert ground() != light
    assert pixels(page, "matrix") != matrix
    page.refresh()
    assert page.execute_script("return document.documentElement.dataset.theme") == "dark"
    page.find_element(By.ID, "theme").click()
    assert ground() == light


def test_the_system_may_ask_for_dark(page):
    feature = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": feature})
    page.execute_script("localStorage.clear()")
    page.refresh()
    assert page.execute_script("return document.documentElement.dataset.theme") == "dark"
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("width", [360, 768, 1600])
def test_no_width_makes_the_page_scroll_sideways(page, width):
    resize(page, width)
    assert overflow(page) == 0


def test_paper_shows_the_verdict_and_no_controls(page):
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert page.find_element(By.CSS_SELECTOR, ".verdict").is_displayed()
    assert not page.find_element(By.CSS_SELECTOR, ".side").is_displayed()
    assert not page.find_element(By.ID, "search").is_displayed()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_the_methods_are_copied(page):
    page.find_element(By.CSS_SELECTOR, "[data-copy]").send_keys(Keys.ENTER)
    page.implicitly_wait(2)
    assert page.find_element(By.XPATH, "//*[@id='copied' and text()]").text
    page.implicitly_wait(0)


@pytest.mark.parametrize(
    "variant",
    [bare, lambda folder: with_regions(folder, [0, 1, 10, 11, 12]), with_many_regions],
    ids=["bare", "5 regions", "400 regions"],
)
def test_other_cohorts_work_too(browser, folder, variant, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render(variant(folder), [], {}), encoding="utf-8")
    open_page(browser, path, 360)
    before = pixels(browser, "matrix")
    browser.find_element(By.ID, "reference").send_keys(Keys.END)
    assert pixels(browser, "matrix") != before
    assert overflow(browser) == 0
    assert problems(browser) == []


def test_thousands_of_subjects_stay_usable(browser, folder, tmp_path):
    path = tmp_path / "report.html"
    many = render(with_many_subjects(folder), [], {}, with_subjects=True)
    path.write_text(many, encoding="utf-8")
    open_page(browser, path, 1600)
    assert len(column(browser, 0)) == 25
    assert text(browser, "pages") == "200"
    number = browser.find_element(By.ID, "page")
    number.send_keys(Keys.CONTROL, "a")
    number.send_keys("150", Keys.ENTER)
    assert column(browser, 0)[0] == "s03725"
    assert text(browser, "count") == "3,726–3,750 of 5,000 subjects"
    spent = browser.execute_script(
        """const start = performance.now();
        document.querySelectorAll(".subjects th button")[1].click();
        return performance.now() - start;"""
    )
    assert spent < 500
    # Paper has no pages to turn.
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    printed = "return document.querySelectorAll('#rows tr').length"
    assert browser.execute_script(printed) == 5000
    assert text(browser, "count") == "All 5,000 subjects"
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(printed) == 25
    assert problems(browser) == []


def rate(browser, row, rating, note=""):
    cells = browser.find_elements(By.CSS_SELECTOR, "#rows tr")[row]
    Select(cells.find_element(By.CSS_SELECTOR, ".rating")).select_by_value(rating)
    if note:
        cells.find_element(By.CSS_SELECTOR, ".remark").send_keys(note, Keys.TAB)


def exported(browser, place):
    """Save the ratings as a reader would, and read the file."""
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(place)}
    )
    browser.find_element(By.ID, "export").send_keys(Keys.ENTER)
    path = place / "ratings.tsv"
    WebDriverWait(browser, 10).until(lambda _: path.exists())
    return [line.split("\t") for line in path.read_text("utf-8").splitlines()]


def test_ratings_are_kept_and_saved_as_a_table(page, tmp_path):
    assert not page.find_element(By.ID, "export").is_enabled()
    first = column(page, 0)
    rate(page, 1, "exclude", "much\u00a0 noise")
    page.find_element(By.ID, "next").send_keys(Keys.ENTER)
    second = column(page, 0)
    rate(page, 0, "doubtful")
    rate(page, 2, "good")
    page.refresh()
    assert text(page, "rated") == "Rated: 1 good, 1 doubtful, 1 exclude."
    rows = exported(page, tmp_path)
    assert rows[0] == ["participant_id", "rating", "note"]
    assert rows[1:] == [
        [first[1], "exclude", "much noise"],
        [second[0], "doubtful", "n/a"],
        [second[2], "good", "n/a"],
    ]
    Select(page.find_element(By.ID, "flag")).select_by_value("rated")
    assert column(page, 0) == [first[1], second[0], second[2]]
    page.find_element(By.ID, "forget").send_keys(Keys.ENTER)
    page.switch_to.alert.accept()
    assert text(page, "rated") == "No subject is rated."
    assert Select(page.find_element(By.CSS_SELECTOR, ".rating")).first_selected_option.text == "–"


@pytest.fixture
def public_page(browser, folder, tmp_path):
    """The report as it is by default: without subjects."""
    path = tmp_path / "report.html"
    path.write_text(render(folder, [], {}), encoding="utf-8")
    open_page(browser, path, 1600)
    yield browser
    assert problems(browser) == []


def test_by_default_the_page_works_without_subjects(public_page, folder):
    who = [option.text for option in Select(public_page.find_element(By.ID, "who")).options]
    assert who == list(folder.slider.keys[: folder.slider.n_groups])
    assert public_page.find_elements(By.ID, "rows") == []
    assert "can be shared" in text(public_page, "sharing")
    before = pixels(public_page, "matrix")
    public_page.find_element(By.ID, "reference").send_keys(Keys.END)
    assert pixels(public_page, "matrix") != before
    largest = folder.cohort.motion[folder.measure].max()
    assert float(text(public_page, "level").split()[0]) == pytest.approx(largest, abs=0.01)


COLOURS = """return [...document.querySelectorAll(".checks .badge")].map((badge) => {
  const style = getComputedStyle(badge);
  return [style.color, style.backgroundColor, badge.querySelector("path").getAttribute("d")];
})"""


def test_badges_and_icons_mean_the_same_in_every_verdict(browser, folder, tmp_path, monkeypatch):
    states = ("good", "caution", "bad", "unknown")
    checks = tuple(Check(f"About {state}?", state, "Yes.") for state in states)
    found = {}
    for state in states:
        told = Verdict(state, f"The state is {state}", "Do this.", checks)
        monkeypatch.setattr("stillome.report.page.judge_run", lambda _, told=told: told)
        path = tmp_path / f"{state}.html"
        path.write_text(render(folder, [], {}), encoding="utf-8")
        open_page(browser, path, 1000)
        badges = [tuple(one) for one in browser.execute_script(COLOURS)]
        found[state] = badges
        sign = browser.find_element(By.CSS_SELECTOR, ".verdict > .sign path").get_attribute("d")
        assert sign == badges[states.index(state)][2]
    assert len(set(map(tuple, found.values()))) == 1
    for part in range(3):
        assert len({badge[part] for badge in found["good"]}) == len(states)


def test_paper_shows_everything_that_is_folded_and_every_row(page, folder):
    def shown():
        return [
            part.is_displayed()
            for part in page.find_elements(By.CSS_SELECTOR, "details > *:last-child")
        ]

    assert not any(shown())
    page.find_element(By.ID, "theme").click()
    dark = pixels(page, "matrix")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert all(shown())
    assert len(column(page, 0)) == folder.cohort.n_subjects
    assert pixels(page, "matrix") != dark
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert not any(shown())
    assert len(column(page, 0)) == 25
    assert pixels(page, "matrix") == dark
    page.find_element(By.ID, "theme").click()


def test_paper_cuts_nothing_off(page):
    # A4 less its margins, at 96 pixels per inch; the table of subjects is on wide pages.
    for width, wide in ((688, False), (1016, True)):
        resize(page, width)
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        page.execute_script("dispatchEvent(new Event('beforeprint'))")
        parts = page.execute_script(
            """return [...document.querySelectorAll("table, figure svg, figure img, pre, .card")]
              .filter((part) => Boolean(part.closest("#subjects")) === arguments[0])
              .map((part) => part.getBoundingClientRect().right);""",
            wide,
        )
        page.execute_script("dispatchEvent(new Event('afterprint'))")
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        assert parts and max(parts) <= width + 1


def test_the_navigation_follows_on_a_narrow_screen(page):
    resize(page, 390)
    for name in ("provenance", "kept", "verdict"):
        page.execute_script(
            "document.getElementById(arguments[0]).scrollIntoView({behavior: 'instant'})", name
        )
        current = f".side nav a[href='#{name}'][aria-current]"
        WebDriverWait(page, 5).until(
            lambda _, css=current: page.find_elements(By.CSS_SELECTOR, css)
        )
        bar, link, top = page.execute_script(
            """const box = (css) => document.querySelector(css).getBoundingClientRect();
            const [bar, link] = [box(".side nav"), box(".side nav a[aria-current]")];
            return [[bar.left, bar.right], [link.left, link.right], box(".side").top];"""
        )
        assert bar[0] <= link[0] and link[1] <= bar[1]
        assert top == 0


def test_a_script_that_is_not_ours_does_not_run(browser, run_folder, tmp_path):
    page = (run_folder / "report.html").read_text("utf-8")
    injected = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title='t'\">"
    (tmp_path / "page.html").write_text(page.replace("<main>", f"<main>{injected}"), "utf-8")
    open_page(browser, tmp_path / "page.html", 1600)
    assert browser.title.endswith("stillome report")
    assert any("Content Security Policy" in problem for problem in problems(browser))
