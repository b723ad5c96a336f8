// A line above the rules where the job that runs them is missing, silent or behind, or cannot read them.
import { html } from "../../vendor/preact.js";
import { usePolled } from "../api.js";
import { Time, plural } from "../format.js";
import { Link, path } from "../router.js";
import { State } from "../ui/state.js";

const SECONDS = 5;

/** The jobs of a stream that do not get the newest rules, or only some of them. @param {{stream: string}} properties */
export function UnreadRules({ stream }) {
  const { data } = usePolled(path`/v1/streams/${stream}/jobs`, {}, SECONDS);
  const unread = (data ?? []).filter(({ state, discovery }) => state === "running" && (discovery.status === "failing" || discovery.unreadable > 0));
  return unread.map(({ name, discovery }) => {
    const link = html`<${Link} href=${path`/streams/${stream}/jobs/${name}`}>${name}<//>`;
    return html`<p key=${name} class="job-notice warn" role="status">
      <${State} of="urgency" name="warn">rules not read<//>
      <span>
        ${discovery.status === "failing"
          ? html`The job ${link} cannot read its rules. It runs those it read last, <${Time} at=${discovery.last_success} ago none="before its start" />, and gets no changes: ${discovery.error}`
          : html`${plural(discovery.unreadable, "rule")} in the source of the job ${link} cannot run: ${discovery.problems.join("; ")}`}
      </span>
    </p>`;
  });
}

/** @param {{stream: string, page: object}} properties the page of rules as the service gave it */
export function JobNotice({ stream, page }) {
  const { job, problems } = page;
  if (!job) {
    return html`<p class="job-notice info">
      <${State} of="urgency" name="info">no job<//>
      <span>
        No job runs the rules of ${stream} yet. They start as soon as one runs:${" "}
        <code>percept run job.yaml</code>
      </span>
    </p>`;
  }
  const link = html`<${Link} href=${path`/streams/${stream}/jobs/${job.name}`}>${job.name}<//>`;
  if (job.state === "stale" || job.state === "stopped") {
    const word = job.state === "stale" ? "has not reported since" : "was stopped; it last reported";
    return html`<p class=${`job-notice ${job.state === "stale" ? "warn" : "quiet"}`} role="status">
      <${State} of="job" name=${job.state} />
      <span>
        The job ${link} ${word} <${Time} at=${job.heartbeat_at} none="its start" />. The table shows its last report.
      </span>
    </p>`;
  }
  if (job.state === "starting") {
    return html`<p class="job-notice info" role="status">
      <${State} of="job" name="starting" />
      <span>The job ${link} is starting. It loads its rules with its first batch.</span>
    </p>`;
  }
  if (problems.behind > 0) {
    return html`<p class="job-notice info" role="status">
      <${State} of="urgency" name="info">behind<//>
      <span>
        ${link} has not applied the newest change of ${plural(problems.behind, "rule")} yet; it will with its next batch.
      </span>
    </p>`;
  }
  return null;
}
