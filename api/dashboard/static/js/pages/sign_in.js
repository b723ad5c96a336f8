// Signing in with an access token.
import { html, useEffect } from "../../vendor/preact.js";
import { navigate, route } from "../router.js";
import { isOver, session } from "../session.js";
import { SignInForm } from "../sign_in_form.js";

const ICON = new URL("../../icon.svg", import.meta.url).href;

export default function SignInPage() {
  useEffect(() => {
    document.title = "Sign in · Percept";
    if (session.value) navigate("/", {}, { replace: true });
  }, []);
  const { pattern, path } = route.value;
  const isAsked = pattern !== "/sign-in";
  const done = () => !isAsked && navigate("/", {}, { replace: true });
  return html`<main class="sign-in">
    <div class="sign-in-card">
      <${SignInForm} onDone=${done}>
        <span class="brand"><img src=${ICON} alt="" width="32" height="32" /> Percept</span>
        <h1>Sign in</h1>
        ${isOver.value &&
        html`<p role="status"><strong>Your session has ended.</strong> The token you signed in with has expired or was revoked.</p>`}
        ${isAsked && path !== "/" && html`<p class="secondary wrap-anywhere">to open ${path}</p>`}
      <//>
    </div>
  </main>`;
}
