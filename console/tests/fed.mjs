// A timeline whose stream of new events is made in the page, at rates that no server limits.

import { open, topic } from "./stage.mjs";

/** Opens a timeline whose events come from the page: `stream_.send(texts)` lands events with these texts. */
export async function fed(t, options) {
  const name = await topic();
  const page = await open(t, "#system", options);
  await page.evaluate((wanted) => {
    const real = globalThis.fetch;
    const encoder = new TextEncoder();
    let number = 0;
    const fed = { time: [] };
    fed.send = (texts) => {
      const blocks = texts.map((text) => {
        number += 1;
        const id = `0${String(Date.now())}-${String(number).padStart(9, "0")}`;
        const event = { id, at: new Date().toISOString(), type: "note.added", actor: "ada", data: { text } };
        return `id: here\nevent: event\ndata: ${JSON.stringify(event)}\n\n`;
      });
      fed.controller.enqueue(encoder.encode(blocks.join("")));
    };
    globalThis.stream_ = fed;
    globalThis.fetch = (target, sent) => {
      if (!String(target).includes(`/topics/${wanted}/live`))
        return real(target, sent);
      return Promise.resolve(new Response(new ReadableStream({ start: (controller) => (fed.controller = controller) })));
    };
    location.hash = `events?topic=${wanted}`;
  }, name);
  await page.getByText("No events here.").waitFor();
  return page;
}

/** The text of the list's first row. */
export const first = (page) => page.locator('.row[aria-posinset="1"]:not([hidden]) .row-data').innerText();
