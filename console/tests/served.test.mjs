import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { entries, open, url } from "./stage.mjs";

/** The most bytes of the first load, compressed. */
const MOST = 120 * 1024;

test("the page is small, loads only its own files, and has a strict policy", async (t) => {
  const page = await open(t);
  await entries(page).first().waitFor();
  const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map((it) => it.name));
  const files = [`${url}/`, ...new Set(loaded.filter((it) => it.startsWith(`${url}/console/`)))];
  let bytes = 0;
  for (const file of files) {
    const answer = await fetch(file);
    assert.equal(answer.status, 200);
    const policy = answer.headers.get("Content-Security-Policy");
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(policy, /unsafe/);
    bytes += gzipSync(await answer.arrayBuffer()).byteLength;
  }
  assert.ok(files.length > 20);
  assert.ok(bytes < MOST, `${bytes} bytes`);
  t.diagnostic(`${files.length} files, ${bytes} bytes compressed`);
  assert.equal(await page.locator("script:not([src]), style, [style]:not(.row, .rows, .bar-fill)").count(), 0);
});

test("the policy stops injected scripts", async (t) => {
  const page = await open(t, "", { expected: [/Content Security Policy/] });
  const stopped = await page.evaluate(async () => {
    const violations = [];
    document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "document.title = 'taken'";
    const image = document.createElement("img");
    image.setAttribute("onload", "document.title = 'taken'");
    image.src = "/console/icon.svg?none";
    document.body.append(script, image);
    await new Promise((resolve) => setTimeout(resolve, 500));
    return violations;
  });
  assert.deepEqual(stopped.sort(), ["script-src-attr", "script-src-elem"]);
  assert.equal(await page.title(), "Timeline · Lately");
});

test("all modules are requested at once, and the page says that it loads", async (t) => {
  const page = await open(t);
  const modules = await page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .map((it) => new URL(it.name).pathname)
      .filter((it) => it.endsWith(".js") && it !== "/console/app.js"),
  );
  const html = await (await fetch(url)).text();
  const preloaded = [...html.matchAll(/modulepreload" href="([^"]+)"/g)].map(([, path]) => path);
  assert.deepEqual(preloaded, [...new Set(modules)].sort());
  assert.match(html, /<div id="panel"><p class="muted">Loading…/);
});
