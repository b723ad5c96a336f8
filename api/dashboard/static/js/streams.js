// The streams there are, and the one being looked at: that of the page, else the last one chosen.
import { computed, effect, signal } from "../vendor/preact.js";
import { get } from "./api.js";
import { route } from "./router.js";

const KEY = "percept.stream";
const remembered = signal(localStorage.getItem(KEY) ?? "");

/** All streams by name; null = not read yet. */
export const streams = signal(null);

/** The name of the chosen stream, or "" if there is none. */
export const stream = computed(() => {
  const ofPage = route.value.params.stream;
  if (ofPage) return ofPage;
  const names = (streams.value ?? []).map((each) => each.name);
  return names.includes(remembered.value) ? remembered.value : (names[0] ?? "");
});

effect(() => {
  const ofPage = route.value.params.stream;
  if (!ofPage) return;
  remembered.value = ofPage;
  localStorage.setItem(KEY, ofPage);
});

/** The definition of a stream; undefined if there is none, or streams have not been read yet. */
export function streamNamed(name) {
  return streams.value?.find((each) => each.name === name);
}

/** Chooses a stream for pages that name none. */
export function chooseStream(name) {
  remembered.value = name;
  localStorage.setItem(KEY, name);
}

/** Reads the streams; throws a Problem. */
export async function readStreams() {
  const found = [];
  let cursor = null;
  do {
    const page = await get("/v1/streams", { limit: 500, cursor });
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  streams.value = found;
}
