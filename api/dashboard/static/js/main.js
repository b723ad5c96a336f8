// The entry: which page stands at which path, and the frame around all of them.
import { html, render, useEffect, useErrorBoundary, useState } from "../vendor/preact.js";
import { useArrival } from "./arrival.js";
import { returnToPlace, route, startRouter } from "./router.js";
import { halted } from "./api.js";
import { leave, readSession, session, sessionProblem } from "./session.js";
import { Shell } from "./shell.js";
import { SignInForm } from "./sign_in_form.js";
import { startTheme } from "./theme.js";
import { closeTexts } from "./ui/apart.js";
import { Button } from "./ui/button.js";
import { Dialog } from "./ui/dialog.js";
import { Empty } from "./ui/empty.js";
import { Loading } from "./ui/page.js";
import { ProblemBox } from "./ui/problem.js";
import { Toasts } from "./ui/toast.js";

// The first pattern that fits is taken.
const PAGES = {
  "/": () => import("./pages/overview.js"),
  "/streams/:stream": () => import("./pages/rules.js"),
  "/streams/:stream/rules": () => import("./pages/rules.js"),
  "/streams/:stream/new-rule": () => import("./pages/editor.js"),
  "/streams/:stream/rules/:id": () => import("./pages/rule.js"),
  "/streams/:stream/rules/:id/edit": () => import("./pages/editor.js"),
  "/streams/:stream/matches": () => import("./pages/matches.js"),
  "/streams/:stream/matches/:match_id": () => import("./pages/match.js"),
  "/streams/:stream/lists": () => import("./pages/lists.js"),
  "/streams/:stream/lists/:name": () => import("./pages/list.js"),
  "/streams/:stream/backtests/:number": () => import("./pages/backtest.js"),
  "/streams/:stream/jobs/:name": () => import("./pages/job.js"),
  "/proposals": () => import("./pages/proposals.js"),
  "/proposals/:number": () => import("./pages/proposal.js"),
  "/activity": () => import("./pages/activity.js"),
  "/tokens": () => import("./pages/tokens.js"),
  "/webhooks": () => import("./pages/webhooks.js"),
  "/sign-in": () => import("./pages/sign_in.js"),
};
const RETRY_MS = 3_000;
const loaded = new Map();

function App() {
  const { pattern, path } = route.value;
  if (sessionProblem.value && session.value === undefined) {
    return html`<main class="page"><${ProblemBox} problem=${sessionProblem.value} /></main>`;
  }
  if (session.value === undefined) return html`<${Loading} />`;
  if (session.value === null || pattern === "/sign-in") {
    return html`<${Page} key="sign-in" pattern="/sign-in" /><${Toasts} />`;
  }
  return html`<${Shell}><${Page} key=${path} pattern=${pattern} /><//>
    ${halted.value && html`<${SignInAgain} />`}<${Toasts} />`;
}

// Over the page, which stays as it is.
function SignInAgain() {
  return html`<${Dialog} title="Your session has ended" onClose=${() => {}}>
    <${SignInForm}>
      <p>
        The token you signed in with has expired or was revoked, or you signed out in another tab. Sign in to continue where you left off; what you have
        written on this page is kept.
      </p>
    <//>
    <${Button} kind="plain" onClick=${leave}>Leave this page<//>
  <//>`;
}

function Page({ pattern }) {
  const [Component, setComponent] = useState(() => loaded.get(pattern));
  const [failure, setFailure] = useState(false);
  const [mistake] = useErrorBoundary((error) => console.error(error));
  const isThere = useArrival(Boolean(Component), returnToPlace);
  useEffect(() => {
    if (Component || pattern === null) return undefined;
    let timer = null;
    const load = () =>
      PAGES[pattern]().then(
        (module) => {
          loaded.set(pattern, module.default);
          setComponent(() => module.default);
        },
        () => {
          setFailure(true);
          timer = setTimeout(load, RETRY_MS);
        },
      );
    load();
    return () => clearTimeout(timer);
  }, []);
  if (pattern === null) {
    return html`<${Empty} title="Page not found">
      <p>The link may be out of date. Choose a page above.</p>
    <//>`;
  }
  if (mistake) return html`<${ProblemBox} problem=${mistake} />`;
  if (!Component && failure) return html`<${NotLoaded} />`;
  if (!Component) return html`<${Loading} />`;
  return html`${!isThere && html`<${Loading} />`}
    <div class=${isThere ? "arrival" : "arrival awaited"}><${Component} params=${route.value.params} /></div>`;
}

function NotLoaded() {
  return html`<${Empty} title="This page has not loaded yet">
    <p role="status">Retrying every few seconds. If this persists, reload: the service may have been updated.</p>
    <${Button} onClick=${() => location.reload()}>Reload<//>
  <//>`;
}

startTheme();
closeTexts();
startRouter(Object.keys(PAGES));
PAGES[route.value.pattern]?.().catch(() => {}); // fetched meanwhile; Page tells of a failure
const place = document.getElementById("app");
place.replaceChildren(); // the outline that stood there until now
render(html`<${App} />`, place);
readSession();
