// The filters above the table of rules: standings and problems with their counts, text, labels.
import { html } from "../../vendor/preact.js";
import { count } from "../format.js";
import { LabelField } from "./label_field.js";
import { Link, patchedQuery, route, setQuery } from "../router.js";
import { Button } from "../ui/button.js";
import { FilterChip } from "../ui/chips.js";
import { Search, Select } from "../ui/field.js";
import { stateChoices, stateColour, stateWord } from "../ui/states.js";
import { isolated } from "../ui/visible.js";
import { DEFAULT_SORT, isFiltered, tagsOf, withTags, withoutFilters } from "./filters.js";
import { STANDINGS, standingName } from "./standing.js";

const PROBLEMS = [
  ["errors", "with errors", "bad", "Quarantined, or counting errors"],
  ["behind", "behind", "info", "Newest change not picked up by the job yet"],
  ["warnings", "with warnings", "warn", "Their definition is valid, but rarely intended"],
];
const SORTS = [
  ["id", "Name"],
  ["standing", "State: worst first"],
  ["-matches_last_hour", "Most matches"],
  ["-last_match", "Last match"],
  ["-partial_matches", "Most partial matches"],
  ["-errors", "Most errors"],
  ["-false_positive_rate", "Most false positives"],
  ["-severity", "Severity"],
  ["owner", "Owner"],
  ["-updated_at", "Last updated"],
];

/** How many rules stand where and what is wrong, each a link that shows only those. */
export function Counts({ page }) {
  const { standings, problems, job } = page;
  const { standing, problem } = route.value.query;
  const all = Object.values(standings).reduce((sum, each) => sum + each, 0);
  const shown = STANDINGS.filter((name) => standings[name] || name === standing || name === "active");
  const wrong = PROBLEMS.filter(([name]) => problems[name] || name === problem);
  return html`<nav class="counts" aria-label="Rules by state">
    <ul>
      <${Count} label="All" number=${all} patch=${{ standing: null, problem: null }} here=${!standing && !problem} />
      ${shown.map(
        (name) => html`<${Count}
          key=${name}
          colour=${stateColour("running", name)}
          label=${standingName(name, job?.name)}
          number=${standings[name]}
          patch=${{ standing: name, problem: null }}
          here=${standing === name}
        />`,
      )}
    </ul>
    ${wrong.length > 0 &&
    html`<ul>
      ${wrong.map(
        ([name, label, urgency, title]) => html`<${Count}
          key=${name}
          colour=${stateColour("urgency", urgency)}
          label=${label}
          title=${title}
          number=${problems[name]}
          patch=${{ problem: problem === name ? null : name, standing: null }}
          here=${problem === name}
        />`,
      )}
    </ul>`}
  </nav>`;
}

function Count({ label, number, patch, here, colour = "", title }) {
  const { path } = route.value;
  return html`<li>
    <${Link}
      href=${path}
      query=${patchedQuery(patch)}
      class=${`count-link ${colour}`}
      title=${title}
      aria-current=${here ? "page" : undefined}
    >
      <span class="label">${label}</span> <span class="number">${count(number)}</span>
    <//>
  </li>`;
}

/** Text, tag, owner, severity, and the job that is looked at where there are several. */
export function FilterBar({ page, stream }) {
  const { query } = route.value;
  const choose = (name) => (value) => setQuery({ [name]: value || null });
  const jobs = page?.jobs ?? [];
  return html`<div class="filters" role="search" aria-label="Filter rules">
    <${Search}
      label="Search rules"
      placeholder="Name, description or condition"
      value=${query.text ?? ""}
      onSearch=${choose("text")}
    />
    <${TagFilter} stream=${stream} tags=${tagsOf(query)} />
    ${query.owner
      ? html`<${FilterChip} label=${`Owner: ${isolated(query.owner)}`} onRemove=${() => choose("owner")("")} />`
      : html`<${LabelField} stream=${stream} label="Owner" kind="owners" any="Any owner" onChoose=${choose("owner")} />`}
    <${Select}
      label="Severity"
      options=${[["", "Any severity"], ...stateChoices("severity").reverse()]}
      value=${query.severity ?? ""}
      onChange=${choose("severity")}
    />
    ${jobs.length > 1 &&
    html`<${Select}
      label="Job"
      options=${jobs.map(({ name, state }) => [name, state === "running" ? `in ${name}` : `in ${isolated(name)} (${stateWord("job", state)})`])}
      value=${page.job.name}
      onChange=${choose("job")}
    />`}
    <span class="sort-field">
      <${Select} label="Sort by" options=${sorts(query.sort)} value=${query.sort ?? DEFAULT_SORT} onChange=${choose("sort")} />
    </span>
    ${isFiltered(query) &&
    html`<${Button} kind="plain" icon="cross" onClick=${() => setQuery(withoutFilters())}>Clear<//>`}
  </div>`;
}

// A rule must have all of the tags that are chosen.
function TagFilter({ stream, tags }) {
  const change = (chosen) => setQuery({ tag: withTags(chosen) });
  return html`
    ${tags.map(
      (tag) => html`<${FilterChip} key=${tag} label=${`Tag: ${isolated(tag)}`} onRemove=${() => change(tags.filter((each) => each !== tag))} />`,
    )}
    <${LabelField}
      stream=${stream}
      label="Tag"
      kind="tags"
      any=${tags.length ? "and tag…" : "Any tag"}
      taken=${tags}
      onChoose=${(tag) => change([...new Set([...tags, tag])])}
    />
  `;
}

function sorts(current) {
  return !current || SORTS.some(([name]) => name === current) ? SORTS : [[current, "Custom order"], ...SORTS];
}
