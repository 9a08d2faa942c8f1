// What the theme leaves out for keyboards and readers of screens.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
function focusable() {
  for (const code of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    const scrolls = code.scrollWidth > code.clientWidth;
    if (scrolls) code.tabIndex = 0;
    else code.removeAttribute("tabindex");
  }
}
focusable();
addEventListener("load", focusable);
addEventListener("resize", focusable);
