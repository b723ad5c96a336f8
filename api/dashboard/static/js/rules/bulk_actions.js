// What can be done with many rules at once: each action says who may do it, what it asks for, and how it is done.
import { get, getTagged, send } from "../api.js";
import { path } from "../router.js";

/** So many rules the service changes together in one request. */
export const MOST_AT_ONCE = 500;
const CHANGED_SINCE = 412;
const MOST_TRIES = 5;

/**
 * Actions by name: {
 *   role: the least that may do it. verb: the word on the button. done: the word for what was changed.
 *   asking: the words before "3 rules?", if they are not the verb. says: what it does, as a sentence. danger: whether it takes something away.
 *   together: whether the service changes all of them or none. kind: that of a proposal, where approvals are asked for.
 *   asks: the fields it needs, as the dialog knows them.
 *   begin: async ({stream, job, asked, comment}) => async (id) => whether it was changed
 * }
 */
export const ACTIONS = {
  pause: {
    role: "publisher",
    verb: "Pause",
    done: "paused",
    danger: true,
    together: true,
    says: "Jobs stop running them with their next batch; all their versions are kept.",
  },
  resume: {
    role: "publisher",
    verb: "Resume",
    done: "resumed",
    together: true,
    kind: "resume",
    says: "They run again from now on in event time.",
  },
  snooze: {
    role: "publisher",
    verb: "Snooze",
    done: "snoozed",
    asks: ["length"],
    says: "They keep running. Their matches are counted, and sent only to outputs that include suppressed ones.",
    begin: async ({ asked, comment }) => async (id) => {
      await send("POST", path`/v1/processors/${id}/snoozes`, { for: asked.length }, { query: { comment } });
      return true;
    },
  },
  wake: {
    role: "publisher",
    verb: "End snoozes",
    asking: "End the snoozes of",
    done: "no longer snoozed",
    says: "All snoozes of these rules end, those of single keys too. Their matches are sent again, from the events that jobs have not read yet.",
    begin: beginWaking,
  },
  labels: {
    role: "author",
    verb: "Change labels",
    asking: "Change the labels of",
    done: "labelled",
    asks: ["labels"],
    says: "No version is made: what runs stays as it is.",
    begin: async ({ asked, comment }) => (id) => label(id, asked, comment),
  },
  acknowledge: {
    role: "author",
    verb: "Acknowledge",
    done: "acknowledged",
    says: "Others will see that you are investigating those that are quarantined; the others stay as they are.",
    begin: beginAcknowledging,
  },
  delete: {
    role: "publisher",
    verb: "Delete",
    done: "deleted",
    danger: true,
    kind: "delete",
    says: "Jobs stop running them with their next batch. Their versions are kept: rolling back to one brings a rule back.",
    begin: async ({ comment }) => async (id) => {
      await send("DELETE", path`/v1/processors/${id}`, undefined, { query: { comment }, etag: "*" });
      return true;
    },
  },
};

/** Changes rules in parts, each as a whole or not at all. @returns {Promise<string[]>} the ids that were changed */
export async function changeTogether({ stream, action, ids, comment, onProgress }) {
  const changed = [];
  for (let from = 0; from < ids.length; from += MOST_AT_ONCE) {
    const body = { ids: ids.slice(from, from + MOST_AT_ONCE) };
    const answer = await send("POST", path`/v1/streams/${stream}/rules/${action}`, body, { query: { comment } });
    changed.push(...answer.changed);
    onProgress(from + body.ids.length);
  }
  return changed;
}

/** One proposal for each rule, where the stream asks for approvals. */
export function beginProposing({ kind, comment }) {
  return async (id) => {
    await send("POST", "/v1/proposals", { kind, processor_id: id, comment });
    return true;
  };
}

async function beginWaking({ stream, comment }) {
  const { items } = await get(path`/v1/streams/${stream}/snoozes`);
  const open = items.filter((each) => !each.is_over);
  return async (id) => {
    const own = open.filter((each) => each.processor_id === id);
    for (const { number } of own) {
      await send("DELETE", path`/v1/processors/${id}/snoozes/${number}`, undefined, { query: { comment } });
    }
    return own.length > 0;
  };
}

// An entry of the log is made of every acknowledgement: of rules that run well there would be nothing to say.
async function beginAcknowledging({ stream, job, comment }) {
  const ids = new Set();
  let cursor = null;
  do {
    const query = { standing: "quarantined", job, cursor, limit: MOST_AT_ONCE };
    const page = await get(path`/v1/streams/${stream}/rules`, query);
    for (const { id } of page.items) ids.add(id);
    cursor = page.next_cursor;
  } while (cursor);
  return async (id) => {
    if (!ids.has(id)) return false;
    await send("POST", path`/v1/processors/${id}/acknowledge`, undefined, { query: { comment } });
    return true;
  };
}

// Tags are added to those of now: whoever changes a rule meanwhile loses nothing.
async function label(id, { add, remove, owner }, comment) {
  const source = path`/v1/processors/${id}`;
  for (let tries = 1; ; tries += 1) {
    const { data: rule, etag } = await getTagged(source);
    const tags = [...new Set([...rule.tags, ...add])].filter((tag) => !remove.includes(tag));
    const isSame = tags.join() === rule.tags.join() && (owner === null || owner === rule.owner);
    if (isSame) return false;
    try {
      await send("PATCH", source, { tags, owner: owner ?? undefined }, { query: { comment }, etag });
      return true;
    } catch (problem) {
      if (problem.status !== CHANGED_SINCE || tries === MOST_TRIES) throw problem;
    }
  }
}
