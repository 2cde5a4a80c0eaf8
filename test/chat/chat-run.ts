import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TurnfoldClient } from '../../src/client/index.ts';
import type { Random } from '../setup/random.ts';

export const AGENT = 'talker';
/** Few, so that a sweep is small. */
export const SHARDS = 4;
const SCRIPT = fileURLToPath(new URL('chat-worker.ts', import.meta.url));

/** Worker processes, each of which is replaced when it is killed. */
export class ChatWorkers {
  readonly #redisUrl: string;
  readonly #processes: ChildProcess[] = [];
  /** Processes that have started to work. */
  readonly #ready = new Set<ChildProcess>();
  #isOver = false;
  kills = 0;

  private constructor(redisUrl: string) {
    this.#redisUrl = redisUrl;
  }

  static async start(redisUrl: string, size: number): Promise<ChatWorkers> {
    const workers = new ChatWorkers(redisUrl);
    for (let place = 0; place < size; place += 1) workers.#spawn(place);
    await Promise.all(workers.#processes.map(async ({ stdout }) => stdout && (await once(stdout, 'data'))));
    return workers;
  }

  /** Kills one of the workers that have started. Another one starts in its place. */
  kill(random: Random): void {
    if (this.#ready.size === 0) return;
    this.kills += 1;
    random.pick([...this.#ready]).kill('SIGKILL');
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    const running = this.#processes.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ended = running.map((process) => once(process, 'exit'));
    for (const process of running) process.kill('SIGKILL');
    await Promise.all(ended);
  }

  #spawn(place: number): void {
    const child = spawn(process.execPath, [SCRIPT, this.#redisUrl], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#processes[place] = child;
    child.stdout.once('data', () => this.#ready.add(child));
    // A worker also ends by itself if Redis is away while the worker starts.
    child.once('exit', () => {
      this.#ready.delete(child);
      if (!this.#isOver) this.#spawn(place);
    });
  }
}

/** A message as the page and the log show it: a user's, or the whole answer of a turn. */
export interface ShownMessage {
  readonly role: string;
  readonly texts: readonly string[];
}

/** Leaves out answers without text: of turns that failed, or that have only just begun. */
export function withoutEmpty(shown: readonly ShownMessage[]): ShownMessage[] {
  return shown.filter(({ texts }) => texts.length > 0);
}

/** The messages of the log, in the form of a page. */
export async function readLog(client: TurnfoldClient, conversation: string): Promise<ShownMessage[]> {
  const shown: { role: string; turn: string | undefined; texts: string[] }[] = [];
  for (const { message, turn } of await client.log(conversation).catch(() => [])) {
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant') continue;
    const last = shown.at(-1);
    const open = last !== undefined && last.role === role && last.turn === turn ? last : { role, turn, texts: [] };
    if (open !== last) shown.push(open);
    if (content !== '') open.texts.push(content);
  }
  return withoutEmpty(shown.map(({ role, texts }) => ({ role, texts })));
}

/**
 * Finds words that came twice or out of order in the text of an answer: `w7-0 w7-1 …`.
 * @returns undefined for a text in order
 */
export function findDisorder(text: string): string | undefined {
  const words = text
    .trim()
    .split(/\s+/)
    .filter((word) => word.startsWith('w'));
  const wrong = words.findIndex(
    (word, index) => word !== words[0]?.replace(/-\d+$/, `-${index}`) && index < words.length - 1,
  );
  return wrong === -1 ? undefined : words.slice(Math.max(0, wrong - 2), wrong + 2).join(' ');
}
