// Access tokens: made, listed and revoked; for admins.
import { html, useState } from "../../vendor/preact.js";
import { send, usePolled } from "../api.js";
import { Time, millis } from "../format.js";
import { now } from "../clock.js";
import { path } from "../router.js";
import { can, confinedTo, session } from "../session.js";
import { NewToken } from "../tokens/new_token.js";
import { apart } from "../ui/apart.js";
import { Button, ButtonLink } from "../ui/button.js";
import { Confirm } from "../ui/dialog.js";
import { Empty } from "../ui/empty.js";
import { Card, Loading, PageHeader } from "../ui/page.js";
import { ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";

const SECONDS = 30;

export default function TokensPage() {
  const isAdmin = can("admin");
  const confined = confinedTo();
  const { data, problem, refresh } = usePolled(isAdmin && !confined ? "/v1/tokens" : null, {}, SECONDS);
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState(null);
  if (!isAdmin) {
    return html`<${PageHeader} title="Tokens" /><${Empty} title="For admins only">
      <p>Your token has the role ${session.value.role}. Ask an admin for a token, or to revoke one.</p>
    <//>`;
  }
  if (confined) {
    return html`<${PageHeader} title="Tokens" actions=${html`<${ButtonLink} href="/webhooks">Webhooks<//>`} />
      <${Empty} title="For tokens of all streams only">
        <p>Your token is confined to ${confined.join(", ")}. Ask an admin of all streams for a token, or to revoke one.</p>
      <//>`;
  }
  return html`
    <${PageHeader}
      title="Tokens"
      actions=${html`<${ButtonLink} href="/webhooks">Webhooks<//><${Button} kind="primary" icon="plus" onClick=${() => setMaking(true)}>New token<//>`}
    >
      One for each person, program and job. Only a fingerprint is stored, so a token is shown only once.
    <//>
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Card} padded=${false}>
      ${!data && !problem && html`<${Loading} what="tokens" />`}
      ${data && html`<${Table} caption="Tokens" columns=${columns(setRevoking)} rows=${byUse(data)} rowKey=${(token) => token.id} />`}
    <//>
    ${making && html`<${NewToken} onMade=${refresh} onClose=${() => setMaking(false)} />`}
    ${revoking && html`<${Revoke} token=${revoking} onDone=${refresh} onClose=${() => setRevoking(null)} />`}
  `;
}

function columns(revoke) {
  return [
    {
      key: "name",
      label: "Name",
      className: "name",
      cell: (token) => html`<span><bdi>${token.name}</bdi>${token.id === session.value.token_id && html`${" "}<span class="muted">this one</span>`}</span>`,
    },
    { key: "person", label: "Person", cell: (token) => html`<bdi class="wrap-anywhere">${token.person || "–"}</bdi>` },
    { key: "role", label: "Role", cell: (token) => token.role },
    { key: "streams", label: "Streams", cell: (token) => html`<span class="wrap-anywhere">${token.streams?.join(", ") ?? "all"}</span>` },
    { key: "state", label: "State", cell: TokenState },
    {
      key: "created",
      label: "Created",
      cell: (token) => html`<div><${Time} at=${token.created_at} /></div><div class="muted wrap-anywhere">by <bdi>${token.created_by}</bdi></div>`,
    },
    { key: "expires", label: "Expires", cell: (token) => html`<${Time} at=${token.expires_at} none="never" />` },
    { key: "id", label: "Id", cell: (token) => html`<code>${token.id}</code>` },
    {
      key: "actions",
      label: "",
      spoken: "Actions",
      right: true,
      cell: (token) =>
        isValid(token) &&
        token.id !== session.value.token_id &&
        html`<${Button} small kind="danger" label=${`Revoke ${token.name}`} onClick=${() => revoke(token)}>Revoke<//>`,
    },
  ];
}

function TokenState(token) {
  if (token.revoked_at !== null) return html`<span class="muted">revoked <${Time} at=${token.revoked_at} ago /></span>`;
  return isValid(token) ? "valid" : html`<span class="muted">expired</span>`;
}

function isValid(token) {
  return token.revoked_at === null && (token.expires_at === null || millis(token.expires_at) > now.value);
}

function byUse(tokens) {
  const newestFirst = [...tokens].reverse();
  return [...newestFirst.filter(isValid), ...newestFirst.filter((token) => !isValid(token))];
}

function Revoke({ token, onDone, onClose }) {
  const act = async (comment) => {
    await send("DELETE", path`/v1/tokens/${token.id}`, undefined, { query: { comment } });
    toast(apart`The token ${token.name} was revoked.`);
    onDone();
  };
  return html`<${Confirm} title=${apart`Revoke the token ${token.name}?`} verb="Revoke" danger act=${act} onClose=${onClose}>
    <p>Anything that uses it is rejected from now on, and its sessions end. This cannot be undone.</p>
  <//>`;
}
