// Every state that a page shows, in one table: its colour, its shape and its word, by what it is a state of.
//
// What stands more than once, such as "paused", looks the same of everything.

const ACTIVE = ["good", "disc", "active"];
const PENDING = ["info", "ring", "pending"];
const SHADOW = ["info", "half", "shadow"];
const SCHEDULED = ["info", "ring", "scheduled"];
const PUBLISHED = ["good", "disc", "published"];
const PAUSED = ["quiet", "bars", "paused"];
const RUNNING = ["good", "disc", "running"];
const FAILED = ["bad", "cross", "failed"];

/** By kind and by the name that the service gives: [colour, shape, word]. */
export const STATES = {
  // a rule in a job; it is absent where no job has it, throttled and snoozed while nothing is sent of it
  running: {
    active: ACTIVE,
    pending: PENDING,
    shadow: SHADOW,
    canary: ["good", "half", "canary"],
    draining: ["wane", "half", "draining"],
    paused: PAUSED,
    quarantined: ["bad", "cross", "quarantined"],
    superseded: ["quiet", "dash", "superseded"],
    throttled: ["warn", "bars", "throttled"],
    snoozed: ["wane", "bars", "snoozed"],
    absent: ["quiet", "dash", "in no job"],
  },
  // a rule, or one of its versions, in the store
  rule: {
    published: PUBLISHED,
    scheduled: SCHEDULED,
    shadow: SHADOW,
    canary: ["good", "half", "canary"],
    paused: PAUSED,
    deleted: ["quiet", "cross", "deleted"],
  },
  severity: {
    info: ["info", "ring", "info"],
    low: ["quiet", "disc", "low"],
    medium: ["info", "disc", "medium"],
    high: ["warn", "triangle", "high"],
    critical: ["bad", "triangle", "critical"],
  },
  job: {
    starting: ["info", "ring", "starting"],
    running: RUNNING,
    stale: ["warn", "triangle", "silent"],
    stopped: ["quiet", "square", "stopped"],
  },
  match: {
    match: ["good", "disc", "match"],
    timeout: ["warn", "ring", "timeout"],
    shadow: SHADOW,
    suppressed: ["quiet", "bars", "suppressed"],
    grouped: ["quiet", "half", "grouped"],
  },
  triage: {
    open: ["info", "ring", "open"],
    acknowledged: ["wane", "half", "acknowledged"],
    false_positive: ["warn", "cross", "false positive"],
    resolved: ["quiet", "disc", "resolved"],
  },
  // a partial match of a try-out
  near_miss: {
    timed_out: ["warn", "ring", "timed out"],
    forbidden: ["bad", "cross", "forbidden"],
    broken: ["bad", "cross", "broken"],
    skipped: ["quiet", "dash", "skipped"],
    open: ["info", "ring", "open"],
  },
  proposal: {
    open: ["info", "ring", "open"],
    published: PUBLISHED,
    rejected: ["bad", "cross", "rejected"],
    withdrawn: ["quiet", "dash", "withdrawn"],
    outdated: ["warn", "triangle", "outdated"],
  },
  backtest: {
    queued: ["info", "ring", "queued"],
    running: RUNNING,
    done: ["quiet", "disc", "done"],
    failed: FAILED,
    cancelled: ["quiet", "cross", "cancelled"],
  },
  list: {
    scheduled: SCHEDULED,
    current: ["good", "disc", "in effect"],
  },
  webhook: {
    enabled: ["good", "disc", "enabled"],
    disabled: ["quiet", "bars", "disabled"],
  },
  message: {
    pending: PENDING,
    delivered: ["good", "disc", "delivered"],
    failed: FAILED,
  },
  // a link of the chain from events to matches
  link: {
    ok: ["good", "disc", "ok"],
    attention: ["warn", "triangle", "check this"],
    unknown: ["quiet", "dash", "unknown"],
  },
  // what is found wrong in a draft
  draft: {
    valid: ["good", "disc", "valid"],
    error: ["bad", "cross", "error"],
    warning: ["warn", "triangle", "warning"],
  },
  // anything that needs attention, which says itself what it is
  urgency: {
    bad: ["bad", "cross", "wrong"],
    warn: ["warn", "triangle", "late"],
    info: ["info", "ring", "planned"],
  },
  // the list of matches, which follows what is found
  tail: {
    live: ["good", "disc", "live"],
    reading: ["info", "ring", "every few seconds"],
    lost: ["warn", "triangle", "not connected"],
    silent: ["warn", "triangle", "job silent"],
    jobless: ["quiet", "dash", "no job running"],
    held: PAUSED,
    ended: ["quiet", "square", "fixed range"],
  },
};

// A service that is newer than a page that is open may have more.
function entryOf(kind, name) {
  return STATES[kind][name] ?? ["quiet", "dash", name.replaceAll("_", " ")];
}

/** The word for a state. @param {string} kind @param {string} name */
export function stateWord(kind, name) {
  return entryOf(kind, name)[2];
}

/** Its colour: "good", "info", "warn", "bad", "wane" or "quiet". */
export function stateColour(kind, name) {
  return entryOf(kind, name)[0];
}

/** The name of the shape that stands before its word. */
export function stateShape(kind, name) {
  return entryOf(kind, name)[1];
}

/** The states of a kind as choices: [name, word] of each. */
export function stateChoices(kind) {
  return Object.entries(STATES[kind]).map(([name, [, , word]]) => [name, word]);
}
