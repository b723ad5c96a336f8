// Sentences that hold texts of others: each runs in its own direction and reorders nothing beside it.
import { html, options } from "../../vendor/preact.js";
import { closed } from "./visible.js";

/** A tag of templates: apart`Pause ${rule.id}?`; what is put in is a name or a text of somebody. @returns {any} to be rendered */
export function apart(words, ...texts) {
  return html`${words.map((each, index) => html`${each}${index < texts.length && html`<bdi>${texts[index]}</bdi>`}`)}`;
}

/** Lets no text in a `<bdi>` end what sets it apart: to browsers a mark that ends an isolation ends that one, too. */
export function closeTexts() {
  const before = options.vnode;
  options.vnode = (node) => {
    if (node.type === "bdi") node.props.children = closedIn(node.props.children);
    before?.(node);
  };
}

function closedIn(children) {
  if (Array.isArray(children)) return children.map(closedIn);
  return typeof children === "string" ? closed(children) : children;
}
