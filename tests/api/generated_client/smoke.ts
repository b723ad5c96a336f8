// The life of a rule, by the generated client alone. It ends with an error unless all of it holds.
import assert from "node:assert/strict";
import { env } from "node:process";

import { client } from "./client/client.gen";
import {
  createProcessor,
  deleteProcessor,
  listProcessors,
  listVersions,
  pauseProcessor,
  readProcessor,
  registerStream,
  replaceProcessor,
  type Problem,
  type ProcessorDocument,
} from "./client";

client.setConfig({ baseUrl: env.PERCEPT_URL!, auth: () => env.PERCEPT_TOKEN! });

async function main(): Promise<void> {
  const stream = await registerStream({
    body: {
      name: "payments",
      schema: "user STRING, amount DOUBLE, ts TIMESTAMP",
      event_time_column: "ts",
      allowed_delay_ms: 5_000,
    },
  });
  assert.equal(stream.response.status, 201);

  const rule: ProcessorDocument = {
    id: "rising",
    stream: "payments",
    key_by: ["user"],
    pattern: {
      steps: [
        { name: "small", where: "amount < 10" },
        { name: "large", contiguity: "followed_by", where: "amount > 1000" },
      ],
      within: "10 minutes",
    },
  };
  const created = await createProcessor({ body: rule, headers: { "Idempotency-Key": "smoke-1" } });
  assert.equal(created.data?.version, 1);
  const repeated = await createProcessor({ body: rule, headers: { "Idempotency-Key": "smoke-1" } });
  assert.equal(repeated.response.status, 201);

  const wrong = await createProcessor({ body: { ...rule, id: "wrong", key_by: ["nobody"] } });
  const problem: Problem | undefined = wrong.error;
  assert.equal(wrong.response.status, 422);
  assert.equal(problem?.errors?.[0]?.pointer, "/key_by/0");

  const etag = created.response.headers.get("ETag")!;
  const replaced = await replaceProcessor({
    path: { processor_id: "rising" },
    body: { ...rule, pattern: { ...rule.pattern, within: "1 hour" } as ProcessorDocument["pattern"] },
    headers: { "If-Match": etag },
  });
  assert.equal(replaced.data?.version, 2);
  const stale = await replaceProcessor({
    path: { processor_id: "rising" },
    body: rule,
    headers: { "If-Match": etag },
  });
  assert.equal(stale.response.status, 412);

  const known = replaced.response.headers.get("ETag")!;
  const read = await readProcessor({
    path: { processor_id: "rising" },
    headers: { "If-None-Match": known },
  });
  assert.equal(read.response.status, 304);

  assert.deepEqual(await versions(null), [2, 1]);

  assert.ok((await pauseProcessor({ path: { processor_id: "rising" }, headers: { "If-Match": "*" } })).data);
  await deleteProcessor({ path: { processor_id: "rising" }, headers: { "If-Match": "*" } });
  assert.deepEqual((await listProcessors({ query: { stream: "payments" } })).data?.items, []);
  console.log("done");
}

async function versions(cursor: string | null): Promise<number[]> {
  const path = { processor_id: "rising" };
  const { data } = await listVersions({ path, query: { limit: 1, cursor }, throwOnError: true });
  const numbers = data.items.map(({ version }) => version);
  return data.next_cursor ? [...numbers, ...(await versions(data.next_cursor))] : numbers;
}

void main();
