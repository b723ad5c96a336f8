// When a rule was changed, for its charts: from the log.
import { useMemo } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { localTime, millis } from "../format.js";

const MOST = 100; // changes of a rule that are looked at
const EVERY_SECONDS = 15;
const PUBLISHED = { kind: "published", verb: "Published" };
const KINDS = {
  "processor.create": PUBLISHED,
  "processor.publish": PUBLISHED,
  "rollout.promote": PUBLISHED,
  "processor.rollback": { kind: "rolled back", verb: "Rolled back", icon: "undo" },
  "processor.pause": { kind: "paused", verb: "Paused", icon: "pause" },
  "processor.resume": { kind: "resumed", verb: "Resumed", icon: "play" },
};

/**
 * The publishes, rollbacks, pauses and resumes of a rule, newest first.
 * @param {string} id
 * @returns {import("../ui/chart_marks.js").Mark[]}
 */
export function useRuleMarks(id) {
  const { data } = usePolled("/v1/changes", { processor: id, limit: MOST }, EVERY_SECONDS);
  return useMemo(() => (data?.items ?? []).filter((change) => change.action in KINDS).map(markOf), [data]);
}

function markOf(change) {
  const { kind, verb, icon } = KINDS[change.action];
  const { old_version: old, new_version: recent, actor, at, comment } = change;
  const version = recent ?? old;
  const what = kind === "rolled back" && old ? `version ${old} → ${recent}` : version ? `version ${version}` : "";
  const words = [verb, what].filter(Boolean).join(" ");
  const text = `${words} by ${actor}, ${localTime(at)}${comment ? `: ${comment}` : ""}`;
  return { at: millis(at), kind, icon, flag: `v${version ?? ""}`, text };
}
