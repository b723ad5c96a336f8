// One rule: what it is, what jobs do with it, what it finds, and what was done with it.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { RuleBacktests } from "../backtests/list.js";
import { plural } from "../format.js";
import { Link, navigate, path } from "../router.js";
import { can } from "../session.js";
import { Alarms } from "../rule/alarms.js";
import { RollBack, RuleActions } from "../rule/actions.js";
import { Changes } from "../rule/changes.js";
import { RuleCharts } from "../rule/charts.js";
import { DefinitionText, PatternCard } from "../rule/definition.js";
import { HealthCard, useHealth } from "../rule/health.js";
import { JobsTable, headState } from "../rule/jobs.js";
import { ParametersCard } from "../rule/parameters.js";
import { RecentMatches } from "../rule/recent.js";
import { UnreadRules } from "../rules/job_notice.js";
import { CanaryState } from "../rules/standing.js";
import { ProposalsAbout } from "../proposals/about.js";
import { RolloutCard } from "../rule/rollout.js";
import { PartialMatchesCard } from "../rule/partial_matches.js";
import { SnoozesCard, useSnoozes } from "../rule/snoozes.js";
import { Versions } from "../rule/versions.js";
import { WhyNoMatchCard } from "../rule/why_no_match.js";
import { TriageCard } from "../triage/counts.js";
import { Button } from "../ui/button.js";
import { Chip } from "../ui/chips.js";
import { Folded } from "../ui/folded.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { Tabs, currentTab } from "../ui/tabs.js";

export default function RulePage({ params }) {
  const { stream, id } = params;
  const rule = usePolled(path`/v1/processors/${id}`, {}, 5);
  const running = usePolled(path`/v1/streams/${stream}/processors/${id}/running`, {}, 3);
  const history = useVersions(id, Math.max(rule.data?.version ?? 0, rule.data?.rollout?.version ?? 0));
  const refresh = () => {
    rule.refresh();
    running.refresh();
    history.refresh();
  };
  // The editor stood here once; a rule may be called so, too, and then it is shown.
  const isOldAddress = id === "new" && rule.problem?.status === 404 && history.problem?.status === 404;
  useEffect(() => {
    if (isOldAddress) navigate(path`/streams/${stream}/new-rule`, {}, { replace: true });
  }, [isOldAddress]);
  if (rule.problem?.status === 404 && history.versions?.length) {
    return html`<${DeletedRule} id=${id} stream=${stream} versions=${history.versions} refresh=${refresh} />`;
  }
  if (rule.problem && !rule.data) {
    return html`<${Title} stream=${stream} title=${id} /><${ProblemBox} problem=${rule.problem} />`;
  }
  if (!rule.data || (!running.data && !running.problem)) {
    return html`<${Title} stream=${stream} title=${id} /><${Loading} what="the rule" />`;
  }
  const jobs = running.data ?? { stream, jobs: [], published: [] };
  return html`<${RuleView}
    rule=${rule.data}
    running=${jobs}
    problem=${running.problem ?? rule.problem}
    history=${history}
    refresh=${refresh}
  />`;
}

