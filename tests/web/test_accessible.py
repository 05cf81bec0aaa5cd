"""The page is accessible: in all colours, at all sizes, by keyboard, and without layout shifts."""

import pytest
from selenium.webdriver.common.keys import Keys

from tests.support.marks import slow, slow_unless
from tests.web.axe import MEDIA, violations
from tests.web.conftest import resize

STATES = {
    "first frame": "#positions?games=0",
    "middle": "#positions?seed=1&exploration=0.8&rate=0.5&games=1500",
    "unbeatable": "#positions?seed=1&exploration=0.8&rate=0.5&games=3950",
    "stuck": "#positions?exploration=0&games=99",
    "play": "#play",
    "values": "#play?x=person&o=minimax:prefer=fast&moves=0.4&see=1",
    "lost": "#play?x=person&o=minimax:prefer=fast&moves=0.4.1.2.5.6",
    "review": "#play?x=person&o=minimax:prefer=fast&moves=0.4.1.2.5.6&at=4",
    "fault": "#play?x=nobody",
    "tree": "#inside?moves=0.3.1.4.6.7&tx=0.2",
    "search": "#inside?view=mcts&done=60",
    "ladder": "#compare",
    "certificate": "#compare?agent=win-block",
}
QUICK = {"middle", "values", "lost", "tree"}


def wait_until_idle(page):
    """Wait until nothing is being computed or faded."""
    page.until(
        """return !document.querySelector('.waits') && !/Computing|thinking/.test(document.body.textContent)
             && document.getAnimations().every(({playState}) => playState === 'finished')"""
    )


def too_wide(page):
    """The elements that reach out of the window and lie in no region that scrolls by itself."""
    return page.run(
        """const scrolls = (each) => each && (/auto|scroll/.test(getComputedStyle(each).overflowX)
             || scrolls(each.parentElement));
           const root = document.documentElement;
           const shown = [...document.querySelectorAll('main *')].filter((each) => !each.closest('svg')
             && each.getBoundingClientRect().right > innerWidth + 1 && !scrolls(each));
           return [...shown.map((each) => each.outerHTML.slice(0, 80)),
             ...(root.scrollWidth > innerWidth ? ['the page'] : [])];"""
    )


def too_small(page):
    """The controls that are narrower or lower than 24 pixels and not part of a sentence or a table."""
    return page.run(
        """const controls = document.querySelectorAll('button, a, select, input, .cell[role=button]');
           const isSmall = ({width, height}) => width && (width < 24 || height < 24);
           return [...controls].filter((each) => !each.matches('p:not(.bar) a, .skip, th a')
             && isSmall(each.getBoundingClientRect())).map((each) => each.outerHTML.slice(0, 120));"""
    )


# The names of cells describe what is drawn in them, which an experimental rule takes for a mismatch.
RULES = {"target-size": {"enabled": True}, "label-content-name-mismatch": {"enabled": False}}


@pytest.mark.parametrize(
    ("state", "colours"),
    slow_unless(lambda state, colours: state in QUICK and colours in ("light", "dark"), STATES, MEDIA),
)
def test_axe_finds_no_violations(state, colours, site, chromium, open_page):
    page = open_page(site, STATES[state], 1440, MEDIA[colours])
    wait_until_idle(page)
    assert violations(page, rules=RULES) == []
    resize(chromium, 390, 844)
    assert violations(page, rules=RULES) == []


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_too_wide_or_too_small_in_any_window(state, site, chromium, open_page):
    page = open_page(site, STATES[state], 1440)
    wait_until_idle(page)
    for width in (320, 390, 720, 1440):  # 720 is 1440 at 200 %
        resize(chromium, width, 844)
        assert (width, too_wide(page), too_small(page)) == (width, [], [])


SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries()
  .filter(({hadRecentInput}) => !hadRecentInput).flatMap(({value, sources}) =>
  [[value, ...sources.map(({node, previousRect, currentRect}) =>
    [node?.parentElement?.outerHTML.slice(0, 90), previousRect.y, currentRect.y, currentRect.height])]])))
  .observe({type: 'layout-shift'});"""


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("address", ["#play?x=person&o=person", "#play?x=person&o=person&see=1"])
def test_no_layout_shift_during_play(address, width, site, open_page):
    page = open_page(site, address, width)
    wait_until_idle(page)
    page.run(SHIFTS)
    for stones, cell in enumerate((0, 4, 1, 2, 5, 6), 1):
        page.click_at(f".stage [data-cell='{cell}']", 0, 0)
        page.until(
            "return document.querySelectorAll('.stage .cell.x, .stage .cell.o').length === arguments[0]",
            stones,
        )
        wait_until_idle(page)
    # All changes are drawn by then.
    page.browser.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert page.run("return shifts") == []


@pytest.mark.parametrize("width", [390, slow(1440)])
def test_no_layout_shift_during_film(width, site, open_page):
    page = open_page(site, "#positions?seed=1&exploration=0.8&rate=0.5", width)
    page.run(SHIFTS + "document.querySelector('[aria-label=Speed]').value = '4';")
    page.until("return document.querySelector('.headline').className.includes('done')")
    assert page.run("return shifts") == []


@pytest.mark.parametrize("state", ["middle", "lost", "tree", "certificate"])
def test_every_control_is_reached_by_tab_key(state, site, open_page):
    page = open_page(site, STATES[state])
    wait_until_idle(page)
    n_controls = page.run(
        """const controls = 'a[href], button:enabled, select, input, [tabindex="0"]';
           const all = [...document.querySelectorAll(controls)];
           window.open = new Set(all.filter((each) => each.checkVisibility() && each.tabIndex >= 0));
           addEventListener('focusin', ({target}) => open.delete(target));
           document.activeElement.blur();
           return open.size;"""
    )
    assert n_controls > 10
    page.press(*[Keys.TAB] * (n_controls + 3))
    assert page.run("return [...open].map((each) => each.outerHTML.slice(0, 80))") == []
