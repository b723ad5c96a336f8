// Signing in with an access token.
import { html, useEffect, useState } from "../../vendor/preact.js";
import { navigate, route } from "../router.js";
import { session, signIn } from "../session.js";
import { Button } from "../ui/button.js";
import { TextField } from "../ui/field.js";
import { ProblemBox } from "../ui/problem.js";

const ICON = new URL("../../icon.svg", import.meta.url).href;

export default function SignInPage() {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    document.title = "Sign in · Percept";
    if (session.value) navigate("/", {}, { replace: true });
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await signIn(token.trim());
      if (route.value.pattern === "/sign-in") navigate("/", {}, { replace: true });
    } catch (error) {
      setProblem(told(error));
    } finally {
      setBusy(false);
    }
  };
  return html`<main class="sign-in">
    <form onSubmit=${submit}>
      <span class="brand"><img src=${ICON} alt="" width="32" height="32" /> Percept</span>
      <h1>Sign in</h1>
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
        hint="It begins with percept_. An admin makes one here under Tokens, or with: percept token create NAME --role viewer"
      />
      ${problem && html`<${ProblemBox} problem=${problem} />`}
      <${Button} kind="primary" type="submit" busy=${busy}>Sign in<//>
    </form>
  </main>`;
}

function told(problem) {
  if (problem.status !== 401) return problem;
  const detail = "It may be mistyped, expired or revoked. Ask an admin for a new one.";
  return Object.assign(new Error(detail), { status: 401, title: "This token is not valid", detail });
}
