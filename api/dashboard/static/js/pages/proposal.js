// One proposal: what would change, what the check says, who has approved it, what is said about it.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, plural } from "../format.js";
import { BacktestCard } from "../proposals/backtest.js";
import { ChangesCard, CheckCard } from "../proposals/changes.js";
import { ProposalActions, editPath } from "../proposals/decide.js";
import { Discussion } from "../proposals/discussion.js";
import { OutdatedCard, isOutdated } from "../proposals/outdated.js";
import { ListChangesCard } from "../proposals/list_changes.js";
import { ProposalState, kindBeforeName, nameOf, pageOf } from "../proposals/words.js";
import { Link, path } from "../router.js";
import { Folded } from "../ui/folded.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";

const SECONDS = 5;

export default function ProposalPage({ params }) {
  const { data, problem, refresh } = usePolled(path`/v1/proposals/${params.number}`, {}, SECONDS);
  if (!data) {
    return html`<${Title} title=${`Proposal ${params.number}`} />
      ${problem ? html`<${ProblemBox} problem=${problem} />` : html`<${Loading} what="the proposal" />`}`;
  }
  return html`
    <${Title}
      title=${`Proposal ${data.id}`}
      beside=${html`<span aria-live="polite"><${ProposalState} proposal=${data} /></span>`}
      actions=${html`<${ProposalActions} proposal=${data} refresh=${refresh} />`}
    >
      <p class="proposal-what">${capital(kindBeforeName(data))} <${Link} class="wrap-anywhere" href=${pageOf(data)}>${nameOf(data)}<//> on ${data.stream}</p>
      ${data.comment && html`<${Folded} className="proposal-comment" text=${data.comment} />`}
      <p class="secondary">
        by <strong><bdi>${data.author}</bdi></strong>, <${Time} at=${data.created_at} ago />${data.revision > 1 &&
        data.state === "open" &&
        html`, edited <${Time} at=${data.edited_at} ago />`}
      </p>
    <//>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Notice} proposal=${data} />
    <div class="proposal">
      <div class="stack">
        ${isOutdated(data) && html`<${OutdatedCard} proposal=${data} editPath=${editPath(data)} />`}
        ${data.values ? html`<${ListChangesCard} key=${data.revision} proposal=${data} />` : html`<${ChangesCard} proposal=${data} />`}
        ${data.document && html`<${CheckCard} proposal=${data} />`}
        ${data.document && html`<${BacktestCard} proposal=${data} />`}
      </div>
      <div class="stack">
        <${Approvals} proposal=${data} />
        <${Discussion} proposal=${data} />
      </div>
    </div>
  `;
}

function Title({ title, beside, actions, children }) {
  const above = html`<${Link} href="/proposals">Proposals<//>`;
  return html`<${PageHeader} title=${title} above=${above} beside=${beside} actions=${actions}>${children}<//>`;
}

function Notice({ proposal }) {
  if (proposal.state === "rejected") {
    return html`<div class="alarms"><section class="alarm bad">
      <p><strong>Rejected by <bdi>${proposal.closed_by}</bdi></strong>, <${Time} at=${proposal.closed_at} ago />:</p>
      <${Folded} className="proposal-comment" text=${proposal.reason} />
    </section></div>`;
  }
  if (!proposal.is_stale) return null;
  const what = proposal.list_name ? "list" : "rule";
  return html`<div class="alarms"><section class="alarm warn">
    <p>
      <strong>The ${what} has changed since.</strong> This proposal can no longer be approved or published as it is.
      ${proposal.is_mine ? ` Renew it to base it on the current ${what}.` : html` <bdi>${proposal.author}</bdi> can renew it.`}
    </p>
  </section></div>`;
}

function Approvals({ proposal }) {
  const { approvals, required_approvals: required, state } = proposal;
  const left = Math.max(required - approvals.length, 0);
  return html`<${Card} title="Approvals">
    <div class="stack">
      ${state === "published" &&
      html`<p class="in-text">Published by <strong><bdi>${proposal.closed_by}</bdi></strong>, <${Time} at=${proposal.closed_at} ago />${proposal.published_version &&
      ` as version ${proposal.published_version}`}. The <${Link} href="/activity" query=${proposal.list_name ? { stream: proposal.stream } : { processor: proposal.processor_id }}>activity log<//> shows who approved it.</p>`}
      ${state === "withdrawn" && html`<p>Withdrawn <${Time} at=${proposal.closed_at} ago />.</p>`}
      ${approvals.length > 0 &&
      html`<ul class="approvals" aria-label="Approved by">
        ${approvals.map((each) => html`<li key=${each.person}><strong><bdi>${each.person}</bdi></strong> <span class="secondary"><${Time} at=${each.at} ago /></span></li>`)}
      </ul>`}
      ${state === "open" && html`<p class="secondary">${needed(required, approvals.length, left)}</p>`}
    </div>
  <//>`;
}

function needed(required, given, left) {
  if (!required) return "The stream requires no approval; a publisher can publish it.";
  if (left) {
    const more = given ? "more " : "";
    const who = left > 1 ? "people other than its author" : "someone other than its author";
    return `${given ? "" : "No one has approved it yet. "}It needs ${plural(left, `${more}approval`)} by ${who}.`;
  }
  return "It has all required approvals.";
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
