// The entry: which page stands at which path, and the frame around all of them.
import { html, render, useEffect, useErrorBoundary, useState } from "../vendor/preact.js";
import { route, startRouter } from "./router.js";
import { readSession, session, sessionProblem } from "./session.js";
import { Shell } from "./shell.js";
import { startTheme } from "./theme.js";
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
  "/streams/:stream/jobs/:name": () => import("./pages/job.js"),
  "/activity": () => import("./pages/activity.js"),
  "/tokens": () => import("./pages/tokens.js"),
  "/sign-in": () => import("./pages/sign_in.js"),
};
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
  return html`<${Shell}><${Page} key=${path} pattern=${pattern} /><//><${Toasts} />`;
}

function Page({ pattern }) {
  const [Component, setComponent] = useState(() => loaded.get(pattern));
  const [failure, setFailure] = useState(null);
  const [mistake] = useErrorBoundary((error) => console.error(error));
  useEffect(() => {
    if (Component || pattern === null) return;
    PAGES[pattern]().then(
      (module) => {
        loaded.set(pattern, module.default);
        setComponent(() => module.default);
      },
      (error) => {
        console.error(error);
        setFailure(new Error("This page could not be loaded. Reload to get the newest version."));
      },
    );
  }, []);
  if (pattern === null) {
    return html`<${Empty} title="Page not found">
      <p>The link may be out of date. Choose a page above.</p>
    <//>`;
  }
  if (mistake || failure) return html`<${ProblemBox} problem=${mistake ?? failure} />`;
  if (!Component) return html`<${Loading} />`;
  return html`<${Component} params=${route.value.params} />`;
}

startTheme();
startRouter(Object.keys(PAGES));
PAGES[route.value.pattern]?.().catch(() => {}); // fetched meanwhile; Page tells of a failure
render(html`<${App} />`, document.getElementById("app"));
readSession();
