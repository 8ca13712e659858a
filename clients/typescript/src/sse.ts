// Parses `text/event-stream`.

import { unreachable } from "./problem.js";

export interface Frame {
  event: string;
  /** Absent if the frame has none: the position stays. */
  id?: string;
  data: string;
}

/** The frames of a stream. A frame that is incomplete because of a cut is dropped. */
export async function* frames(stream: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw unreachable(error);
      });
      if (done) return;
      text += decoder.decode(value, { stream: true });
      // Half of a line end may still be on its way.
      const blocks = text.replace(/\r\n/g, "\n").split("\n\n");
      text = blocks.pop()!;
      yield* blocks.map(parse).filter((frame) => frame.data !== "" || frame.id !== undefined);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parse(block: string): Frame {
  const frame: Frame = { event: "message", data: "" };
  for (const line of block.split("\n")) {
    // JSON may contain U+2028 and U+2029, which `.` matches only with the flag `s`.
    const [, name, value = ""] = /^(\w+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "event") frame.event = value;
    if (name === "id") frame.id = value;
    if (name === "data") frame.data += (frame.data && "\n") + value;
  }
  return frame;
}
