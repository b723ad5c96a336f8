// States as a shape, a colour and a word, so that no one of them is needed alone.
import { html } from "../../vendor/preact.js";

const SHAPES = {
  disc: html`<circle cx="5" cy="5" r="4.5" fill="currentColor" />`,
  ring: html`<circle cx="5" cy="5" r="3.8" fill="none" stroke="currentColor" stroke-width="1.8" />`,
  half: html`<circle cx="5" cy="5" r="3.8" fill="none" stroke="currentColor" stroke-width="1.8" /><path
      d="M5 .5a4.5 4.5 0 010 9z"
      fill="currentColor"
    />`,
  bars: html`<path d="M2.6 1v8M7.4 1v8" stroke="currentColor" stroke-width="2.4" />`,
  cross: html`<path d="M1.2 1.2l7.6 7.6M8.8 1.2L1.2 8.8" stroke="currentColor" stroke-width="2.2" />`,
  dash: html`<path d="M1 5h8" stroke="currentColor" stroke-width="2.2" />`,
  triangle: html`<path d="M5 .5l4.8 8.8H.2z" fill="currentColor" />`,
  square: html`<path d="M1 1h8v8H1z" fill="currentColor" />`,
};

const KINDS = {
  // of a processor in a running job
  active: ["good", "disc"],
  pending: ["info", "ring"],
  shadow: ["info", "half"],
  canary: ["good", "half"],
  draining: ["wane", "half"],
  paused: ["quiet", "bars"],
  quarantined: ["bad", "cross"],
  throttled: ["warn", "bars"],
  snoozed: ["wane", "bars"],
  superseded: ["quiet", "dash"],
  // of a processor in the store
  published: ["good", "disc"],
  scheduled: ["info", "ring"],
  deleted: ["quiet", "cross"],
  // of a job
  running: ["good", "disc"],
  starting: ["info", "ring"],
  stale: ["warn", "triangle"],
  stopped: ["quiet", "square"],
  // of a match
  match: ["good", "disc"],
  timeout: ["warn", "ring"],
  suppressed: ["quiet", "bars"],
  grouped: ["quiet", "half"],
  // of the triage of a match
  open: ["info", "ring"],
  acknowledged: ["wane", "half"],
  false_positive: ["warn", "cross"],
  resolved: ["quiet", "disc"],
  // of a rule
  low: ["quiet", "disc"],
  medium: ["info", "disc"],
  high: ["warn", "triangle"],
  critical: ["bad", "triangle"],
  // of a proposal
  proposed: ["info", "ring"],
  rejected: ["bad", "cross"],
  withdrawn: ["quiet", "dash"],
  // of a webhook and its messages
  enabled: ["good", "disc"],
  disabled: ["quiet", "bars"],
  delivered: ["good", "disc"],
  failed: ["bad", "cross"],
  // of anything that needs attention
  bad: ["bad", "cross"],
  warn: ["warn", "triangle"],
  info: ["info", "ring"],
};

// What the service calls otherwise than people do, in one place.
const WORDS = { stale: "silent" };

/** The word for a state. */
export function stateWord(name) {
  return WORDS[name] ?? name;
}

/**
 * A state as a badge. `name` chooses colour and shape ("active", "stale", …); unknown ones are quiet.
 * The word shown is the children, else that for the name.
 */
export function State({ name, children, title }) {
  const [kind, shape] = KINDS[name] ?? ["quiet", "dash"];
  return html`<span class=${`state ${kind}`} title=${title} data-state=${name}>
    <svg viewBox="0 0 10 10" aria-hidden="true">${SHAPES[shape]}</svg>${children ?? stateWord(name)}
  </span>`;
}
