// Other values from a file, instead of all there are: tried first, so that one sees what it does before it is done.
import { html, useEffect, useRef, useState } from "../../vendor/preact.js";
import { Problem } from "../api.js";
import { bytes } from "../format.js";
import { proposeChange } from "../proposals/propose.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Confirm } from "../ui/dialog.js";
import { Check, Field } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";
import { toast } from "../ui/toast.js";
import { ProposesNote } from "./approvals.js";
import { ANY_STATE, Told, WhenFields, inWords, proposedFor, sendChange, useDryRun, useWhen } from "./changing.js";
import { etagOf, proposesLists, scheduled, sourceOf, verbOf } from "./model.js";

const LARGEST = 32_000_000;
const FILES = ".csv,.txt,.json,text/csv,text/plain,application/json";

/** @param {{list: object, refresh: () => void, onClose: () => void}} properties */
export function Upload({ list, refresh, onClose }) {
  const { file, mistake, choose } = useFile();
  const [hasHeader, setHeader] = useState(false);
  const when = useWhen();
  const isJson = file?.type === "application/json";
  const query = { header: hasHeader && !isJson ? true : null, effective_from: when.from };
  const put = (etag, more) =>
    sendChange("PUT", `${sourceOf(list)}/values`, file.body, { etag, contentType: file.type, ...more });
  const isReady = file !== null && when.from !== undefined;
  const isTried = isReady && can("publisher"); // who proposes only is told on the page of the proposal
  const key = isTried ? JSON.stringify([file.number, query, list.revision]) : null;
  const tried = useDryRun(key, (signal) => put(ANY_STATE, { signal, query: { ...query, dry_run: true } }));
  const { told } = tried;
  const isWorthIt = told ? told.is_changed || (!when.isLater && scheduled(list).length > 0) : isReady && !can("publisher");
  const act = async (comment) => {
    if (proposesLists(list.stream)) {
      await proposeUpload(list, file, hasHeader, when.from, comment);
      return;
    }
    try {
      const done = await put(etagOf(told), { query: { ...query, comment } });
      toast(inWords(done, when.from));
    } finally {
      refresh(); // somebody may have changed it since: then it is tried again beside what is there
    }
  };
  return html`<${Confirm}
    title=${apart`Upload values of ${list.name}`}
    verb=${verbOf(list.stream, "Replace the values")}
    danger=${told?.removed > 0}
    ready=${Boolean(isWorthIt)}
    wide
    act=${act}
    onClose=${onClose}
  >
    <p>The values in the file replace all values of the list. Nothing is written until you confirm.</p>
    <${Field}
      label="File"
      hint=${`One value on each line, as UTF-8: text or CSV with one column, or a JSON array. At most ${bytes(LARGEST)}.`}
      mistake=${mistake}
      control=${(tied) => html`<input
        type="file"
        class="input"
        accept=${FILES}
        onClick=${(event) => {
          event.currentTarget.value = ""; // a file that was mended and is chosen again is read again
          choose(undefined);
        }}
        onChange=${(event) => choose(event.currentTarget.files[0])}
        ...${tied}
      />`}
    />
    ${!isJson && html`<${Check} label="The first line is a column name" checked=${hasHeader} onChange=${setHeader} />`}
    <${WhenFields} list=${list} when=${when} />
    <div class="list-preview" aria-live="polite">
      ${tried.busy && html`<p class="secondary">Reading ${file.name} (${bytes(file.body.byteLength)}) and comparing it with the list…</p>`}
      ${told && html`<${Told} told=${told} />`}
      ${tried.problem && html`<${Refused} problem=${tried.problem} />`}
    </div>
    <${ProposesNote} stream=${list.stream} />
  <//>`;
}

async function proposeUpload(list, { type, body }, hasHeader, from, comment) {
  const text = textOf(body);
  const isJson = type === "application/json";
  const csv = isJson ? undefined : hasHeader ? text.replace(/^(?:\r?\n)*[^\n]*(?:\n|$)/, "") : text;
  const change = proposedFor(list, "list_put", { csv, effective_from: from });
  await proposeChange(change, comment, isJson ? text : null);
}

function textOf(body) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new Problem({ status: 400, title: "The file cannot be read", detail: "It is not UTF-8. Save it as UTF-8." });
  }
}

function Refused({ problem }) {
  return html`<div class="stack">
    ${problem.errors?.length > 0 && html`<p><strong>This file cannot be imported</strong> until the lines below are corrected or removed.</p>`}
    <${ProblemBox} problem=${problem} />
  </div>`;
}

// The file is read once: what is written is what was tried, whatever happens to the file meanwhile.
function useFile() {
  const [state, setState] = useState({ file: null, mistake: "" });
  const newest = useRef(0);
  useEffect(() => () => (newest.current = -1), []);
  const choose = async (chosen) => {
    newest.current += 1;
    const number = newest.current;
    if (!chosen) {
      setState({ file: null, mistake: "" });
      return;
    }
    const name = chosen.name;
    const type = /\.json$/i.test(name) ? "application/json" : "text/csv";
    let next;
    if (chosen.size > LARGEST) {
      next = { file: null, mistake: `${name} has ${bytes(chosen.size)}; a list can have at most ${bytes(LARGEST)}. Split it into several lists.` };
    } else {
      try {
        next = { file: { number, name, type, body: await chosen.arrayBuffer() }, mistake: "" };
      } catch {
        next = { file: null, mistake: `${name} cannot be read. Choose it again.` };
      }
    }
    if (newest.current === number) setState(next);
  };
  return { ...state, choose };
}
