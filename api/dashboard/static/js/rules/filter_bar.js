// The filters above the table of rules: standings and problems with their counts, text, labels.
import { html } from "../../vendor/preact.js";
import { count } from "../format.js";
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
export function FilterBar({ page, labels }) {
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
    <${TagFilter} found=${labels?.tags} tags=${tagsOf(query)} />
    <${LabelSelect} label="Owner" any="Any owner" found=${labels?.owners} value=${query.owner} onChange=${choose("owner")} />
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
function TagFilter({ found, tags }) {
  const others = found?.filter(({ value }) => !tags.includes(value)) ?? [];
  const change = (chosen) => setQuery({ tag: withTags(chosen) });
  const any = tags.length ? "and tag…" : "Any tag";
  return html`
    ${tags.map(
      (tag) => html`<${FilterChip} key=${tag} label=${`Tag: ${isolated(tag)}`} onRemove=${() => change(tags.filter((each) => each !== tag))} />`,
    )}
    ${others.length > 0 && html`<${LabelSelect} label="Tag" any=${any} found=${others} onChange=${(tag) => change([...tags, tag])} />`}
  `;
}

function LabelSelect({ label, any, found, value, onChange }) {
  if (!found) return null;
  if (!found.length && !value) return null;
  const known = found.some((each) => each.value === value);
  // A label beyond the two hundred most frequent ones can still be in the address.
  if (value && !known) return html`<${FilterChip} label=${`${label}: ${isolated(value)}`} onRemove=${() => onChange("")} />`;
  const options = found.map((each) => [each.value, `${isolated(each.value)} (${count(each.count)})`]);
  return html`<${Select} label=${label} options=${[["", any], ...options]} value=${value ?? ""} onChange=${onChange} />`;
}

function sorts(current) {
  return !current || SORTS.some(([name]) => name === current) ? SORTS : [[current, "Custom order"], ...SORTS];
}
