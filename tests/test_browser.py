"""The page of a report in a real browser: figures drawn, nothing fetched, nothing run.

Installs nothing: without Chromium, its driver and selenium the tests are skipped (`make browser`
brings them).
"""

import json
import os
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import geodis as gd
from tests.report.example import HOSTILE, example_report

selenium = pytest.importorskip("selenium", reason="selenium is not installed: make browser")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="Chromium and its driver are not installed: make browser",
)
CHARTS = 10
AXE = os.environ.get("GEODIS_AXE", "")  # axe.min.js of axe-core, where it is
WIDE, NARROW = 1100, 390


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    if os.geteuid() == 0:  # Chromium has no sandbox for the superuser, as in a container
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where screenshots go: GEODIS_SCREENSHOTS keeps them for eyes."""
    kept = os.environ.get("GEODIS_SCREENSHOTS")
    return tmp_path_factory.mktemp("screenshots") if kept is None else kept


def open_page(browser, width=WIDE, theme="light"):
    """Open the report and wait for its figures."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what was before is forgotten
    browser.get(example_report().path.as_uri())
    wait_for(browser, "return document.documentElement.dataset.drawn === 'true'")
    browser.execute_script("return drawAll()")  # those that are far below, too


def wait_for(browser, script, seconds=60):
    end = time.monotonic() + seconds
    while not browser.execute_script(script):
        assert time.monotonic() < end, f"never true: {script}"
        time.sleep(0.05)


def pixels_drawn(browser, name):
    """Marks in a figure: points, bars, lines and cells, and spots on canvases."""
    return browser.execute_script(
        "const box = document.getElementById(arguments[0]);"
        "const spots = [...box.querySelectorAll('canvas')].map(c => +(c.dataset.spots || 0));"
        "return box.querySelectorAll('svg circle, svg path, svg use, svg image').length"
        " + spots.reduce((sum, n) => sum + n, 0)",
        name,
    )


@pytest.mark.parametrize(("width", "theme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")])
def test_every_figure_is_drawn_without_an_error(browser, folder, width, theme):
    open_page(browser, width, theme)
    names = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].map(box => box.id)"
    )
    assert len(names) >= CHARTS
    assert {name: pixels_drawn(browser, name) > 0 for name in names} == dict.fromkeys(names, True)
    assert browser.get_log("browser") == []
    browser.save_screenshot(f"{folder}/{theme}-{width}.png")


def test_nothing_is_fetched(browser):
    open_page(browser)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert asked[0].startswith("file://") and asked[0].endswith("index.html")
    assert [url for url in asked[1:] if not url.startswith(("data:", "blob:"))] == []


def test_text_of_the_user_is_shown_and_not_run(browser):
    open_page(browser)
    assert browser.title == "<i>a title</i>"  # the hostile factor would have changed it
    body = browser.execute_script("return document.body.innerText")
    assert HOSTILE in body
    ticks = browser.execute_script(
        "return [...document.querySelectorAll('#figure-per_factor text')].map(t => t.textContent)"
    )
    assert "size & ${x}" in ticks and any(text.startswith("<script>") for text in ticks)


def test_hovering_tells_what_is_under_the_pointer(browser):
    open_page(browser)
    x, y = browser.execute_script(
        "const box = document.getElementById('figure-per_factor');"
        "box.scrollIntoView({block: 'center'});"
        "const bar = box.querySelector('[data-tip]').getBoundingClientRect();"
        "return [bar.x + bar.width / 2, bar.y + bar.height / 2]"
    )
    for dx in (3, 0):
        browser.execute_cdp_cmd(
            "Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x + dx, "y": y}
        )
    wait_for(browser, "return document.getElementById('tip').style.display === 'block'")
    shown = browser.execute_script("return document.getElementById('tip').textContent")
    assert shown.startswith("mig") and "<script>" in shown


