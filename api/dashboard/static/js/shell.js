// The frame of every page: top bar with the stream, the pages and the person; messages.
import { html, useEffect } from "../vendor/preact.js";
import { reachable } from "./api.js";
import { Link, navigate, path, route } from "./router.js";
import { can, session, signOut } from "./session.js";
import { chooseStream, readStreams, stream, streams } from "./streams.js";
import { theme, toggleTheme } from "./theme.js";
import { Button } from "./ui/button.js";
import { Menu } from "./ui/menu.js";
import { toastProblem } from "./ui/toast.js";

const ICON = new URL("../icon.svg", import.meta.url).href;

/** The frame; its children are the page. */
export function Shell({ children }) {
  useEffect(() => {
    readStreams().catch(toastProblem);
  }, [session.value?.token_id]);
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
      The service is not responding. What you see may be out of date; retrying.
    </p>`}
    <main class="page" id="page" tabindex="-1">${children}</main>`;
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
    navigate(pattern.includes("/matches") ? path`/streams/${name}/matches` : path`/streams/${name}/rules`);
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
  if (name) pages.push([path`/streams/${name}/rules`, "Rules"], [path`/streams/${name}/matches`, "Matches"]);
  pages.push(["/activity", "Activity"]);
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
    <hr />
    <button type="button" onClick=${leave}>Sign out</button>
  <//>`;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("page").focus();
}
