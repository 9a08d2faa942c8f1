// Light, dark, or as the system has it. Loaded before the page is drawn, so that nothing flashes.
"use strict";

{
  const THEMES = ["system", "light", "dark"];
  const NAMES = { system: "as the system", light: "light", dark: "dark" };

  const stored = () => {
    try {
      return localStorage.getItem("antiphon-theme") ?? "system";
    } catch {
      return "system"; // storage may be forbidden
    }
  };

  /** @param {string} theme */
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (!button) return;
    button.setAttribute("aria-label", "Theme: " + NAMES[/** @type {keyof typeof NAMES} */ (theme)]);
    button.title = "Theme: " + NAMES[/** @type {keyof typeof NAMES} */ (theme)];
    button.querySelector("use")?.setAttribute("href", "#" + theme);
  };

  let theme = THEMES.includes(stored()) ? stored() : "system";
  apply(theme);
  document.addEventListener("DOMContentLoaded", () => {
    apply(theme);
    document.getElementById("theme")?.addEventListener("click", () => {
      theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      apply(theme);
      try {
        localStorage.setItem("antiphon-theme", theme);
      } catch {
        // it lasts as long as the page, then
      }
    });
  });
}
