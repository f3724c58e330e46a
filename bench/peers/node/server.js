// llm-budget-cap behind Node's own http module: POST /reserve with Preauth's body, one budget an account.
import http from 'node:http';
import Redis from 'ioredis';
import { BudgetCap } from 'llm-budget-cap';

const MOST_BYTES = 64 * 1024;
const redis = new Redis({
  host: '127.0.0.1',
  port: Number(process.env.BENCH_REDIS_PORT),
  enableOfflineQueue: true,
  maxRetriesPerRequest: 2,
});
const cap = new BudgetCap({ redis, key: 'budget', limit: 9_000_000_000_000_000, failOpen: false });

function answer(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

async function reserve(body, response) {
  try {
    const { request_id, account_id, amounts } = JSON.parse(body);
    const { allowed, remaining } = await cap.reserve(account_id, amounts.usd_nano);
    const decision = allowed ? 'authorized' : 'denied';
    answer(response, allowed ? 200 : 429, { request_id, account_id, decision, available: remaining });
  } catch (error) {
    answer(response, error instanceof SyntaxError ? 400 : 503, { error: String(error) });
  }
}

const server = http.createServer((request, response) => {
  if (request.method !== 'POST' || request.url !== '/reserve') {
    answer(response, 404, {});
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (part) => {
    body += part;
    if (body.length > MOST_BYTES) request.destroy();
  });
  request.on('end', () => reserve(body, response));
});

server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.BENCH_PORT), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
