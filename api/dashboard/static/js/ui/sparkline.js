// A line as small as a word, for the shape of a series; its numbers are told in words beside it.
import { html } from "../../vendor/preact.js";

const WIDTH = 84;
const HEIGHT = 22;

/** @param {{values: (number|null)[], label: string}} properties `label` says what it shows */
export function Sparkline({ values, label }) {
  const greatest = Math.max(...values.map((value) => value ?? 0), 0);
  if (!values.length || greatest === 0) {
    return html`<svg class="sparkline" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`${label}: none`}>
      <path d=${`M0 ${HEIGHT - 1}H${WIDTH}`} opacity="0.35" />
    </svg>`;
  }
  const line = path(values, greatest);
  return html`<svg
    class="sparkline"
    viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
    preserveAspectRatio="none"
    role="img"
    aria-label=${`${label}: at most ${greatest}, last ${values.at(-1) ?? "unknown"}`}
  >
    <path class="area" d=${`${line}V${HEIGHT}H0Z`} />
    <path d=${line} />
  </svg>`;
}

function path(values, greatest) {
  const step = WIDTH / Math.max(values.length - 1, 1);
  const points = values.map((value, index) => {
    const y = HEIGHT - 1 - ((value ?? 0) / greatest) * (HEIGHT - 2);
    return `${(index * step).toFixed(1)} ${y.toFixed(1)}`;
  });
  if (points.length === 1) points.push(`${WIDTH} ${points[0].split(" ")[1]}`);
  return `M${points.join("L")}`;
}
