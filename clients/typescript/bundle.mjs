// Writes what the console uses of this client into one module, `console/client.js`, so that `cargo run` needs no Node.js.
// `--check` fails if the module is out of date. Needs the packages that `scripts/clients` installs.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const MODULE = new URL("../../console/client.js", import.meta.url);
const NOTICE = "// Made of the TypeScript client by clients/typescript/bundle.mjs. Do not edit.";
const ENTRY = `
export { parseCost } from "./cost.js";
export { follow } from "./follow.js";
export { LatelyProblem } from "./problem.js";
export { problemOf, Transport } from "./transport.js";
`;

const { outputFiles } = await build({
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  stdin: { contents: ENTRY, resolveDir: "src", loader: "ts" },
  bundle: true,
  format: "esm",
  target: "es2022",
  banner: { js: NOTICE },
  write: false,
});
const { text } = outputFiles[0];
if (!process.argv.includes("--check")) writeFileSync(MODULE, text);
else if (readFileSync(MODULE, "utf8") !== text) throw new Error("console/client.js is out of date: run clients/typescript/bundle.mjs");
