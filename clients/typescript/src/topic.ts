// A topic: its settings, its events, its consumers.

import * as api from "./api.js";
import { batchesOf } from "./batches.js";
import { Consumer } from "./consumer.js";
import { keyHeader, randomKey } from "./key.js";
import { Timeline } from "./timeline.js";
import type { Transport } from "./transport.js";

export interface PostOptions {
  /**
   * The request's name for 24 hours: a repetition under the same key writes nothing twice. The default is a random key.
   * `null` sends no key, which costs two write units less; then the client does not repeat a post that may be written.
   */
  key?: string | null | undefined;
}

export class Topic<T = unknown> extends Timeline<api.GetLatestQuery, api.Page<T>> {
  constructor(transport: Transport, name: string) {
    super(transport, "topics", name, (query) => api.getLatest(name, query));
  }

  get(): Promise<api.Topic> {
    return this.transport.value(api.getTopic(this.name));
  }

  /** Creates the topic or changes its settings. An absent setting keeps its value. */
  put(settings: api.TopicChange = {}): Promise<api.Topic> {
    return this.transport.value(api.putTopic(this.name, settings));
  }

  /** Deletes the topic. This call ends when the deletion has begun; `deletion` says how far it is. */
  async delete(): Promise<api.TopicDeletion> {
    return (await this.transport.value(api.deleteTopic(this.name, { confirm: this.name }))) as api.TopicDeletion;
  }

  /** Previews a deletion. Nothing is deleted. */
  async previewDeletion(): Promise<api.DeletionPreview> {
    return (await this.transport.value(api.deleteTopic(this.name, { dry_run: true }))) as api.DeletionPreview;
  }

  /** The deletion that is under way, or ended within the last day. */
  deletion(): Promise<api.TopicDeletion> {
    return this.transport.value(api.getDeletion(this.name));
  }

  async post(event: api.NewEvent<T>, { key = randomKey() }: PostOptions = {}): Promise<api.Event<T>> {
    return (await this.#post(event, key)) as api.Event<T>;
  }

  /**
   * Posts any number of events, in batches of at most 500. A batch that was written in part is finished by a
   * repetition. If this call fails, repeat it with the same key and events: it goes on where it failed.
   */
  async postAll(events: Iterable<api.NewEvent<T>>, { key = randomKey() }: PostOptions = {}): Promise<api.Event<T>[]> {
    const posted: api.Event<T>[] = [];
    let number = 0;
    for (const batch of batchesOf(events)) {
      number += 1;
      const answer = await this.#post(batch, key !== null && number > 1 ? `${key}-${number}` : key);
      posted.push(...(answer as api.Accepted<T>).events);
    }
    return posted;
  }

  event(id: string): Promise<api.Event<T>> {
    return this.transport.value(api.getEvent(this.name, id));
  }

  deleteEvent(id: string): Promise<void> {
    return this.transport.value(api.deleteEvent(this.name, id));
  }

  consumer(name: string): Consumer<T> {
    return new Consumer(this.transport, this.name, name);
  }

  #post(body: api.NewEvent<T> | api.NewEvents<T>, key: string | null): Promise<api.Event<T> | api.Accepted<T>> {
    return this.transport.value(api.postEvents(this.name, body, keyHeader(key)));
  }
}
