// A consumer: every event of a topic, late ones included, in batches that are committed.

import * as api from "./api.js";
import type { Transport } from "./transport.js";

export class Consumer<T = unknown> {
  constructor(
    private readonly transport: Transport,
    readonly topic: string,
    readonly name: string,
  ) {}

  get(): Promise<api.Consumer> {
    return this.transport.value(api.getConsumer(this.topic, this.name));
  }

  put(settings: api.NewConsumer = {}): Promise<api.Consumer> {
    return this.transport.value(api.putConsumer(this.topic, this.name, settings));
  }

  delete(): Promise<void> {
    return this.transport.value(api.deleteConsumer(this.topic, this.name));
  }

  poll(options: api.Poll = {}): Promise<api.Polled<T>> {
    return this.transport.value(api.poll(this.topic, this.name, options));
  }

  commit(batch: string): Promise<void> {
    return this.transport.value(api.commit(this.topic, this.name, { batch }));
  }

  seek(to: string | Date): Promise<api.Consumer> {
    return this.transport.value(api.seek(this.topic, this.name, { to }));
  }

  runs(query: api.ListRunsQuery = {}): AsyncGenerator<api.Run> {
    return this.transport.list(
      (query) => api.listRuns(this.topic, this.name, query),
      ({ runs }) => runs,
      query,
    );
  }

  /**
   * Batches until there are no more events. A batch is committed when the loop asks for the next: a batch whose
   * handling failed comes again.
   */
  async *batches(options: api.Poll = {}): AsyncGenerator<api.Polled<T>> {
    for (;;) {
      const polled = await this.poll(options);
      if (polled.batch !== null) {
        yield polled;
        await this.commit(polled.batch);
      } else if (polled.caught_up) return;
      // Else the poll has reached its read limit. The next one continues there.
    }
  }
}
