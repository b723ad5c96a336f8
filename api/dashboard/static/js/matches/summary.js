// Above the list of matches: how many there are, when they ended, the rules and keys with the most, and files of them.
import { html } from "../../vendor/preact.js";
import { usePolled, withQuery } from "../api.js";
import { count, plural } from "../format.js";
import { path, setQuery } from "../router.js";
import { Menu } from "../ui/menu.js";
import { Histogram } from "./histogram.js";

const SECONDS = 10;
const SHOWN = 5;
const FILES = [
  ["csv", "CSV"],
  ["jsonl", "JSON (one object per line)"],
];

/** @param {{stream: string, wanted: object}} properties wanted: the filters in force */
export function MatchesSummary({ stream, wanted }) {
  const source = path`/v1/streams/${stream}/matches`;
  const { data } = usePolled(`${source}/summary`, wanted, SECONDS);
  if (!data?.total) return null;
  const brush = (fromMs, untilMs) => setQuery({ since: new Date(fromMs).toISOString(), until: new Date(untilMs).toISOString(), last: null });
  return html`<section class="match-summary" aria-label="Summary of the matches">
    <div class="match-summary-time">
      <p class="row">
        <strong class="number">${plural(data.total, "match", "matches")}</strong>${data.is_partial && " among the newest; older ones are not counted"}
        <${Menu} label="Download" icon="download">
          ${FILES.map(
            ([format, words]) => html`<a key=${format} href=${withQuery(`${source}/export`, { ...wanted, format })} download>${words}</a>`,
          )}
        <//>
      </p>
      <${Histogram} summary=${data} onBrush=${brush} />
    </div>
    <${Most} title="Top rules" found=${data.processors} onChoose=${(processor) => setQuery({ processor, version: null })} />
    <${Most} title="Top keys" found=${data.keys} none="global key" onChoose=${(key) => setQuery({ key, key_prefix: null })} />
  </section>`;
}

function Most({ title, found, none = "", onChoose }) {
  const most = found[0]?.count ?? 1;
  return html`<div class="most">
    <h2>${title}</h2>
    <ul>
      ${found.slice(0, SHOWN).map(
        ({ value, count: number }) => html`<li key=${value}>
          <button type="button" title=${value} disabled=${!value} onClick=${() => onChoose(value)}>
            <bdi>${value || none}</bdi><span class="number">${count(number)}</span>
          </button>
          <meter min="0" max=${most} value=${number} aria-hidden="true"></meter>
        </li>`,
      )}
    </ul>
  </div>`;
}