def test_a_point_is_lit_with_its_place_on_the_maps(browser):
    open_page(browser)
    told = browser.execute_script(
        "const views = [...document.querySelectorAll('*')].map(box => box.linkedViews)"
        ".find(Boolean);"
        "const dot = [...document.querySelectorAll('.dots [data-row]')]"
        ".find(one => views.data.rows.includes(+one.dataset.row));"
        "const send = kind => dot.dispatchEvent(new PointerEvent(kind, {bubbles: true}));"
        "send('pointerover'); const over = views.data.rows[views.hovered];"
        "const lit = dot.classList.contains('lit'); send('pointerout');"
        "return [+dot.dataset.row, over, lit, views.hovered, dot.classList.contains('lit')]"
    )
    assert told[0] == told[1] and told[2:] == [True, -1, False]


def test_the_selectors_change_colours_and_axes(browser):
    from selenium.webdriver.support.ui import Select

    open_page(browser)
    box = browser.find_element("css selector", "#controls-cloud")
    legend = (
        "return [...document.querySelectorAll('#figure-cloud .legend-text')]"
        ".map(t => t.textContent)"
    )
    assert "<b>dot</b>" in browser.execute_script(legend)
    Select(box.find_element("name", "panel")).select_by_visible_text("hue")
    wait_for(browser, f"{legend}.includes('4')")
    axis = "return document.querySelector('#figure-cloud .x-title').textContent"
    before = browser.execute_script(axis)
    Select(box.find_element("name", "x")).select_by_visible_text("latent 2")
    wait_for(browser, f"{axis} === 'latent 2'")
    assert before != "latent 2"
    pairs = browser.find_element("css selector", "#controls-distance_scatter")
    Select(pairs.find_element("name", "panel")).select_by_visible_text("random pairs")
    wait_for(
        browser, "return document.querySelectorAll('#figure-distance_scatter .dots').length === 1"
    )


def test_the_button_turns_the_theme_and_print_is_light(browser):
    open_page(browser)
    background = "return getComputedStyle(document.body).backgroundColor"
    ink = "return getComputedStyle(document.querySelector('#figure-cloud .x-title')).fill"
    light = browser.execute_script(background), browser.execute_script(ink)
    browser.find_element("id", "theme").click()
    wait_for(browser, f"{background} !== '{light[0]}'")
    wait_for(browser, f"{ink} !== '{light[1]}'")
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    wait_for(browser, f"{background} === '{light[0]}'")
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    wait_for(browser, f"{background} !== '{light[0]}'")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert len(printed) > 20_000
    assert browser.get_log("browser") == []


def test_a_phone_needs_no_sideways_scrolling(browser):
    open_page(browser, NARROW)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= NARROW
    size = browser.execute_script("return parseFloat(getComputedStyle(document.body).fontSize)")
    assert size >= 14


