// The form that takes an access token; on a page of its own, and over a page whose session has ended.
import { html, useState } from "../vendor/preact.js";
import { signIn } from "./session.js";
import { Button } from "./ui/button.js";
import { TextField } from "./ui/field.js";
import { ProblemBox } from "./ui/problem.js";
import { useSubmit } from "./ui/submit.js";

/** @param {{onDone?: () => void, children?: any}} properties children: what stands above the field */
export function SignInForm({ onDone = () => {}, children }) {
  const [token, setToken] = useState("");
  const { submit, busy, problem } = useSubmit(async () => {
    try {
      await signIn(token.trim());
    } catch (error) {
      throw told(error);
    }
    onDone();
  });
  return html`<form class="stack" onSubmit=${submit}>
    ${children}
    <${TextField}
      label="Access token"
      type="password"
      name="token"
      autocomplete="current-password"
      spellcheck="false"
      required
      autofocus
      value=${token}
      onInput=${setToken}
      hint="It starts with percept_. An admin creates one here under Tokens, or with: percept token create NAME --role viewer"
    />
    ${problem && html`<${ProblemBox} problem=${problem} />`}
    <${Button} kind="primary" type="submit" busy=${busy}>Sign in<//>
  </form>`;
}

function told(problem) {
  if (problem.status !== 401) return problem;
  const detail = "It may be mistyped, expired or revoked. Ask an admin for a new one.";
  return Object.assign(new Error(detail), { status: 401, title: "This token is not valid", detail });
}
