// How two versions of a rule differ: as text, line by line, and in meaning.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { get, useRead } from "../api.js";
import { path } from "../router.js";
import { ProblemBox } from "../ui/problem.js";
import { Loading } from "../ui/page.js";
import { shortLine } from "../ui/signed_code.js";
import { visible } from "../ui/visible.js";
import { readableTextOf } from "./as_written.js";

const CONTEXT = 3;
// The marks around what could not be merged.
const MARK = /^(<{7} |\|{7} |={7}$|>{7} )/;
const MARKS = { added: "+", removed: "−", changed: "±" };

/** @param {{id: string, before: number, after: number}} properties versions of the rule */
export function VersionDiff({ id, before, after }) {
  if (before === after) return html`<p class="muted">Choose two different versions.</p>`;
  return html`<${Compared} key=${`${before} ${after}`} id=${id} before=${before} after=${after} />`;
}

function Compared({ id, before, after }) {
  const { data, problem } = useRead(() => compared(id, before, after), []);
  if (problem) return html`<${ProblemBox} problem=${problem} />`;
  if (!data) return html`<${Loading} what="the comparison" />`;
  return html`<div class="version-diff">
    <${Meaning} differences=${data.differences} />
    <${Rows} rows=${data.rows} label=${`Version ${before} compared with version ${after}`} />
  </div>`;
}

/** How two texts differ. @param {{before: string, after: string}} properties */
export function TextDiff({ before, after }) {
  const [rows, setRows] = useState([]);
  useEffect(() => {
    let gone = false;
    import("../../vendor/diff.js").then(({ diffLines }) => !gone && setRows(rowsOf(diffLines(before, after))));
    return () => {
      gone = true;
    };
  }, [before, after]);
  return html`<${Rows} rows=${rows} label="What changes" />`;
}

function Rows({ rows, label }) {
  if (!rows.length) return null;
  return html`<div class="diff" role="region" tabindex="0" aria-label=${label}>
    <table>
      <tbody>
        ${rows.map(
          (row, index) => html`<tr key=${index} class=${MARK.test(row.text) ? `${row.kind} conflict-mark` : row.kind}>
            <td class="number" aria-hidden="true">${row.before}</td>
            <td class="number" aria-hidden="true">${row.after}</td>
            <td class="mark">${row.mark}</td>
            <td class="text">${shortLine(row.text)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** How two versions differ in meaning. @param {{differences: object[]}} properties as the service compares */
export function Meaning({ differences }) {
  if (!differences.length) return html`<p class="secondary">No difference in meaning.</p>`;
  return html`<ul class="meanings">
    ${differences.filter((each) => !isSignature(each)).map(
      (each) => html`<li key=${each.pointer}>
        <span class=${`mark ${each.change}`} aria-label=${each.change}>${MARKS[each.change]}</span>
        <code>${readable(each.pointer)}</code>${" "}
        ${isText(each)
          ? html`<span class="secondary">in the lines below</span>`
          : html`${each.change !== "added" && html`<del>${shown(each.old)}</del>${" "}`}
              ${each.change !== "removed" && html`<ins>${shown(each.new)}</ins>`}`}
      </li>`,
    )}
  </ul>`;
}

async function compared(id, before, after) {
  const processor = path`/v1/processors/${id}`;
  const [comparison, old, recent] = await Promise.all([
    get(`${processor}/comparison`, { old: before, new: after }),
    textOfVersion(processor, before),
    textOfVersion(processor, after),
  ]);
  const { diffLines } = await import("../../vendor/diff.js");
  return { differences: comparison.differences, rows: rowsOf(diffLines(old, recent)) };
}

async function textOfVersion(processor, version) {
  const { document } = await get(`${processor}/versions/${version}`);
  return readableTextOf(document);
}

function rowsOf(parts) {
  const rows = [];
  let before = 0;
  let after = 0;
  for (const part of parts) {
    const kind = part.added ? "added" : part.removed ? "removed" : "same";
    for (const text of part.value.replace(/\n$/, "").split("\n")) {
      if (kind !== "added") before += 1;
      if (kind !== "removed") after += 1;
      rows.push({
        kind,
        text,
        mark: { added: "+", removed: "−", same: "" }[kind],
        before: kind === "added" ? "" : before,
        after: kind === "removed" ? "" : after,
      });
    }
  }
  return folded(rows);
}

function folded(rows) {
  const near = rows.map((_, index) =>
    rows.slice(Math.max(index - CONTEXT, 0), index + CONTEXT + 1).some((row) => row.kind !== "same"),
  );
  const kept = [];
  rows.forEach((row, index) => {
    if (near[index]) kept.push(row);
    else if (near[index - 1] || (index === 0 && near.includes(true))) {
      kept.push({ kind: "fold", text: "⋯", mark: "", before: "", after: "" });
    }
  });
  return kept;
}

function readable(pointer) {
  const parts = pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return parts.join(" › ") || "document";
}

// A text of several lines is seen line by line, and so is code, by its source and its digest.
function isText({ pointer, old, new: recent }) {
  return /\/(python|function)\/payload$/.test(pointer) || [old, recent].some((value) => hasLines(value) || hasCode(value));
}

function hasLines(value) {
  return typeof value === "string" && value.includes("\n");
}

function hasCode(value) {
  return typeof value === "object" && value !== null && (isCode(value) || Object.values(value).some(hasCode));
}

function isCode({ payload, signature }) {
  return typeof payload === "string" && typeof signature === "string";
}

// A signature changes with what it is of; by itself it says nothing to people.
function isSignature({ pointer, change }) {
  return change === "changed" && /\/(python|function)\/signature$/.test(pointer);
}

function shown(value) {
  return visible(typeof value === "string" ? value : JSON.stringify(value));
}
