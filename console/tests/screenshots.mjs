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

/** Newest events that a reader of the pictures understands. */
async function newest() {
  await text("ada", "Newest first, on DynamoDB");
  await text("bob", "Read this without reloading");
  await text("carol", "Hello, timeline");
}

const listed = async (page) => {
  await page.locator(".row", { hasText: "Hello, timeline" }).waitFor();
  await page.locator(".price", { hasText: "last read" }).first().waitFor();
};

await newest();

await picture(
  "timeline",
  "",
  async (page) => {
    await listed(page);
    await page.getByRole("listbox").getByRole("option", { name: /Hello, timeline/ }).click();
    await page.getByRole("button", { name: "Why?" }).click();
    await page.getByText("after its write").waitFor();
  },
  { viewport: { width: 1440, height: 900 } },
);

await picture("tablet", "", listed, { viewport: { width: 1024, height: 700 }, colorScheme: "dark" });

for (const colorScheme of ["light", "dark"])
  await picture(colorScheme === "dark" ? "phone" : "phone-light", "", listed, { viewport: PHONE, colorScheme, deviceScaleFactor: 2 });

await picture("price", "#events?topic=billing", async (page) => {
  const price = page.getByRole("button", { name: /^last read: / });
  const traces = page.getByRole("region", { name: "DynamoDB calls" });
  await page.locator(".row").first().waitFor();
  await price.click();
  await traces.first().waitFor();
  await page.getByRole("button", { name: "Pin" }).click();
  await page.getByRole("button", { name: "Load older" }).click();
  await page.getByText(/2 reads/).waitFor();
  await price.click();
  await traces.nth(1).waitFor();
});

await picture("feed", "#events?feed=bob", async (page) => {
  await page.getByRole("button", { name: "Mark all as seen" }).click();
  await page.getByText("All seen").waitFor();
  await text("ada", "A post on its way to every follower");
  await text("carol", "And one more");
  await page.getByText("2 unread").waitFor();
});

await picture("conflict", "#issues", async (page) => {
  await page.getByRole("button", { name: "Open three example issues" }).click();
  await page.getByRole("button", { name: "The counter runs backwards" }).click();
  await page.locator(".column").getByLabel("Title").fill("The counter runs sideways");
  await page.getByRole("button", { name: "Simulate another user's change" }).click();
  await page.getByText(/has just changed the labels/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Somebody else changed this issue").waitFor();
});

await picture(
  "stream",
  "#system",
  async (page) => {
    for (let number = 0; number < 12; number += 1) {
      await text("ada", `Number ${number}`);
      await page.waitForTimeout(700);
    }
  },
  { colorScheme: "dark" },
);

await picture("heal", "#system", async (page) => {
  await page.getByRole("button", { name: "Throttle and watch it heal" }).click();
  await page
    .locator(".steps")
    .getByText(/^Healed/)
    .waitFor();
});

await picture("storage", "#shards", async (page) => {
  await page.getByRole("grid").waitFor();
  await page.getByText(/^Spreads of /).first().click();
  await page.getByRole("region", { name: /^Spreads of/ }).waitFor();
  await page.evaluate(() => scrollTo(0, 280));
});

await browser.close();
