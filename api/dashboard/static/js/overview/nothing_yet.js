// What to do first, on a service that knows no stream or no job yet.
import { html } from "../../vendor/preact.js";
import { can } from "../session.js";
import { CodeBlock } from "../ui/code.js";
import { Empty } from "../ui/empty.js";

/** No stream is registered. */
export function NoStreams() {
  return html`<section class="card">
    <${Empty} title="No streams yet">
      <p>A stream defines what its events look like, and rules belong to a stream. ${can("admin") ? "Register the first one:" : "Ask an admin to register one."}</p>
      ${can("admin") && html`<${CodeBlock} label="How to register a stream" text=${registration()} />`}
    <//>
  </section>`;
}

/** No job has registered. */
export function NoJobs({ stream }) {
  return html`<${Empty} title="No jobs yet">
    <p>
      Rules are published here; a streaming job runs them. It registers when it starts, with this address, the stream
      ${" "}<code>${stream}</code> and a token with the role job.
    </p>
  <//>`;
}

function registration() {
  return `curl ${location.origin}/v1/streams \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"name": "logins", "schema": "user STRING, action STRING, ts TIMESTAMP",
       "event_time_column": "ts", "allowed_delay_ms": 5000}'`;
}
