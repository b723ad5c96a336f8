// Talks to the service: requests, its problem documents as errors, and data that stays fresh.
import { signal, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";

const RETRY_MS = 2_000;
const NOT_NOW = new Set([502, 503, 504]);

/** Whether the newest request reached the service. */
export const reachable = signal(true);

/** How often the service has been reached again, or a session begun again: what was not read meanwhile is read then. */
export const recoveries = signal(0);

/** Whether nothing is asked for: the session has ended, and somebody is asked to sign in again. */
export const halted = signal(false);

/** Goes on asking, and asks again for what was refused as the session had ended. */
export function resume() {
  halted.value = false;
  recoveries.value += 1;
}

let underWay = 0;
let unauthorized = () => {};
let probe = null;

/** How many answers are waited for. */
export function readsUnderWay() {
  return underWay;
}

/** Sets what happens when the service says that nobody is signed in. */
export function onUnauthorized(handler) {
  unauthorized = handler;
}

/** A refusal of the service, or a failure to reach it (status 0). */
export class Problem extends Error {
  constructor({ status, title, detail, errors = [], requestId = "" }) {
    super(detail || title);
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.errors = errors;
    this.requestId = requestId;
  }
}

/** Returns a path with a query; values that are null, undefined or "" are left out, arrays repeat. */
export function withQuery(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") parameters.append(name, String(each));
    }
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

/** Reads JSON. @returns {Promise<any>} the body; throws a Problem. */
export async function get(path, query, options = {}) {
  return (await request("GET", withQuery(path, query), undefined, options)).data;
}

/** Reads JSON with its ETag, to be sent back by `send(…, {etag})`. */
export async function getTagged(path, query, options = {}) {
  return request("GET", withQuery(path, query), undefined, options);
}

/**
 * Changes something.
 * @param {string} method POST, PUT, PATCH or DELETE
 * @param {any} body sent as JSON unless undefined; a string with `contentType` set goes as it is
 * @param {{etag?: string, query?: object, headers?: object, contentType?: string, signal?: AbortSignal}} options
 * @returns {Promise<any>} the body of the answer, null if it has none; throws a Problem
 */
export async function send(method, path, body, options = {}) {
  return (await request(method, withQuery(path, options.query), body, options)).data;
}

/** Posts what may be sent again without harm: a question that a GET cannot hold, or a sign-in. @returns {Promise<any>} as `send` does */
export async function ask(path, body, options = {}) {
  return (await request("POST", path, body, { ...options, isRead: true })).data;
}

async function request(method, url, body, options) {
  underWay += 1;
  try {
    return await answerTo(method, url, body, options);
  } finally {
    underWay -= 1;
  }
}

async function answerTo(method, url, body, { etag, headers = {}, contentType, signal: abort, isRead = method === "GET" }) {
  const sent = { Accept: "application/json", ...headers };
  if (method !== "GET") sent["X-Percept-Dashboard"] = "1";
  if (etag) sent["If-Match"] = etag;
  if (body !== undefined) sent["Content-Type"] = contentType ?? "application/json";
  let answer;
  try {
    answer = await fetch(url, {
      method,
      headers: sent,
      body: body === undefined || contentType ? body : JSON.stringify(body),
      signal: abort,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw away(isRead);
  }
  if (isOfProxy(answer) && (!reachable.value || !(await answers()))) throw away(isRead);
  recover();
  if (!answer.ok) throw await problemOf(answer);
  const data = answer.status === 204 ? null : await answer.json();
  return { data, etag: answer.headers.get("ETag") };
}

// What the service itself cannot do now it says in a problem document; without one, something in front of it answered.
function isOfProxy(answer) {
  return NOT_NOW.has(answer.status) && !answer.headers.get("Content-Type")?.startsWith("application/problem+json");
}

// Somebody has to notice that the service is back, also where no part of the page is read again by itself.
function away(isRead) {
  reachable.value = false;
  probe ??= setInterval(async () => (await answers()) && recover(), RETRY_MS);
  return new Problem({
    status: 0,
    title: "The service is not responding",
    detail:
      "Check the network and whether the service is running." +
      (isRead ? "" : " Your change may or may not have been made: check before you repeat it."),
  });
}

// Where the service answers, what failed is a problem of that path: it would only fail again if all were read again.
async function answers() {
  try {
    return !isOfProxy(await fetch("/session", { cache: "no-store" }));
  } catch {
    return false;
  }
}

function recover() {
  clearInterval(probe);
  probe = null;
  if (reachable.value) return;
  reachable.value = true;
  recoveries.value += 1;
}

async function problemOf(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // Not from the service itself: a proxy between, say. The status has to do.
  }
  if (answer.status === 401) unauthorized();
  return new Problem({
    status: answer.status,
    title: body.title ?? answer.statusText ?? "The request failed",
    detail: body.detail ?? `The service responded with status ${answer.status}.`,
    errors: body.errors ?? [],
    requestId: body.request_id ?? answer.headers.get("X-Request-ID") ?? "",
  });
}

/**
 * A hook: what a path answers, read again every so often while the tab is visible.
 * The data of before stays until new data is there, unless the path itself changes. While the service cannot be
 * reached there is no problem of this path: the frame says so once, and all is read when it is back.
 * @param {string|null} path null = nothing is read
 * @returns {{data: any, problem: Problem|null, loading: boolean, refresh: () => Promise<void>}}
 */
export function usePolled(path, query, seconds) {
  const url = path === null ? null : withQuery(path, query);
  const [state, setState] = useState({ path: null, url: null, data: undefined, problem: null });
  const reading = useRef(null);

  const refresh = useCallback(async () => {
    if (url === null) return;
    reading.current?.abort();
    const abort = new AbortController();
    reading.current = abort;
    try {
      const { data } = await request("GET", url, undefined, { signal: abort.signal });
      if (!abort.signal.aborted) setState({ path, url, data, problem: null });
    } catch (problem) {
      if (problem.name === "AbortError") return;
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status === 0 || halted.value) return;
      if (NOT_NOW.has(problem.status) && !seconds) setTimeout(() => !abort.signal.aborted && refresh(), RETRY_MS);
      setState((before) => ({
        path,
        url,
        data: before.path === path ? before.data : undefined,
        problem,
      }));
    } finally {
      if (reading.current === abort) reading.current = null;
    }
  }, [url]);

  const isHalted = halted.value;
  const turn = recoveries.value;
  useEffect(() => {
    if (url === null || isHalted) return undefined;
    refresh();
    // An answer may take longer than the pause between two: what is under way is waited for.
    const tick = () => document.visibilityState === "visible" && !reading.current && refresh();
    const timer = seconds ? setInterval(tick, seconds * 1000) : null;
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
      reading.current?.abort();
    };
  }, [url, seconds, isHalted, turn]);

  const isOfPath = state.path === path;
  return {
    data: isOfPath ? state.data : undefined,
    problem: isOfPath ? state.problem : null,
    loading: url !== null && state.url !== url,
    refresh,
  };
}

/**
 * A hook: what is read once, such as a text that never changes; again if it could not be read and the service is back.
 * As with `usePolled` there is no problem of it while the service cannot be reached.
 * @param {() => Promise<any>} read @param {any[]} inputs what it depends on; the data of before stays until new data is there
 * @returns {{data: any, problem: Error|null}}
 */
export function useRead(read, inputs) {
  const [state, setState] = useState({ data: undefined, problem: null });
  const known = useRef(null);
  const wanted = JSON.stringify(inputs);
  const isHalted = halted.value;
  const turn = recoveries.value;
  useEffect(() => {
    if (isHalted || known.current === wanted) return undefined;
    let isGone = false;
    let timer = null;
    const attempt = () =>
      read().then(
        (data) => {
          if (isGone) return;
          known.current = wanted;
          setState({ data, problem: null });
        },
        (problem) => {
          if (isGone || problem.status === 0 || halted.value) return;
          known.current = null;
          setState({ data: undefined, problem });
          if (NOT_NOW.has(problem.status)) timer = setTimeout(attempt, RETRY_MS);
        },
      );
    attempt();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [wanted, isHalted, turn]);
  return state;
}
