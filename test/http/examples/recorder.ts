import { EVENT_STREAM } from '../../../src/api/http/event-stream.ts';
import type { RecordedExample } from '../../../src/api/http/examples.ts';
import type { OpenApi } from '../arbitrary-requests.ts';

type Given = Omit<RecordedExample, 'status' | 'answer' | 'events'>;

/** Sends requests to a served app, and keeps the first request and answer of each operation. */
export class ExampleRecorder {
  readonly #url: string;
  readonly #routes: ReadonlyMap<string, { readonly method: string; readonly path: string }>;
  readonly #recorded = new Map<string, RecordedExample>();

  constructor(url: string, { paths }: OpenApi) {
    this.#url = url;
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, { method, path }] as const),
    );
    this.#routes = new Map(routes);
  }

  get examples(): Readonly<Record<string, RecordedExample>> {
    return Object.fromEntries(
      [...this.#routes.keys()].flatMap((name) => {
        const example = this.#recorded.get(name);
        return example === undefined ? [] : [[name, example]];
      }),
    );
  }

  get missing(): string[] {
    return [...this.#routes.keys()].filter((name) => !this.#recorded.has(name));
  }

  /** @returns the answer as it came */
  async send(operation: string, given: Given = {}): Promise<Record<string, never>> {
    const { params = {}, query, headers, body } = given;
    const { method, path } = this.#routes.get(operation) ?? { method: 'get', path: `/no operation ${operation}` };
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const search = new URLSearchParams(
      Object.entries(query ?? {}).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    const response = await fetch(`${this.#url}${filled}${query === undefined ? '' : `?${search.toString()}`}`, {
      method: method.toUpperCase(),
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { status } = response;
    const isStream = response.headers.get('content-type') === EVENT_STREAM;
    const text = isStream ? await readShortStream(response) : await response.text();
    const failed = status >= 400 && operation !== 'openAiDeleteItem';
    if (failed) throw new Error(`${operation}: ${status} ${text}`);
    const answer = isStream || text === '' ? undefined : (JSON.parse(text) as Record<string, never>);
    const events = isStream ? readFirstEvents(text) : undefined;
    if (!this.#recorded.has(operation)) {
      const kept = { status, ...(answer && { answer }), ...(events && { events }) };
      this.#recorded.set(operation, plain({ ...given, ...kept }, operation) as RecordedExample);
    }
    return answer ?? {};
  }
}

/** Reads a stream to its end, or until it is quiet because it follows what comes later. */
async function readShortStream(response: Response): Promise<string> {
  let text = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes('"type":"turns"')) break;
  }
  return text;
}

function readFirstEvents(text: string): Record<string, unknown> {
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, data = '']) => JSON.parse(data) as { type?: string; object?: string },
  );
  return Object.fromEntries(events.toReversed().map((event) => [event.type ?? event.object ?? 'data', event]));
}

const MAX_ITEMS = 2;
const MAX_CHARACTERS = 160;
/** 2026-01-01 */
const TIME = 1_767_225_600_000;

/** Members that say something about this machine. */
const OF_MACHINE = new Set(['findings', 'waits']);

/** Replaces what differs from run to run, and shortens long values. */
function plain(value: unknown, key = ''): unknown {
  if (OF_MACHINE.has(key)) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => plain(item, key));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member, name)]));
  }
  if (typeof value === 'number') return plainNumber(value, key);
  return typeof value === 'string' ? plainText(value, key) : value;
}

function plainNumber(value: number, key: string): number {
  if (value > 1_500_000_000_000) return TIME;
  if (value > 1_500_000_000 && value < 4_000_000_000 && key !== 'sequence_number') return TIME / 1_000;
  return key.endsWith('Ms') && !['waitMs', 'delayMs', 'expiresInMs', 'graceMs'].includes(key) ? 12 : value;
}

function plainText(value: string, key: string): string {
  if (['token', 'secret'].includes(key)) return `${value.slice(0, value.indexOf('_') + 1)}…`;
  if (key === 'state' && value === 'running') return 'queued';
  // A stream joins pieces that come close together.
  if (key === 'delta' || key === 'piece') return value.split(' ')[0] ?? '';
  const text = value
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '3f0e8d5c-0000-4000-8000-000000000000')
    .replaceAll(/01[0-9A-HJKMNP-TV-Z]{24}/g, '01KDVVSAG0EXAMPLE000000000')
    .replaceAll(/\b\d{13}-\d+\b/g, `${TIME}-0`)
    .replaceAll(/(?<![0-9a-zA-Z])[0-9a-f]{16,64}(?![0-9a-zA-Z])/g, (hash) => '0'.repeat(hash.length))
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-01T00:00:00.000Z');
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
}
