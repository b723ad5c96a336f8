// Who is signed in, and what that role may do.
import { signal } from "../vendor/preact.js";
import { Problem, ask, get, halted, onUnauthorized, resume, send } from "./api.js";

const RETRY_MS = 3_000;
const RANKS = ["viewer", "author", "publisher", "admin"];

/** {name, role, token_id, streams}; null = nobody is signed in; undefined = not known yet. */
export const session = signal(undefined);

/** Whether somebody was signed in here with a token that has expired or was revoked. */
export const isOver = signal(false);

/** Why the session could not be read, if it could not. */
export const sessionProblem = signal(null);

// Whoever was signed in stays on the page: what they have written there is not lost by signing in again.
onUnauthorized(() => {
  if (session.value) halted.value = true;
  else session.value = null;
});

/** Returns whether the one signed in has this role or a higher one. */
export function can(role) {
  const rank = RANKS.indexOf(session.value?.role);
  return rank >= 0 && rank >= RANKS.indexOf(role);
}

/** Returns the names of the streams that the token is confined to; null = all streams. */
export function confinedTo() {
  return session.value?.streams ?? null;
}

/** Asks the service who is signed in. */
export async function readSession() {
  try {
    const answer = await get("/session");
    isOver.value = answer?.is_over === true;
    session.value = isOver.value ? null : answer;
    sessionProblem.value = null;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    sessionProblem.value = problem;
    setTimeout(readSession, RETRY_MS);
  }
}

/** Signs in; throws a Problem. */
export async function signIn(token) {
  session.value = await ask("/session", { token });
  sessionProblem.value = null;
  if (halted.value) resume();
}

/** Signs out, also on the service. */
export async function signOut() {
  await send("DELETE", "/session");
  leave();
}

/** Forgets who was signed in: a page for signing in takes the place of what was shown. */
export function leave() {
  session.value = null;
  isOver.value = false;
  halted.value = false;
}
