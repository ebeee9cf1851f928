"""The report in a real browser: what a reader can do with it."""

import json

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from report.run_folders import HOSTILE_ID
from report.variants import bare, with_many_regions, with_many_subjects, with_regions
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
    header = page.find_elements(By.CSS_SELECTOR, ".subjects th")[1]
    for direction in ("descending", "ascending"):
        header.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
        values = [float(value) for value in column(page, 1)]
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
    path.write_text(render(with_many_subjects(folder), [], {}), encoding="utf-8")
    open_page(browser, path, 1600)
    assert len(column(browser, 0)) == 25
    spent = browser.execute_script(
        """const start = performance.now();
        document.querySelectorAll(".subjects th button")[1].click();
        return performance.now() - start;"""
    )
    assert spent < 500
    assert problems(browser) == []
