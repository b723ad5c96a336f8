// One list: its values, its versions, the rules that name it, and what can be done with it.
import { html, useState } from "../../vendor/preact.js";
import { usePolled, withQuery } from "../api.js";
import { Time, plural } from "../format.js";
import { CancelVersion, Delete, Describe } from "../lists/actions.js";
import { ApprovalsOfLists } from "../lists/approvals.js";
import { EditValues } from "../lists/edit_values.js";
import { inEffect, mayChange, scheduled, sourceOf } from "../lists/model.js";
import { Upload } from "../lists/upload.js";
import { Values } from "../lists/values.js";
import { Versions } from "../lists/versions.js";
import { ProposalsAbout } from "../proposals/about.js";
import { Link, path } from "../router.js";
import { can } from "../session.js";
import { Button } from "../ui/button.js";
import { Empty } from "../ui/empty.js";
import { Folded } from "../ui/folded.js";
import { Icon } from "../ui/icon.js";
import { Menu } from "../ui/menu.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";
import { Tabs, currentTab } from "../ui/tabs.js";

const SECONDS = 5;

export default function ListPage({ params }) {
  const { stream, name } = params;
  const { data, problem, refresh } = usePolled(sourceOf({ stream, name }), {}, SECONDS);
  const above = html`<${Link} href=${path`/streams/${stream}/lists`}>Lists of ${stream}<//>`;
  if (!data) {
    return html`<${PageHeader} title=${name} above=${above} />${problem ? html`<${ProblemBox} problem=${problem} />` : html`<${Loading} what="the list" />`}`;
  }
  return html`<${ListView} list=${data} problem=${problem} refresh=${refresh} above=${above} />`;
}

function ListView({ list, problem, refresh, above }) {
  const [open, setOpen] = useState(null);
  const tabs = [
    { key: "values", label: "Values" },
    { key: "versions", label: "Versions", count: list.version },
    { key: "rules", label: "Rules", count: list.rule_count },
  ];
  const tab = currentTab(tabs);
  const { version, count } = inEffect(list);
  const shared = { list, refresh, onClose: () => setOpen(null) };
  return html`
    <${PageHeader} title=${list.name} above=${above} actions=${html`<${Actions} list=${list} version=${version} open=${setOpen} />`}>
      ${list.description && html`<${Folded} className="rule-description" text=${list.description} />`}
      <p class="row secondary">
        <code>${list.type}</code>
        <span class="number">${plural(count, "value")}</span>
        <span>version ${version}</span>
        <span>changed by <bdi>${list.updated_by}</bdi>, <${Time} at=${list.updated_at} ago /></span>
      </p>
    <//>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${ApprovalsOfLists} stream=${list.stream} />
    <${ProposalsAbout} about=${{ stream: list.stream, list: list.name }} />
    <${Scheduled} list=${list} open=${setOpen} />
    <${Tabs} tabs=${tabs} label="Parts of the list" />
    ${tab === "values" && html`<${Values} list=${list} refresh=${refresh} />`}
    ${tab === "versions" && html`<${Versions} list=${list} refresh=${refresh} />`}
    ${tab === "rules" && html`<${Rules} list=${list} />`}
    ${open === "upload" && html`<${Upload} ...${shared} />`}
    ${open === "edit" && html`<${EditValues} ...${shared} />`}
    ${open === "describe" && html`<${Describe} ...${shared} />`}
    ${open === "delete" && html`<${Delete} ...${shared} />`}
    ${open?.cancel && html`<${CancelVersion} ...${shared} version=${open.cancel} />`}
  `;
}

function Actions({ list, version, open }) {
  const file = withQuery(`${sourceOf(list)}/values`, { version, format: "csv" });
  return html`
    ${mayChange() &&
    html`<${Button} kind="primary" onClick=${() => open("upload")}>Upload…<//>
      <${Button} icon="edit" onClick=${() => open("edit")}>Add or remove…<//>`}
    <a class="button" href=${file} download><${Icon} name="download" />Download</a>
    ${can("author") &&
    html`<${Menu} label="More actions">
      <button type="button" onClick=${() => open("describe")}>Describe…</button>
      ${mayChange() && html`<hr /><button type="button" class="danger" onClick=${() => open("delete")}>Delete…</button>`}
    <//>`}
  `;
}

function Scheduled({ list, open }) {
  const waiting = scheduled(list);
  if (!waiting.length) return null;
  return html`<div class="alarms stack">
    ${waiting.map(
      (version) => html`<section key=${version.version} class="alarm info">
        <div class="row">
          <span><strong>Version ${version.version} is scheduled</strong> for <${Time} at=${version.effective_from} />: ${plural(version.count, "value")}, by <bdi>${version.created_by}</bdi></span>
          ${mayChange() && html`<${Button} small onClick=${() => open({ cancel: version })}>Cancel…<//>`}
        </div>
      </section>`,
    )}
  </div>`;
}

function Rules({ list }) {
  if (!list.rules.length) {
    return html`<${Card} padded=${false}><${Empty} title=${`No rule uses ${list.name}`}>
      <p>Use it in the condition of a rule: <code>column IN LIST('${list.name}')</code>, or <code>NOT IN LIST('${list.name}')</code>.</p>
    <//><//>`;
  }
  const columns = [
    {
      key: "rule",
      label: "Rule",
      className: "name",
      cell: ({ processor_id: id }) => html`<${Link} href=${path`/streams/${list.stream}/rules/${id}`} title=${id}>${id}<//>`,
    },
    { key: "versions", label: "Versions", cell: ({ versions }) => html`<span class="number">${versions.join(", ")}</span>` },
  ];
  return html`<${Card} padded=${false}>
    <${Table} caption=${`Rules that use ${list.name}`} columns=${columns} rows=${list.rules} rowKey=${(rule) => rule.processor_id} />
    ${list.rule_count > list.rules.length && html`<p class="version-more muted">and ${plural(list.rule_count - list.rules.length, "other")}</p>`}
  <//>`;
}