def test_the_page_reads_without_scripts(browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(example_report().path.as_uri())
        assert "DCI disentanglement" in browser.find_element("tag name", "main").text
        assert "need JavaScript" in browser.find_element("tag name", "main").text
        assert browser.find_element("css selector", "#figure-information svg").size["height"] > 100
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def mouse(browser, kind, x, y, **more):
    """Move, press or release the mouse."""
    event = {"type": kind, "x": x, "y": y, **more}
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def map_place(browser, number=0):
    """Where a canvas of the maps lies in the window, and its spots that are in front."""
    return browser.execute_script(
        "const own = document.getElementById('figure-maps').linkedViews.views[arguments[0]];"
        "own.canvas.scrollIntoView({block: 'center'});"
        "const box = own.canvas.getBoundingClientRect();"
        "return [box.x, box.y, box.width, box.height,"
        " own.spots.filter(s => s.front).map(s => [s.row, s.x, s.y])]",
        number,
    )


VIEWS = "const all = document.getElementById('figure-maps').linkedViews;"


def test_a_row_under_the_pointer_is_told_with_its_image(browser, folder):
    open_page(browser)
    left, top, _, _, spots = map_place(browser)
    _, x, y = spots[0]
    for dx in (3, 0):
        mouse(browser, "mouseMoved", left + x + dx, top + y)
    wait_for(browser, VIEWS + "return all.hovered >= 0 && all.tip.style.display === 'block'")
    told = browser.execute_script(VIEWS + "return [all.hovered, all.tip.textContent]")
    assert told[1] == browser.execute_script(VIEWS + f"return all.data.told[{told[0]}]")
    assert "<script>" in told[1]  # a name of a factor, as text
    assert browser.execute_script(VIEWS + "return all.tipImage.width") > 0
    browser.save_screenshot(f"{folder}/maps-pointed.png")
    assert browser.get_log("browser") == []


def test_an_area_that_is_chosen_on_one_map_is_chosen_on_all(browser, folder):
    open_page(browser)
    left, top, wide, high, spots = map_place(browser)
    browser.execute_script(VIEWS + "all.mode.click()")
    mouse(browser, "mousePressed", left + 1, top + 1, button="left", clickCount=1)
    mouse(browser, "mouseMoved", left + wide / 2, top + high - 2, button="left", buttons=1)
    mouse(browser, "mouseReleased", left + wide / 2, top + high - 2, button="left")
    chosen = browser.execute_script(VIEWS + "return [...(all.chosen || [])]")
    inside = [row for row, x, _ in spots if x <= wide / 2]
    assert abs(len(chosen) - len(inside)) <= 2 and set(chosen) <= {row for row, _, _ in spots}
    said = browser.execute_script(VIEWS + "return all.count.textContent")
    assert said.startswith(f"{len(chosen)} of ") and said.endswith("points chosen")
    browser.save_screenshot(f"{folder}/maps-chosen.png")
    browser.execute_script(VIEWS + "all.clear.click()")
    assert browser.execute_script(VIEWS + "return all.chosen === null && all.clear.hidden")
    assert browser.get_log("browser") == []


TABLE = VIEWS + "const lines = [...all.table.body.rows];"


def test_a_row_of_the_table_is_marked_on_the_maps_and_the_reverse(browser, folder):
    open_page(browser)
    numbers = browser.execute_script(TABLE + "return lines.map(line => +line.dataset.number)")
    ends = browser.execute_script(VIEWS + "return all.data.views.flatMap(one => one.ends)")
    assert numbers == [number for _, number in ends] and len(numbers) >= 2
    x, y = browser.execute_script(
        TABLE + "lines[1].scrollIntoView({block: 'center'});"
        "const box = lines[1].getBoundingClientRect(); return [box.x + 5, box.y + 5]"
    )
    for dx in (3, 0):
        mouse(browser, "mouseMoved", x + dx, y)
    wait_for(browser, VIEWS + f"return all.hovered === {numbers[1]}")
    lit = TABLE + "return lines.filter(line => line.classList.contains('lit')).length"
    assert browser.execute_script(lit) >= 1
    browser.execute_script(TABLE + "lines[1].querySelector('button').click()")
    mouse(browser, "mouseMoved", 5, 5)
    wait_for(browser, VIEWS + "return all.hovered === -1")
    assert browser.execute_script(VIEWS + "return all.pinned") == numbers[1]
    pressed = "return lines[1].querySelector('button').getAttribute('aria-pressed')"
    assert browser.execute_script(TABLE + pressed) == "true"
    left, top, _, _, spots = map_place(browser)
    row, x, y = next(spot for spot in spots if spot[0] == numbers[0])
    for dx in (3, 0):
        mouse(browser, "mouseMoved", left + x + dx, top + y)
    wait_for(browser, VIEWS + "return all.hovered >= 0")
    near = browser.execute_script(VIEWS + "return all.hovered")
    if near == row:
        first = "return lines[0].classList.contains('lit')"
        assert browser.execute_script(TABLE + first)
    assert browser.execute_script("return !!document.querySelector('.view.lit')")
    browser.save_screenshot(f"{folder}/maps-pinned.png")
    assert browser.get_log("browser") == []


def test_what_is_chosen_is_listed(browser):
    open_page(browser)
    browser.execute_script(VIEWS + "all.choose(new Set([...Array(40).keys()]))")
    listed = browser.execute_script(TABLE + "return lines.map(line => +line.dataset.number)")
    assert 10 <= len(listed) <= 12 and set(listed) <= set(range(40))
    title = VIEWS + "return all.table.title.textContent"
    assert browser.execute_script(title) == f"{len(listed)} of the 40 that you chose"
    browser.execute_script(VIEWS + "all.clear.click()")
    assert browser.execute_script(title) == "At the ends of the maps"


def test_images_stand_at_the_ends_of_maps(browser):
    open_page(browser)
    shown = browser.execute_script(
        VIEWS + "return all.views.map(own => own.order.slice(0, own.ends.length).every("
        "number => own.ends.some(end => end[1] === number)))"
    )
    assert shown and all(shown)
    counts = VIEWS + "return all.views.map(own => +own.canvas.dataset.images)"
    assert min(browser.execute_script(counts)) >= 2


def test_a_given_factor_colours_the_maps_and_marks_its_own(browser):
    open_page(browser)
    found = browser.execute_script(
        "const line = document.querySelector('#section-maps tr[data-map]'); if (!line) return null;"
        "line.querySelector('button').click();"
        "line.dispatchEvent(new PointerEvent('pointerenter'));"
        + VIEWS
        + "return [line.dataset.map, all.data.colorings[all.coloring].name,"
        " line.querySelector('button').textContent,"
        " all.views.filter(own => own.box.classList.contains('lit')).map(own => own.number)]"
    )
    assert found is not None
    assert found[1] == found[2] and found[3] == [int(found[0])]


def test_the_name_and_the_number_of_a_score_open_its_card(browser, folder):
    open_page(browser)
    for place in (0, 1):
        browser.execute_script(
            "document.querySelectorAll('#score-table [popovertarget=card-mig]')"
            "[arguments[0]].click()",
            place,
        )
        card = browser.find_element("id", "card-mig")
        assert card.is_displayed() and "cannot see" in card.text
        assert "score_cards.md#mig" in card.find_element("tag name", "a").get_attribute("href")
        browser.save_screenshot(f"{folder}/card.png")
        browser.execute_script("document.getElementById('card-mig').hidePopover()")
        assert not card.is_displayed()


def test_a_globe_is_turned_by_the_mouse_and_by_keys(browser):
    open_page(browser)
    browser.execute_script(
        VIEWS + "const own = all.views[0]; own.turns = true; all.setMode(false);"
        "own.canvas.tabIndex = 0"
    )
    turned = VIEWS + "return all.views[0].turned"
    before = browser.execute_script(turned)
    left, top, wide, high, _ = map_place(browser)
    mouse(browser, "mousePressed", left + wide / 2, top + high / 2, button="left", clickCount=1)
    mouse(browser, "mouseMoved", left + wide / 2 + 60, top + high / 2, button="left", buttons=1)
    mouse(browser, "mouseReleased", left + wide / 2 + 60, top + high / 2, button="left")
    by_mouse = browser.execute_script(turned)
    assert by_mouse != before and by_mouse[1] == pytest.approx(before[1])  # about the upright
    for row in by_mouse:
        assert sum(entry**2 for entry in row) == pytest.approx(1)
    browser.execute_script(
        VIEWS + "all.views[0].canvas.dispatchEvent(new KeyboardEvent('keydown', "
        "{key: 'ArrowUp', cancelable: true}))"
    )
    assert browser.execute_script(turned) != by_mouse


def test_maps_take_the_colours_that_are_chosen(browser):
    from selenium.webdriver.support.ui import Select

    open_page(browser)
    box = browser.find_element("css selector", "#figure-maps select")
    Select(box).select_by_visible_text("hue")
    legend = "return document.querySelector('#figure-maps .views-legend').textContent"
    assert browser.execute_script(legend).startswith("01234")


# What axe-core calls nested-interactive, region, label and image names, in a few lines.
DEFECTS = """
const focusable = 'a[href], button, select, input, textarea, [tabindex]';
const found = [];
document.querySelectorAll('[role=img], button, a[href]').forEach(box => {
  if (box.querySelector(focusable)) found.push('nested-interactive ' + box.outerHTML.slice(0, 90));
});
document.querySelectorAll('svg, img, canvas').forEach(box => {
  if (!(box.getAttribute('aria-label') || box.alt || box.closest('[aria-hidden=true]'))) {
    found.push('image without a name ' + box.outerHTML.slice(0, 90));
  }
});
const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (text.nextNode()) {
  const parent = text.currentNode.parentElement;
  if (text.currentNode.data.trim() && !parent.closest('header, main, nav, script, noscript, style'
      + ', [aria-hidden=true]')) found.push('region ' + text.currentNode.data.slice(0, 60));
}
document.querySelectorAll('select, input').forEach(box => {
  if (!box.labels.length) found.push('label ' + box.name);
});
return found;
"""


def test_nothing_keeps_a_screen_reader_out(browser):
    for theme in ("light", "dark"):
        open_page(browser, theme=theme)
        assert browser.execute_script(DEFECTS) == []


@pytest.mark.skipif(not AXE, reason="axe-core is not here: GEODIS_AXE names its axe.min.js")
@pytest.mark.parametrize(("width", "theme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")])
def test_axe_finds_nothing_serious(browser, width, theme):
    open_page(browser, width, theme)
    assert grave_findings(browser) == []


