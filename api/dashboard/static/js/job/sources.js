// The sources of a job with several: which of them event time waits for, and which are idle.
import { html } from "../../vendor/preact.js";
import { millis, Time } from "../format.js";
import { Card } from "../ui/page.js";
import { Table } from "../ui/table.js";

/** @param {{sources: object[]}} properties */
export function Sources({ sources }) {
  if (!sources.length) return null;
  const last = furthestBehind(sources);
  const rows = sources.map((source) => ({ ...source, holds: source === last }));
  return html`<${Card} title="Sources" padded=${false}>
    <${Table} caption="Sources of this job" columns=${COLUMNS} rows=${rows} rowKey=${(source) => source.name} />
  <//>`;
}

/** The source that event time waits for, of those that are not idle; one that has given nothing comes first. */
function furthestBehind(sources) {
  const time = (source) => (source.newest_event_time === null ? -Infinity : millis(source.newest_event_time));
  const awaited = sources.filter((source) => !source.idle_since);
  return awaited.reduce((last, source) => (last && time(last) <= time(source) ? last : source), null);
}

const COLUMNS = [
  { key: "name", label: "Source", cell: (source) => html`<bdi>${source.name}</bdi>` },
  { key: "newest", label: "Newest event", cell: (source) => html`<${Time} at=${source.newest_event_time} none="none yet" />` },
  { key: "state", label: "Event time", cell: standing },
];

function standing(source) {
  if (source.idle_since) return html`<span>idle since <${Time} at=${source.idle_since} /></span>`;
  return source.holds ? "waits for this source" : "";
}
