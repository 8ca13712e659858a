// The adapter of the conformance suite: reads calls as JSON lines, makes them, and writes their results.

import { createInterface } from "node:readline";

import { Lately, LatelyProblem } from "../dist/index.js";

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const camelKeys = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [camel(name), value]));

let lately;
let calls = [];
const iterators = new Map();

/** The handles' names take one argument each, but these. */
const NAMES = { profile: 0, sessions: 0, erasures: 0, repo: 2 };

/** `topic.consumer.poll` of two names: the method, bound to its handle. */
function method(path, names) {
  const rest = [...names];
  const steps = path.split(".");
  const last = camel(steps.pop());
  let handle = lately;
  for (const step of steps) {
    const member = handle[step];
    handle = typeof member === "function" ? member.apply(handle, rest.splice(0, NAMES[step] ?? 1)) : member;
  }
  return handle[last].bind(handle);
}

/** Functions cannot be sent, so a case says which change it means. */
const change = ({ increment, set }) =>
  increment ? (value) => ({ ...value, [increment]: (value?.[increment] ?? 0) + 1 }) : () => set;

const begin = ({ do: path, of: names = [], with: values = [], named }) =>
  method(path, names)(...(path.endsWith(".update") ? values.map(change) : values), ...(named ? [named] : []));

async function take(iterator, count) {
  const found = [];
  while (found.length < count) {
    const { done, value } = await iterator.next();
    if (done) break;
    found.push(value);
  }
  return found;
}

async function handle(message) {
  if (message.client) {
    iterators.clear();
    lately = new Lately({ backoff: 0.02, ...camelKeys(message.client), onCall: (call) => calls.push(call) });
  } else if (message.start) {
    iterators.set(message.start, begin(message));
  } else if (message.next) {
    return take(iterators.get(message.next), message.count ?? 1);
  } else if (message.stop) {
    await iterators.get(message.stop).return();
  } else {
    const result = begin(message);
    if (result?.[Symbol.asyncIterator]) {
      const found = await take(result, message.take ?? Infinity);
      await result.return();
      return found;
    }
    return result;
  }
  return null;
}

for await (const line of createInterface({ input: process.stdin })) {
  calls = [];
  let answer;
  try {
    answer = { value: (await handle(JSON.parse(line))) ?? null };
  } catch (error) {
    if (!(error instanceof LatelyProblem)) throw error;
    answer = { problem: { ...error, retry_after: error.retryAfter } };
  }
  process.stdout.write(`${JSON.stringify({ ...answer, calls })}\n`);
}
