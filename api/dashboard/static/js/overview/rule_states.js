// The rules: how many of each stream are in which state, and those that find most in the chosen stream.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { count, plural } from "../format.js";
import { Link, path } from "../router.js";
import { columns } from "../rules/columns.js";
import { ButtonLink } from "../ui/button.js";
import { can } from "../session.js";
import { stateColour, stateWord } from "../ui/states.js";
import { Table } from "../ui/table.js";

const WIDTH = 100;
const MOST_RULES = 8;
const SECONDS = 5;
const SHOWN = ["rule", "standing", "version", "matches", "last", "errors"];

/** @param {{streams: object[], chosen: string}} properties streams as /v1/overview gives them; the name of one */
export function RuleStates({ streams, chosen }) {
  return html`<section class="card rules" aria-labelledby="rules">
    <header><h2 id="rules">${streams.length > 1 ? "Rules" : html`<${Link} href=${path`/streams/${chosen}/rules`}>Rules<//>`}</h2></header>
    ${(streams.length > 1 || !total(streams[0])) &&
    html`<ul class="rule-states body">
      ${streams.map((stream) => html`<${StreamRules} key=${stream.name} stream=${stream} />`)}
    </ul>`}
    <${Busiest} key=${chosen} stream=${chosen} />
  </section>`;
}

function Busiest({ stream }) {
  const rules = path`/streams/${stream}/rules`;
  const { data } = usePolled(`/v1${rules}`, { sort: "-matches_last_hour", limit: MOST_RULES }, SECONDS);
  if (!data?.items.length) return null;
  const shown = columns(stream, () => {}).filter(({ key }) => SHOWN.includes(key));
  const more = data.total - data.items.length;
  return html`<${Table}
      className="rules-table busiest"
      caption=${`Rules of ${stream} with the most matches in the last hour`}
      columns=${shown}
      rows=${data.items}
      rowKey=${(line) => line.id}
    />
    ${more > 0 && html`<p class="pager"><${Link} href=${rules}>${plural(more, "more rule", "more rules")} of ${stream}<//></p>`}`;
}

function StreamRules({ stream }) {
  const paused = stream.rules.paused ?? 0;
  const published = total(stream) - paused;
  const words = [published && `${count(published)} ${stateWord("rule", "published")}`, paused && `${count(paused)} ${stateWord("rule", "paused")}`].filter(Boolean).join(" · ");
  return html`<li>
    <span class="stream-name"><${Link} href=${path`/streams/${stream.name}/rules`}>${stream.name}<//></span>
    ${words
      ? html`<${Bar} published=${published} paused=${paused} label=${words} /><span class="secondary number">${words}</span>`
      : html`<span class="secondary">no rules yet</span>
          ${can("author") && html`<${ButtonLink} small icon="plus" href=${path`/streams/${stream.name}/new-rule`}>New rule<//>`}`}
    <span class="muted number" title=${`${plural(stream.epoch, "change")} to what runs so far`}>epoch ${count(stream.epoch)}</span>
  </li>`;
}

function Bar({ published, paused, label }) {
  const share = (WIDTH * published) / (published + paused);
  return html`<svg class="state-bar" viewBox=${`0 0 ${WIDTH} 8`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <rect class=${stateColour("rule", "published")} x="0" y="0" width=${share} height="8" />
    <rect class=${stateColour("rule", "paused")} x=${share} y="0" width=${WIDTH - share} height="8" />
  </svg>`;
}

function total(stream) {
  return Object.values(stream.rules).reduce((sum, each) => sum + each, 0);
}