function RuleView({ rule, running, problem, history, refresh }) {
  const tabs = [
    { key: "now", label: "Now" },
    { key: "matches", label: "Matches" },
    { key: "versions", label: "Versions", count: rule.version },
    { key: "backtests", label: "Backtests" },
    { key: "definition", label: "Definition" },
    { key: "activity", label: "Activity" },
  ];
  const tab = currentTab(tabs);
  const snoozed = useSnoozes(rule);
  const isQuarantined = running.jobs.some(({ versions }) => versions.some(({ state }) => state === "quarantined"));
  const health = useHealth(tab === "activity" || isQuarantined ? rule.id : null);
  const head = headState(rule, running, snoozed.allUntil);
  const versions = history.versions ?? [];
  return html`
    <${Title}
      stream=${rule.stream}
      title=${rule.id}
      beside=${html`<span aria-live="polite"><${State} of=${head.of} name=${head.name}>${head.text}<//></span>
        <${CanaryState} version=${rule.rollout?.share_percent > 0 && rule.rollout.version} />
        ${rule.severity && html`<${State} of="severity" name=${rule.severity} />`}`}
      actions=${html`<${RuleActions} rule=${rule} versions=${versions} refresh=${refresh} />`}
    >
      ${rule.description && html`<${Folded} className="rule-description" text=${rule.description} />`}
      <p class="row secondary">
        ${rule.owner && html`<span class="wrap-anywhere">owned by <strong><bdi>${rule.owner}</bdi></strong></span>`}
        <span>version ${rule.version}</span>
        ${rule.tags.map(
          (tag) => html`<${Link} key=${tag} href=${path`/streams/${rule.stream}/rules`} query=${{ tag }}>
            <${Chip}>${tag}<//>
          <//>`,
        )}
      </p>
    <//>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${ProposalsAbout} about=${{ processor: rule.id }} />
    <${UnreadRules} stream=${rule.stream} />
    <${Alarms} rule=${rule} running=${running} health=${health} />
    <${Tabs} tabs=${tabs} label="Parts of the rule" />
    ${tab === "now" && html`<${Now} rule=${rule} running=${running} snoozed=${snoozed} refresh=${refresh} />`}
    ${tab === "matches" &&
    html`<${Card} title="Newest matches" padded=${false}><${RecentMatches} rule=${rule} most=${20} /><//>
      ${can("author") && html`<${WhyNoMatchCard} rule=${rule} />`}`}
    ${tab === "versions" &&
    html`<${Versions} rule=${rule} versions=${versions} running=${running} refresh=${refresh} more=${history.more} />`}
    ${tab === "backtests" && html`<${RuleBacktests} rule=${rule} />`}
    ${tab === "definition" && html`<${DefinitionText} document=${rule.document} />`}
    ${tab === "activity" && html`<${HealthCard} rule=${rule} health=${health} /><${Changes} id=${rule.id} />`}
  `;
}

function Now({ rule, running, snoozed, refresh }) {
  return html`<div class="stack">
    <${SnoozesCard} rule=${rule} snoozed=${snoozed} />
    ${rule.rollout && html`<${RolloutCard} rule=${rule} refresh=${refresh} />`}
    ${running.jobs.length > 0 &&
    html`<${Card} title=${running.jobs.length > 1 ? `In ${plural(running.jobs.length, "job")}` : "In the job"} padded=${false}>
      <${JobsTable} running=${running} snoozedUntil=${snoozed.allUntil} />
    <//>`}
    <${ParametersCard} rule=${rule} refresh=${refresh} />
    <${PatternCard} rule=${rule} running=${running} />
    <${PartialMatchesCard} rule=${rule} />
    <${TriageCard} rule=${rule} />
    <${Card} title="Newest matches" padded=${false}><${RecentMatches} rule=${rule} most=${4} /><//>
    <${RuleCharts} id=${rule.id} running=${running} />
  </div>`;
}

function Title({ stream, title, beside, actions, children }) {
  return html`<${PageHeader}
    title=${title}
    above=${html`<${Link} href=${path`/streams/${stream}/rules`}>Rules of ${stream}<//>`}
    beside=${beside}
    actions=${actions}
  >
    ${children}
  <//>`;
}

function DeletedRule({ id, stream, versions, refresh }) {
  const [open, setOpen] = useState(false);
  const rule = { id, stream, version: versions[0].version, state: "deleted" };
  return html`
    <${Title}
      stream=${stream}
      title=${id}
      beside=${html`<${State} of="rule" name="deleted" />`}
      actions=${can("publisher") && html`<${Button} onClick=${() => setOpen(true)}>Restore…<//>`}
    >
      <p class="secondary">This rule was deleted and no longer runs. Its versions are kept.</p>
    <//>
    <${ProposalsAbout} about=${{ processor: id }} />
    <${Versions} rule=${{ ...rule, published: [] }} versions=${versions} running=${{ jobs: [] }} refresh=${refresh} />
    <${Changes} id=${id} />
    ${open && html`<${RollBack} rule=${rule} versions=${versions} refresh=${refresh} onClose=${() => setOpen(false)} />`}
  `;
}

function useVersions(id, newest) {
  const [limit, setLimit] = useState(50);
  const { data, problem, refresh } = usePolled(path`/v1/processors/${id}/versions`, { limit }, 0);
  useEffect(() => {
    if (data && newest && data.items[0]?.version !== newest) refresh();
  }, [newest]);
  const more = data?.next_cursor &&
    limit < 500 &&
    html`<p class="version-more"><${Button} small onClick=${() => setLimit(500)}>Older versions<//></p>`;
  return { versions: data?.items, problem, refresh, more };
}
