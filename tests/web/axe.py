"""The findings of axe-core in a page, in the colours that a visitor may have asked for.

`axe.min.js` is axe-core 4.14.1 by Deque Systems, under the Mozilla Public License 2.0, as npm has it. No page
and no wheel holds it: the tests alone use it.
"""

from pathlib import Path

AXE = Path(__file__).with_name("axe.min.js").read_text(encoding="utf-8")
MEDIA = {
    "light": {"prefers-color-scheme": "light"},
    "dark": {"prefers-color-scheme": "dark"},
    "forced light": {"forced-colors": "active", "prefers-color-scheme": "light"},
    "forced dark": {"forced-colors": "active", "prefers-color-scheme": "dark"},
}


def emulate(browser, media):
    features = [{"name": name, "value": value} for name, value in media.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def findings(page):
    """The findings of axe-core, and its open questions for people, by rule, with the element and the reason.

    On a phone the contrast of a text that is partly scrolled out of its frame, or lies under a sheet, is left
    out: axe-core cannot tell it, and in a wide window such texts are in view.
    """
    page.run(AXE)
    script = """const done = arguments[0];
        const isOut = (each) => each && (getComputedStyle(each).overflowX !== 'visible'
          && each.scrollWidth > each.clientWidth || isOut(each.parentElement));
        const sheet = document.getElementById('match');
        const isPartly = (each) => isOut(each) || (sheet && !sheet.contains(each));
        const isCut = ({target, any}) => innerWidth < 400 && any.some(({data}) => !data?.bgColor)
          && isPartly(document.querySelector(target[0]));
        const told = ({id, nodes}) => nodes.map((node) => [id, node.html, node.failureSummary]);
        const open = ({nodes, ...rule}) => told({...rule, nodes: nodes.filter((node) => !isCut(node))});
        axe.run({rules: {'target-size': {enabled: true}}}).then(
          ({violations, incomplete}) => done([...violations.flatMap(told), ...incomplete.flatMap(open)]),
          (error) => done(String(error)));"""
    return page.browser.execute_async_script(script)


def violations(page, **options):
    """The findings of axe-core with these options of its own, by rule, with the element and the reason."""
    page.run(AXE)
    script = """const [options, done] = arguments;
        const told = ({id, nodes}) => nodes.map((node) => [id, node.html, node.failureSummary]);
        axe.run({...options, resultTypes: ['violations']}).then(
          ({violations}) => done(violations.flatMap(told)), (error) => done(String(error)));"""
    return page.browser.execute_async_script(script, options)
