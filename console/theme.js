// The theme, light or dark: the system's, unless the user chooses another. The choice is kept for the next visit.

import { button, el } from "./dom.js";

const KEPT = "lately.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

const chosen = () => localStorage.getItem(KEPT);

const current = () => chosen() ?? (dark.matches ? "dark" : "light");

export function themeToggle() {
  const toggle = button(
    "",
    () => {
      const next = current() === "dark" ? "light" : "dark";
      // A choice that equals the system's theme is not kept, so that the page follows the system again.
      if (next === (dark.matches ? "dark" : "light")) localStorage.removeItem(KEPT);
      else localStorage.setItem(KEPT, next);
      show();
    },
    { class: "quiet" },
  );
  const show = () => {
    document.documentElement.dataset.theme = current();
    toggle.replaceChildren(current() === "dark" ? "Light" : "Dark", el("span", { class: "word" }, " theme"));
  };
  dark.addEventListener("change", show);
  show();
  return toggle;
}
