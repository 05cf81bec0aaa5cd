"""The findings of axe-core in a page, in the colours that a visitor may prefer.

`axe.min.js` is axe-core 4.14.1 by Deque Systems, under the Mozilla Public License 2.0, as published on npm.
Only tests use it: no page and no wheel contains it.
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
    """The findings of axe-core, including those it leaves to people, as rule, element and reason.

    In a narrow window, texts that are partly scrolled out of their frame or lie under a sheet are excluded
    from the contrast check: axe-core cannot determine it, and in a wide window such texts are in view.
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
    """The violations that axe-core finds with these options, as rule, element and reason."""
    page.run(AXE)
    script = """const [options, done] = arguments;
        const told = ({id, nodes}) => nodes.map((node) => [id, node.html, node.failureSummary]);
        axe.run({...options, resultTypes: ['violations']}).then(
          ({violations}) => done(violations.flatMap(told)), (error) => done(String(error)));"""
    return page.browser.execute_async_script(script, options)
