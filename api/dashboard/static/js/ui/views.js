// Saved views: the filters and order of a list under a name, kept in this browser.
import { html, signal, useState } from "../../vendor/preact.js";
import { Link, route } from "../router.js";
import { Button } from "./button.js";
import { Dialog } from "./dialog.js";
import { TextField } from "./field.js";
import { Menu } from "./menu.js";
import { isolated } from "./visible.js";

const MOST = 30;
const views = new Map();

/** @param {{list: string}} properties list: the name under which views of this list are kept */
export function ViewsMenu({ list }) {
  const [isNaming, setNaming] = useState(false);
  const kept = viewsOf(list);
  const { path, query } = route.value;
  const { page: _page, cursor: _cursor, open: _open, ...shown } = query;
  const save = (name) => keep(list, [...kept.value.filter((each) => each.name !== name), { name, query: shown }]);
  return html`<${Menu} label="Saved views" icon="views">
      ${kept.value.map(
        (each) => html`<span key=${each.name} class="saved-view">
          <${Link} href=${path} query=${each.query} class="wrap-anywhere"><bdi>${each.name}</bdi><//>
          <${Button}
            small
            kind="plain"
            icon="cross"
            label=${`Delete the view ${isolated(each.name)}`}
            onClick=${(event) => {
              event.stopPropagation();
              keep(list, kept.value.filter((other) => other !== each));
            }}
          />
        </span>`,
      )}
      ${!kept.value.length && html`<span class="secondary">No saved views yet</span>`}
      <hr />
      <button type="button" disabled=${kept.value.length >= MOST} onClick=${() => setNaming(true)}>Save this view…</button>
    <//>
    ${isNaming && html`<${Naming} taken=${kept.value} save=${save} onClose=${() => setNaming(false)} />`}`;
}

function Naming({ taken, save, onClose }) {
  const [name, setName] = useState("");
  const isTaken = taken.some((each) => each.name === name.trim());
  const submit = (event) => {
    event.preventDefault();
    save(name.trim());
    onClose();
  };
  return html`<${Dialog} title="Save this view" onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      <${TextField}
        label="Name"
        hint=${isTaken ? "Replaces the view with that name." : "Filters and order are kept in this browser. To share them, send the address of this page."}
        value=${name}
        onInput=${setName}
        maxlength="80"
        required
        autocomplete="off"
      />
      <footer class="row">
        <${Button} kind="plain" onClick=${onClose}>Cancel<//>
        <${Button} kind="primary" type="submit" disabled=${!name.trim()}>Save<//>
      </footer>
    </form>
  <//>`;
}

function viewsOf(list) {
  if (!views.has(list)) views.set(list, signal(read(list)));
  return views.get(list);
}

function read(list) {
  try {
    const found = JSON.parse(localStorage.getItem(`percept.views.${list}`));
    return Array.isArray(found) ? found.filter((each) => typeof each?.name === "string" && each.query) : [];
  } catch {
    return [];
  }
}

function keep(list, kept) {
  viewsOf(list).value = kept;
  localStorage.setItem(`percept.views.${list}`, JSON.stringify(kept));
}
