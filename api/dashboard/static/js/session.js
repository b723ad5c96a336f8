// Who is signed in, and what that role may do.
import { signal } from "../vendor/preact.js";
import { Problem, get, onUnauthorized, send } from "./api.js";

const RANKS = ["viewer", "author", "publisher", "admin"];

/** {name, role, token_id}; null = nobody is signed in; undefined = not known yet. */
export const session = signal(undefined);

/** Why the session could not be read, if it could not. */
export const sessionProblem = signal(null);

onUnauthorized(() => {
  session.value = null;
});

/** Returns whether the one signed in has this role or a higher one. */
export function can(role) {
  const rank = RANKS.indexOf(session.value?.role);
  return rank >= 0 && rank >= RANKS.indexOf(role);
}

/** Asks the service who is signed in. */
export async function readSession() {
  try {
    session.value = await get("/session");
    sessionProblem.value = null;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    sessionProblem.value = problem;
  }
}

/** Signs in; throws a Problem. */
export async function signIn(token) {
  session.value = await send("POST", "/session", { token });
  sessionProblem.value = null;
}

/** Signs out, also on the service. */
export async function signOut() {
  await send("DELETE", "/session");
  session.value = null;
}
