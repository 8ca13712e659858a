#!/usr/bin/env node
// Runs the program, which is in the package of this platform: npm installs only the one that fits.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const name = `@lately/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/lately`);
} catch {
  console.error(`lately: ${name} is not installed. Either there is no package for this platform (Linux needs glibc),`);
  console.error("or npm was told to leave out optional dependencies. With Rust, build the program from its source.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`lately: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