def grave_findings(browser):
    """What axe-core finds on the page that is open, as far as it keeps somebody out."""
    browser.execute_script(Path(AXE).read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run().then(result => done(result.violations.map(one => [one.id, one.impact,"
        " one.nodes.map(node => node.html.slice(0, 120))])))"
    )
    return [one for one in found if one[1] in ("serious", "critical") or one[0] == "region"]


def test_code_is_copied_by_a_button(browser):
    open_page(browser)
    box = browser.find_element("css selector", "#section-scores .code")
    browser.execute_script(
        "window.copied = []; copy = text => { copied.push(text); return Promise.resolve(); };"
        "arguments[0].querySelector('button').click()",
        box,
    )
    assert browser.execute_script("return copied")[0].startswith("table = gd.score_latents(")
    said = (
        "[...document.querySelectorAll('.code button')].some(one => one.textContent === 'copied')"
    )
    wait_for(browser, f"return {said}")


@pytest.fixture(scope="module")
def other_pages(tmp_path_factory):
    """A report of points alone, one of points with images, and a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    points = gd.product_manifold("S^2 x S^1", n=700, random_state=0).points
    images = (127 + 127 * points[:, :4].reshape(-1, 2, 2)).clip(0, 255).astype(np.uint8)
    height = gd.as_factors({"height": points[:, 2]})
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = {
            "points": gd.report(points, out=folder / "points", verbose=0),
            "images": gd.report(points, images=images, out=folder / "images", verbose=0),
            "compare": gd.compare({"a": points, "b": points @ turn}, height, images, verbose=0,
                                  n_resamples=4, out=folder / "compare"),
        }  # fmt: skip
    return {name: one.path for name, one in made.items()}


def show(browser, path, width, theme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": theme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(path.as_uri())
    wait_for(browser, "return document.documentElement.dataset.drawn === 'true'")
    browser.execute_script("return drawAll()")


@pytest.mark.parametrize("page", ["points", "images", "compare"])
@pytest.mark.parametrize(("width", "theme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")])
def test_other_pages_are_drawn_and_reach_everyone(browser, other_pages, folder, page, width, theme):
    show(browser, other_pages[page], width, theme)
    names = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].map(box => box.id)"
    )
    assert {"figure-maps"} <= set(names) and all(pixels_drawn(browser, name) for name in names)
    assert browser.execute_script(DEFECTS) == [] and browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in asked
            if one["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert [url for url in urls[1:] if not url.startswith(("data:", "blob:"))] == []
    assert len(browser.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 20_000
    browser.save_screenshot(f"{folder}/{page}-{theme}-{width}.png")
    if AXE:
        assert grave_findings(browser) == []


def test_a_row_is_seen_on_the_maps_of_all_runs(browser, other_pages):
    show(browser, other_pages["compare"], WIDE, "light")
    assert browser.execute_script(VIEWS + "return all.views.length") == 4
    left, top, _, _, spots = map_place(browser, 1)
    _, x, y = spots[0]
    for dx in (3, 0):
        mouse(browser, "mouseMoved", left + x + dx, top + y)
    wait_for(browser, VIEWS + "return all.hovered >= 0")
    assert browser.execute_script(VIEWS + "return all.tipImage.width") > 0


def test_walks_are_seen(browser, other_pages):
    show(browser, other_pages["images"], WIDE, "light")
    strips = browser.execute_script(
        "return [...document.querySelectorAll('#section-walks .strip')].map(strip =>"
        " [...strip.querySelectorAll('img')].filter(image => image.naturalWidth > 0).length)"
    )
    assert strips == [9, 9]
    lit = browser.execute_script(
        VIEWS + "const places = [...document.querySelectorAll('#section-walks [data-row]')];"
        "return places.map(place => { place.dispatchEvent(new PointerEvent('pointerenter'));"
        " const own = all.data.rows[all.hovered]; return own === +place.dataset.row; })"
    )
    assert len(lit) == 18 and all(lit)  # every image of a walk is a dot on the maps


@pytest.fixture(scope="module")
def demo_pages(tmp_path_factory):
    """The demo on fewer images: its pages are those of the whole."""
    from geodis.commands import demo
    from geodis.commands.options import CommonOptions

    out = tmp_path_factory.mktemp("demo")
    fewer = pytest.MonkeyPatch()
    for name, count in (("IMAGES", 1500), ("KNOWN", 800), ("REFUSED", 600)):
        fewer.setattr(demo, name, count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        demo.demo_command(demo.DemoOptions(out), CommonOptions(quiet=True))
    fewer.undo()
    return {name: out / name / "index.html" for name in ("images", "pixels")}


@pytest.mark.parametrize("page", ["images", "pixels"])
@pytest.mark.parametrize(("width", "theme"), [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light")])
def test_the_pages_of_the_demo(browser, demo_pages, folder, page, width, theme):
    show(browser, demo_pages[page], width, theme)
    names = browser.execute_script(
        "return [...document.querySelectorAll('.chart')].map(box => box.id)"
    )
    assert all(pixels_drawn(browser, name) for name in names)
    assert browser.execute_script(DEFECTS) == [] and browser.get_log("browser") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in asked
            if one["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert [url for url in urls[1:] if not url.startswith(("data:", "blob:"))] == []
    dead = browser.execute_script(
        "return [...document.querySelectorAll('a[href^=\"#\"]')]"
        ".filter(link => !document.querySelector(link.getAttribute('href'))).length"
    )
    beside = browser.execute_script(
        "return [...document.querySelectorAll('main a, header a')].map(a => a.getAttribute('href'))"
    )
    here = demo_pages[page].parent
    assert dead == 0
    assert all((here / link).exists() for link in beside if not link.startswith(("#", "http")))
    assert len(browser.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 20_000
    browser.save_screenshot(f"{folder}/demo-{page}-{theme}-{width}.png")


def test_the_object_turns_and_the_lamp_stays(browser, demo_pages):
    show(browser, demo_pages["images"], WIDE, "light")
    said = browser.execute_script("return document.querySelector('.summary').innerText")
    assert "vary in 2 independent factors" in said and "sphere" in said and "circle" in said
    strips = browser.execute_script(
        "return [...document.querySelectorAll('#section-walks .strip')]"
        ".map(strip => strip.querySelectorAll('img').length)"
    )
    assert strips == [9, 9]
    counts = VIEWS + "return all.views.map(own => +own.canvas.dataset.images)"
    assert min(browser.execute_script(counts)) >= 8
