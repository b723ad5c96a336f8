// Talks to the service: requests, its problem documents as errors, and data that stays fresh.
import { signal, useCallback, useEffect, useRef, useState } from "../vendor/preact.js";

/** Whether the newest request reached the service. */
export const reachable = signal(true);

let unauthorized = () => {};

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

async function request(method, url, body, { etag, headers = {}, contentType, signal: abort }) {
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
    reachable.value = false;
    throw new Problem({
      status: 0,
      title: "The service is not responding",
      detail: "Check the network and whether the service is running. This page retries automatically.",
    });
  }
  reachable.value = true;
  if (!answer.ok) throw await problemOf(answer);
  const data = answer.status === 204 ? null : await answer.json();
  return { data, etag: answer.headers.get("ETag") };
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
    detail: body.detail ?? `The answer was ${answer.status}.`,
    errors: body.errors ?? [],
    requestId: body.request_id ?? answer.headers.get("X-Request-ID") ?? "",
  });
}

/**
 * A hook: what a path answers, read again every so often while the tab is visible.
 * The data of before stays until new data is there, unless the path itself changes.
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
      setState((before) => ({
        path,
        url,
        data: before.path === path ? before.data : undefined,
        problem,
      }));
    }
  }, [url]);

  useEffect(() => {
    if (url === null) return undefined;
    refresh();
    const tick = () => document.visibilityState === "visible" && refresh();
    const timer = seconds ? setInterval(tick, seconds * 1000) : null;
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
      reading.current?.abort();
    };
  }, [url, seconds]);

  const isOfPath = state.path === path;
  return {
    data: isOfPath ? state.data : undefined,
    problem: isOfPath ? state.problem : null,
    loading: url !== null && state.url !== url,
    refresh,
  };
}
