// Calls functions through @supabase/postgrest-js: one JSON object a line in, one a line out.
import { createInterface } from "node:readline";
import { PostgrestClient } from "@supabase/postgrest-js";

async function call({ id, url, token, name, args }) {
  let headers = {};
  const client = new PostgrestClient(url, {
    schema: "preauth_api",
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    fetch: async (...request) => {
      const response = await fetch(...request);
      headers = Object.fromEntries(response.headers);
      return response;
    },
  });
  const { data, error, status } = await client.rpc(name, args);
  return { id, data, error, status, headers };
}

for await (const line of createInterface({ input: process.stdin })) {
  call(JSON.parse(line)).then((reply) => process.stdout.write(`${JSON.stringify(reply)}\n`));
}
