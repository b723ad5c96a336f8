// Light or dark: as the system has it, or as chosen here.
import { signal } from "../vendor/preact.js";

const KEY = "percept.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** "light" or "dark", whichever is shown now. */
export const theme = signal("light");

/** Takes over what was chosen before; follows the system otherwise. */
export function startTheme() {
  show(localStorage.getItem(KEY));
  system.addEventListener("change", () => show(localStorage.getItem(KEY)));
}

/** Switches between light and dark, for good. */
export function toggleTheme() {
  const chosen = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, chosen);
  show(chosen);
}

/** Returns a colour of the style sheet, such as `--series-1`, as the canvas understands it. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function show(chosen) {
  const isChosen = chosen === "light" || chosen === "dark";
  if (isChosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  theme.value = isChosen ? chosen : system.matches ? "dark" : "light";
}
