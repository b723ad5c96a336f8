// Webhooks: where the service tells what needs attention, and what became of each message; for admins.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { Time } from "../format.js";
import { Link, path, route, setQuery } from "../router.js";
import { can, session } from "../session.js";
import { apart } from "../ui/apart.js";
import { Button } from "../ui/button.js";
import { CodeBlock } from "../ui/code.js";
import { Confirm, Dialog } from "../ui/dialog.js";
import { Empty } from "../ui/empty.js";
import { Folded } from "../ui/folded.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { State } from "../ui/state.js";
import { Table } from "../ui/table.js";
import { toast, toastProblem } from "../ui/toast.js";
import { NewWebhook, WebhookSecret } from "../webhooks/new_webhook.js";

const SECONDS = 5;

export default function WebhooksPage() {
  const isAdmin = can("admin");
  const { data, problem, refresh } = usePolled(isAdmin ? "/v1/webhooks" : null, {}, SECONDS);
  const [making, setMaking] = useState(false);
  const above = html`<${Link} href="/tokens">Tokens<//>`;
  if (!isAdmin) {
    return html`<${PageHeader} title="Webhooks" above=${above} /><${Empty} title="For admins only">
      <p>Your token has the role ${session.value.role}. Ask an admin.</p>
    <//>`;
  }
  const chosen = (data ?? []).find((each) => each.id === route.value.query.webhook);
  return html`
    <${PageHeader}
      title="Webhooks"
      above=${above}
      actions=${html`<${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New webhook<//>`}
    >
      Notify other systems of what needs attention. Messages are signed, and retried until they arrive.
    <//>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <div class="stack">
      <${Card} padded=${false}>
        ${!data && !problem && html`<${Loading} what="webhooks" />`}
        ${data?.length === 0 && html`<${Empty} title="No webhooks yet"><p>No one is notified of what needs attention.</p><//>`}
        ${data?.length > 0 && html`<${Table} caption="Webhooks" columns=${columns()} rows=${data} rowKey=${(each) => each.id} />`}
      <//>
      ${chosen && html`<${Chosen} key=${chosen.id} webhook=${chosen} refresh=${refresh} />`}
    </div>
    ${making && html`<${NewWebhook} onMade=${refresh} onClose=${() => setMaking(false)} />`}
  `;
}

function columns() {
  return [
    {
      key: "name",
      label: "Name",
      className: "name",
      cell: (each) => html`<${Link} href="/webhooks" query=${{ webhook: each.id }} title=${each.name}><bdi>${each.name}</bdi><//>`,
    },
    { key: "state", label: "State", cell: (each) => html`<${State} of="webhook" name=${each.enabled ? "enabled" : "disabled"} />` },
    { key: "events", label: "Events", cell: (each) => html`<span class="wrap-anywhere">${each.events.join(", ")}</span>` },
    { key: "stream", label: "Stream", cell: (each) => each.stream ?? "all" },
    { key: "pending", label: "Pending", right: true, cell: (each) => each.pending },
    { key: "url", label: "Address", cell: (each) => html`<bdi class="wrap-anywhere">${each.url}</bdi>` },
  ];
}

function Chosen({ webhook, refresh }) {
  const base = path`/v1/webhooks/${webhook.id}`;
  const messages = usePolled(`${base}/deliveries`, { limit: 50 }, 2);
  const [open, setOpen] = useState(null);
  const [renewed, setRenewed] = useState(null);
  const close = () => setOpen(null);
  const act = async (work, said) => {
    try {
      await work();
      toast(said);
      refresh();
      messages.refresh();
    } catch (error) {
      toastProblem(error);
    }
  };
  const test = () => act(() => send("POST", `${base}/test`), "A test message is being sent.");
  const turn = () => act(() => send("PATCH", base, { enabled: !webhook.enabled }), html`<bdi>${webhook.name}</bdi> is ${webhook.enabled ? "disabled" : "enabled"}.`);
  const remove = async (comment) => {
    await send("DELETE", base, undefined, { query: { comment } });
    setQuery({ webhook: undefined });
    refresh();
  };
  const renew = async (comment) => setRenewed(await send("POST", `${base}/secret`, undefined, { query: { comment } }));
  return html`<${Card}
    title=${apart`Messages to ${webhook.name}`}
    padded=${false}
    actions=${html`<${Button} small kind="primary" disabled=${!webhook.enabled} onClick=${test}>Send a test<//>
      <${Button} small onClick=${turn}>${webhook.enabled ? "Disable" : "Enable"}<//>
      <${Button} small onClick=${() => setOpen("secret")}>New secret…<//>
      <${Button} small kind="danger" onClick=${() => setOpen("delete")}>Delete…<//>`}
  >
    ${messages.problem && html`<${ProblemBox} problem=${messages.problem} />`}
    ${messages.data?.items.length === 0 && html`<${Empty} title="No messages yet"><p>Send a test to check that messages arrive.</p><//>`}
    ${messages.data?.items.length > 0 &&
    html`<${Table} caption=${`Messages to ${webhook.name}`} columns=${MESSAGES(setOpen)} rows=${messages.data.items} rowKey=${(each) => each.number} />`}
    ${open === "delete" &&
    html`<${Confirm} title=${apart`Delete ${webhook.name}?`} verb="Delete" danger act=${remove} onClose=${close}>
      <p>It stops receiving messages. Messages that have not been delivered are dropped.</p>
    <//>`}
    ${open === "secret" &&
    html`<${Confirm} title=${apart`Create a new secret for ${webhook.name}?`} verb="New secret" act=${renew} onClose=${close}>
      <p>The current secret stops working immediately. Until the receiver has the new one, it will reject messages; they are retried.</p>
    <//>`}
    ${renewed && html`<${WebhookSecret} webhook=${renewed} onClose=${() => setRenewed(null)} />`}
    ${open?.body !== undefined &&
    html`<${Dialog} title=${`Message ${open.number}`} onClose=${close}>
      <p class="secondary">webhook-id: <code class="wrap-anywhere">${open.message_id}</code></p>
      <${CodeBlock} text=${open.body} label="The message" />
    <//>`}
  <//>`;
}

const MESSAGES = (show) => [
  { key: "at", label: "At", cell: (each) => html`<${Time} at=${each.created_at} />` },
  { key: "event", label: "Event", cell: (each) => each.event },
  { key: "state", label: "State", cell: (each) => html`<${State} of="message" name=${each.state} />` },
  { key: "attempts", label: "Attempts", right: true, cell: (each) => each.attempts },
  { key: "answer", label: "Response", cell: (each) => html`<${Folded} tag="span" className="wrap-anywhere" text=${String(each.error || (each.status ?? "–"))} />` },
  { key: "next", label: "Next attempt", cell: (each) => html`<${Time} at=${each.next_attempt_at} none="–" />` },
  {
    key: "body",
    label: "",
    spoken: "Actions",
    right: true,
    cell: (each) => html`<${Button} small label=${`Show message ${each.number}`} onClick=${() => show(each)}>Show<//>`,
  },
];
