// Makes the pictures of the documentation from the running page: `scripts/console --screenshots`.

import { mkdir } from "node:fs/promises";

import { DESKTOP, launch, PHONE, post, url } from "./browser.mjs";

const folder = process.argv[2];
await mkdir(folder, { recursive: true });
const browser = await launch();

/** Takes a picture of a page after `stage` has brought it into the right state. */
async function picture(name, hash, stage, options = {}) {
  const context = await browser.newContext({
    viewport: DESKTOP,
    colorScheme: "light",
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(`${url}/${hash}`);
  await stage(page);
  await page.screenshot({ path: `${folder}/console-${name}.png` });
  console.log(`${folder}/console-${name}.png`);
  await context.close();
}

const text = (actor, words) => post("posts", { type: "post.created", actor, data: { text: words } });

await picture("timeline", "", async (page) => {
  await page.locator(".row").first().waitFor();
  await text("carol", "Newest first, on DynamoDB");
  await text("bob", "Read this without reloading");
  await page.locator(".composer").getByLabel("Type").fill("post.created");
  await page.getByLabel("Text", { exact: true }).fill("Hello, timeline");
  await page.getByRole("button", { name: "Post", exact: true }).click();
  await page.locator(".composer .price").filter({ hasText: "write units" }).waitFor();
  await page
    .getByRole("listbox")
    .getByRole("option", { name: /Hello, timeline/ })
    .click();
  await page.locator(".detail").waitFor();
});

await picture("feed", "#feeds?user=bob", async (page) => {
  await page.getByRole("button", { name: "Mark all as seen" }).click();
  await page.getByText("All seen").waitFor();
  await text("ada", "A post on its way to every follower");
  await text("carol", "And one more");
  await page.getByText("2 unread").waitFor();
});

await picture(
  "phone",
  "",
  async (page) => {
    await page.locator(".row").first().waitFor();
    await page.locator(".composer").evaluate((it) => scrollTo(0, it.getBoundingClientRect().top - 110));
  },
  { viewport: PHONE, colorScheme: "dark", deviceScaleFactor: 2 },
);

await picture("conflict", "#issues", async (page) => {
  await page.getByRole("button", { name: "Open three example issues" }).click();
  await page.getByRole("button", { name: "The counter runs backwards" }).click();
  await page.locator(".column-side").getByLabel("Title").fill("The counter runs sideways");
  await page.getByRole("button", { name: "Simulate another user's change" }).click();
  await page.getByText(/has just changed the labels/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else changed this issue").waitFor();
});

await picture(
  "stream",
  "#stream",
  async (page) => {
    for (let number = 0; number < 12; number += 1) {
      await text("ada", `Number ${number}`);
      await page.waitForTimeout(700);
    }
  },
  { colorScheme: "dark" },
);

await picture(
  "designs",
  "#storage",
  async (page) => {
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("region", { name: "Designs compared" }).waitFor();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  },
  { colorScheme: "dark" },
);

await picture("heal", "#faults", async (page) => {
  await page.getByRole("button", { name: "Throttle and watch it heal" }).click();
  await page
    .locator(".steps")
    .getByText(/^Healed/)
    .waitFor();
});

await picture("storage", "#storage", async (page) => {
  await page.getByRole("grid").waitFor();
  await page.locator(".spreads summary").first().click();
  await page.getByRole("region", { name: /^Spreads of/ }).waitFor();
  await page.evaluate(() => scrollTo(0, 280));
});

await browser.close();
