// The frame of every page: top bar with the stream, the pages and the person; messages.
import { html, useEffect } from "../vendor/preact.js";
import { reachable, recoveries } from "./api.js";
import { Link, navigate, path, route } from "./router.js";
import { can, confinedTo, session, signOut } from "./session.js";
import { Shortcuts, showShortcuts } from "./shortcuts.js";
import { chooseStream, readStreams, stream, streams } from "./streams.js";
import { theme, toggleTheme } from "./theme.js";
import { Button } from "./ui/button.js";
import { Menu } from "./ui/menu.js";
import { toastProblem } from "./ui/toast.js";

const ICON = new URL("../icon.svg", import.meta.url).href;

/** The frame; its children are the page. */
export function Shell({ children }) {
  const turn = recoveries.value;
  useEffect(() => {
    readStreams().catch((problem) => problem.status !== 0 && toastProblem(problem));
  }, [session.value?.token_id, turn]);
  return html`<a class="skip-link" href="#page" onClick=${skip}>Skip to content</a>
    <header class="top-bar">
      <${Link} href="/" class="brand" aria-label="Percept, overview">
        <img src=${ICON} alt="" width="22" height="22" /> Percept
      <//>
      <${StreamPicker} />
      <${Navigation} />
      <span class="spacer"></span>
      <${Button}
        kind="plain"
        icon=${theme.value === "dark" ? "sun" : "moon"}
        label=${theme.value === "dark" ? "Light theme" : "Dark theme"}
        onClick=${toggleTheme}
      />
      <${Person} />
    </header>
    ${!reachable.value &&
    html`<p class="connection-lost" role="alert">
      The service is not responding. What you see may be out of date. Retrying every few seconds.
    </p>`}
    <main class="page" id="page" tabindex="-1">${children}</main>
    <${Shortcuts} />`;
}

function StreamPicker() {
  const names = (streams.value ?? []).map((each) => each.name);
  if (!names.length) return null;
  const shown = names.includes(stream.value) || !stream.value ? names : [stream.value, ...names];
  const choose = (event) => {
    const name = event.currentTarget.value;
    chooseStream(name);
    const { pattern } = route.value;
    if (!pattern?.startsWith("/streams/")) return;
    const [, part] = /^\/streams\/:stream\/(matches|lists)/.exec(pattern) ?? [null, "rules"];
    navigate(path`/streams/${name}/${part}`);
  };
  return html`<label class="stream-picker">
    <span class="word">stream</span>
    <select class="select" aria-label="Stream" value=${stream.value} onChange=${choose}>
      ${shown.map((name) => html`<option key=${name} value=${name} selected=${name === stream.value}>${name}</option>`)}
    </select>
  </label>`;
}

function Navigation() {
  const here = route.value.path;
  const name = stream.value;
  const pages = [["/", "Overview"]];
  const ofStream = ["Rules", "Matches", "Lists"];
  if (name) pages.push(...ofStream.map((page) => [path`/streams/${name}/${page.toLowerCase()}`, page]));
  pages.push(["/proposals", "Proposals"], ["/activity", "Activity"]);
  if (can("admin")) pages.push(["/tokens", "Tokens"]);
  const isHere = (href) => (href === "/" ? here === "/" || here.includes("/jobs/") : here.startsWith(href));
  return html`<nav aria-label="Pages">
    <ul>
      ${pages.map(
        ([href, text]) => html`<li key=${text}>
          <${Link} href=${href} aria-current=${isHere(href) ? "page" : undefined}>${text}<//>
        </li>`,
      )}
    </ul>
  </nav>`;
}

function Person() {
  const { name, role } = session.value;
  const leave = () => signOut().then(() => navigate("/"), toastProblem);
  return html`<${Menu} label=${`Signed in as ${name}, ${role}`} icon="user" button=${html`<span class="person-name">${name}</span>`}>
    <span class="secondary">${name} · ${role}</span>
    ${confinedTo() && html`<span class="secondary wrap-anywhere">Streams: ${confinedTo().join(", ")}</span>`}
    <hr />
    <button type="button" onClick=${showShortcuts}>Keyboard shortcuts</button>
    <button type="button" onClick=${leave}>Sign out</button>
  <//>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("page").focus();
}
