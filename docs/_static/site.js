// What is wider than the page can be scrolled with the keyboard, and is no stop on the way where all of it is in view.
const frames = document.querySelectorAll("pre, .table-wrapper, .cell_output .output.text_html, div.math");

function markFrames() {
  for (const frame of frames) {
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }
}

addEventListener("resize", markFrames);
addEventListener("load", markFrames);
markFrames();
