import { deepEqual, equal } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { buildContext } from '../../src/compaction/context.ts';
import type { ConversationRef } from '../../src/domain/ids.ts';
import { type Segment, START_VERSION, type Summary, shownKeys, type Version } from '../../src/domain/version.ts';
import { replacementOver } from './contract/version-replacement.ts';
import { claimPass, commitOf } from './pass-samples.ts';
import { acceptAndClaim, newConversation } from './samples.ts';
import type { StoreHarness } from './store-harness.ts';

/** Operation of a step. `choice` selects a kept version and the texts that a version shows. */
interface Step {
  readonly kind: 'commit' | 'restore' | 'rollback' | 'fork';
  readonly pick: number;
}

export const HEAD = 8;
/** Number of texts that versions can show. It is small, so that a text is shown again after versions without it. */
const TEXTS = 5;

export const steps = fc.array(
  fc.record({
    kind: fc.constantFrom<Step['kind']>('commit', 'commit', 'commit', 'restore', 'rollback', 'fork'),
    pick: fc.nat({ max: 2 ** TEXTS - 1 }),
  }),
  { minLength: 1, maxLength: 14 },
);

function summaryOf(index: number): Summary {
  const covers = { from: index + 1, to: index + 1 };
  return { text: `text ${index}`, covers, sources: [], depth: 1, model: 'structural' };
}

/** Segments over the whole log: a summary of one message for each bit that is set. */
function segmentsOf(pick: number, version: number): Segment[] {
  const weight = { tokens: 1, bytes: 1 };
  return Array.from({ length: HEAD }, (_, index): Segment => {
    const range = { from: index + 1, to: index + 1, weight };
    const isShown = index < TEXTS && ((pick >> index) & 1) === 1;
    return isShown
      ? { kind: 'summary', ...range, version, summaryKey: `key ${index}`, depth: 1 }
      : { kind: 'raw', ...range };
  });
}

/** Runs operations on a conversation, and continues in a new one after each fork. */
export class Story {
  readonly #harness: StoreHarness;
  readonly #keepVersions: number;
  #conversation: ConversationRef;

  constructor(harness: StoreHarness, conversation: ConversationRef, keepVersions: number) {
    this.#harness = harness;
    this.#conversation = conversation;
    this.#keepVersions = keepVersions;
  }

  async take({ kind, pick }: Step): Promise<void> {
    const kept = [START_VERSION, ...(await this.#harness.store.listVersions(this.#conversation))];
    const live = kept.at(-1) ?? START_VERSION;
    const chosen = kept[pick % kept.length] ?? START_VERSION;
    if (kind === 'commit') await this.#commit(live, pick);
    if (kind === 'restore') await this.#restore(live, chosen);
    if (kind === 'rollback')
      await this.#rollBack(
        live,
        kept.find(({ number }) => number === live.parent),
      );
    if (kind === 'fork') await this.#fork(chosen);
    await this.#check();
  }

  /** A commit includes the version's new texts. Texts that it shows again are stored already. */
  async #commit(live: Version, pick: number): Promise<void> {
    const { store } = this.#harness;
    const { lease } = await claimPass(store, this.#conversation);
    const segments = segmentsOf(pick, live.number + 1);
    const own = shownKeys({ segments }).filter((name) => !shownKeys(live).includes(name));
    const summaries = new Map(own.map((name) => [name, summaryOf(Number(name.slice('key '.length)))]));
    const commit = commitOf(live.number, HEAD, { summaries, keepVersions: this.#keepVersions });
    const committed = await store.commitVersion(lease, { ...commit, version: { ...commit.version, segments } });
    equal(committed.status, 'ended');
  }

  async #restore({ number }: Version, { segments }: Version): Promise<void> {
    const keepVersions = this.#keepVersions;
    const replacement = replacementOver(this.#conversation, number, await this.#readHead(), { keepVersions });
    const version = { ...replacement.version, base: HEAD, segments };
    const replaced = await this.#harness.store.replaceVersion({ ...replacement, version });
    equal(replaced.status, 'replaced');
  }

  /** Replaces the live version by the one before it, if that version is still kept. */
  async #rollBack({ number }: Version, before: Version | undefined): Promise<void> {
    if (number === 0 || before === undefined) return;
    const { store } = this.#harness;
    const { lease } = await acceptAndClaim(store, this.#conversation, randomUUID());
    const rolledBack = await store.rollBackVersion(lease, {
      expectedVersion: number,
      shownVersion: number,
      version: { ...before, number: number + 1, parent: number, cause: 'rollback' },
      refusedSegments: `hash of ${number}`,
      keepVersions: this.#keepVersions,
    });
    equal(rolledBack.status, 'rolled_back');
    await store.cancel(this.#conversation, lease.turn, randomUUID());
  }

  /** The following operations run in the fork. */
  async #fork(chosen: Version): Promise<void> {
    const { store } = this.#harness;
    const [source, conversation, operation] = [this.#conversation, newConversation(), randomUUID()];
    const head = await this.#readHead();
    const plan = { source, version: chosen.number, head };
    await store.beginFork({ conversation, operation, agent: 'agent', plan });
    const { summaries, byHash } = await store.readTexts(source, '0');
    const shown = new Map([...summaries].filter(([name]) => shownKeys(chosen).includes(name)));
    const entries = await store.readLog(source, [{ from: 1, to: head }]);
    const texts = { summaries: shown, byHash };
    await store.copyToFork(conversation, operation, { expectedHead: 0, entries, opens: [], closes: [], texts });
    const version = { ...chosen, number: 1, parent: 0, cause: 'fork' as const };
    equal((await store.endFork(conversation, operation, version)).status, 'done');
    await this.#check();
    this.#conversation = conversation;
  }

  async #readHead(): Promise<number> {
    return (await this.#harness.store.readConversation(this.#conversation))?.head ?? 0;
  }

  /** Checks that every kept version has all its texts, and that every stored text is shown by a kept version. */
  async #check(): Promise<void> {
    const { store } = this.#harness;
    const versions = await store.listVersions(this.#conversation);
    for (const { number, segments } of versions) {
      const source = await store.readContext(this.#conversation, { version: number });
      const texts = (source === undefined ? [] : buildContext(source).items)
        .filter(({ message }) => message.role === 'summary')
        .map(({ message }) => message.content);
      deepEqual(
        texts,
        shownKeys({ segments }).map((name) => name.replace('key', 'text')),
      );
    }
    const { summaries } = await store.readTexts(this.#conversation, '0');
    deepEqual([...summaries.keys()].toSorted(), [...new Set(versions.flatMap(shownKeys))].toSorted());
  }
}
