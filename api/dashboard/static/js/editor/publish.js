// The last question before a draft is published: when, why, and what changes.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { send } from "../api.js";
import { localTime, millis } from "../format.js";
import { ApprovalsNote, proposeChange, proposes } from "../proposals/propose.js";
import { navigate, path } from "../router.js";
import { Withdrawn } from "../rule/actions.js";
import { readableTextOf } from "../rule/as_written.js";
import { TextDiff } from "../rule/diff.js";
import { can } from "../session.js";
import { apart } from "../ui/apart.js";
import { Confirm } from "../ui/dialog.js";
import { TimeField, instantOf, localInput } from "../ui/time_field.js";
import { toast, toastProblem } from "../ui/toast.js";

const AN_HOUR_MS = 3_600_000;
const VERBS = { now: "Publish", later: "Schedule", shadow: "Start in shadow", paused: "Save paused" };

/**
 * It opens once what changes is known: what came later would move its buttons away under a hand.
 * @param {object} properties
 *   document: what is published. rule: the rule it was made from, null for a new one.
 *   proposal: the proposal that is edited, if one is.
 *   onConflict: called if the rule has been changed since.
 *   onDone: called once it is published, before the page is left.
 */
export function Publish(properties) {
  const changes = useChanges((properties.proposal ?? properties.rule)?.document, properties.document);
  if (!changes) return null;
  return html`<${properties.proposal ? SaveProposal : PublishRule} ...${properties} changes=${changes} />`;
}

function PublishRule({ document, rule, changes, onConflict, onDone, onClose }) {
  const isPaused = rule?.state === "paused";
  const choices = whenChoices(rule, isPaused);
  const written = document.effective_from;
  const [when, setWhen] = useState(written && choices.some(([key]) => key === "later") ? "later" : choices[0][0]);
  const [from, setFrom] = useState(localInput(written ? millis(written) : Date.now() + AN_HOUR_MS));
  const isProposed = !isPaused && ["now", "later"].includes(when) && proposes(document.stream);
  const act = async (comment) => {
    const sent = timed(document, when, from);
    if (isProposed) {
      await proposeChange({ document: sent }, comment);
      onDone();
      return;
    }
    if (rule) await replace(rule, sent, comment, when === "shadow", onConflict);
    else await create(sent, comment, when);
    onDone();
    toast(told(sent, when, from, isPaused));
    navigate(path`/streams/${sent.stream}/rules/${sent.id}`);
  };
  return html`<${Confirm}
    title=${html`${isProposed ? "Propose" : "Publish"} ${rule ? "a new version of " : ""}<bdi>${rule?.id ?? document.id}</bdi>`}
    verb=${isProposed ? "Propose" : isPaused ? "Save" : VERBS[when]}
    act=${act}
    onClose=${onClose}
  >
    <fieldset class="choices">
      <legend class="visually-hidden">When</legend>
      ${choices.map(
        ([key, label, hint]) => html`<label key=${key} class="choice">
          <input type="radio" name="when" value=${key} checked=${when === key} onChange=${() => setWhen(key)} />
          <span>${label}<span class="secondary"> ${hint}</span></span>
        </label>`,
      )}
    </fieldset>
    ${isProposed && html`<${ApprovalsNote} stream=${document.stream} />`}
    ${when === "later" && html`<${TimeField} stream=${document.stream} label="From event time" value=${from} onInput=${setFrom} />`}
    ${rule && when === "now" && html`<${Withdrawn} rule=${rule} />`}
    <${Changed} ...${changes} />
  <//>`;
}

function SaveProposal({ document, proposal, changes, onDone, onClose }) {
  const act = async () => {
    const change = { kind: proposal.kind, document, share_percent: proposal.share_percent, comment: proposal.comment };
    await send("PUT", path`/v1/proposals/${proposal.id}`, change, { etag: `"${proposal.revision}"` });
    onDone();
    toast(`Proposal ${proposal.id} was updated.`);
    navigate(path`/proposals/${proposal.id}`);
  };
  return html`<${Confirm} title=${`Change proposal ${proposal.id}`} verb="Save" comment=${false} act=${act} onClose=${onClose}>
    <p>Approvals given so far must be given again, unless nothing changed.</p>
    <${Changed} ...${changes} />
  <//>`;
}

/** Two documents as texts to be compared, without any if that is not to be had; null until it is known. */
function useChanges(before, after) {
  const [texts, setTexts] = useState(before ? null : {});
  useEffect(() => {
    if (!before) return;
    let gone = false;
    const set = (found) => !gone && setTexts(found);
    Promise.all([readableTextOf(before), readableTextOf(after)]).then(
      ([ofBefore, ofAfter]) => set({ before: ofBefore, after: ofAfter }),
      (problem) => {
        toastProblem(problem);
        set({});
      },
    );
    return () => {
      gone = true;
    };
  }, []);
  return texts;
}

function Changed({ before, after }) {
  if (before === undefined) return null;
  if (before === after) return html`<p class="secondary">Nothing has changed; no new version will be created.</p>`;
  return html`<div class="rollback-diff">
    <h3>What changes</h3>
    <${TextDiff} before=${before} after=${after} />
  </div>`;
}

function whenChoices(rule, isPaused) {
  if (isPaused) return [["now", "Save the version", "The rule is paused and stays paused until it is resumed."]];
  const paused = ["paused", "Save it paused", "It runs once a publisher resumes it."];
  const timely = [
    ["now", "Now", "Jobs pick it up with their next batch."],
    ["later", "At a time", "It takes effect at exactly that instant of event time."],
  ];
  if (!can("publisher")) return rule ? timely : [paused, ...timely];
  const choices = [
    ...timely,
    ["shadow", "In shadow", "It runs beside the published version, and their matches are compared, until it is promoted."],
  ];
  return rule ? choices : [...choices, paused];
}

function timed(document, when, from) {
  const { effective_from: _written, ...content } = document;
  if (when !== "later") return content;
  const at = instantOf(from);
  if (!at) throw new Error("Choose a date and time.");
  return { ...content, effective_from: at };
}

async function replace(rule, document, comment, isTried, onConflict) {
  const options = { query: { comment }, etag: `"${rule.revision}"` };
  try {
    if (isTried) await send("POST", path`/v1/processors/${rule.id}/rollout`, document, options);
    else await send("PUT", path`/v1/processors/${rule.id}`, document, options);
  } catch (problem) {
    if (problem.status === 412) onConflict();
    throw problem;
  }
}

async function create(document, comment, when) {
  const query = { comment, paused: when === "paused" || null, shadow: when === "shadow" || null };
  await send("POST", "/v1/processors", document, { query });
}

function told(document, when, from, isPaused) {
  if (when === "paused" || isPaused) return apart`${document.id} is saved, paused.`;
  if (when === "shadow") return apart`${document.id} runs in shadow. Jobs pick it up with their next batch.`;
  if (when === "later") return apart`${document.id} is scheduled for ${localTime(new Date(from).getTime())}.`;
  return apart`${document.id} is published. Jobs pick it up with their next batch.`;
}
