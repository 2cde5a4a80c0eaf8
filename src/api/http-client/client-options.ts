import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { parseInput } from '../../domain/parse.ts';
import { functionSchema } from '../../domain/process-options.ts';

export interface HttpClientOptions {
  /** Address of the server, with the path under which its routes are mounted, e.g. `https://turns.example.com`. */
  readonly url: string;
  /** Bearer key. It decides which tenant the client reaches. A server without keys needs none. */
  readonly key?: string;
  /** How long a call is retried while the server is away, in ms (5,000). Then it fails with `server_unavailable`. */
  readonly deadlineMs?: number;
  /** Time in which the server must answer, in ms (30,000). A call that waits for a result may take longer. */
  readonly answerMs?: number;
  /** Time without a byte after which a stream connects again, in ms (45,000). A server sends one every 15 s. */
  readonly silentMs?: number;
  /** Sends the requests (default: `fetch` of the runtime), e.g. through a proxy or with a client certificate. */
  readonly fetch?: typeof fetch;
}

export interface HttpClientSettings extends Required<Omit<HttpClientOptions, 'key'>> {
  readonly key: string | undefined;
}

const DEADLINE_MS = 5_000;
const ANSWER_MS = 30_000;
/** Three heartbeats of the server. */
const SILENT_MS = 45_000;
/** One day in ms. A larger number probably has another unit. */
const LONGEST_MS = 86_400_000;

const limitSchema = z.number().int().min(1).max(LONGEST_MS);

const optionsSchema = z.strictObject({
  url: z.string(),
  key: z
    .string()
    // Characters that an HTTP header accepts. The error must not repeat the key.
    .regex(/^[\x21-\x7e]{1,4096}$/, 'expected 1 to 4,096 visible ASCII characters')
    .optional(),
  deadlineMs: z.number().int().min(0).max(LONGEST_MS).default(DEADLINE_MS),
  answerMs: limitSchema.default(ANSWER_MS),
  silentMs: limitSchema.default(SILENT_MS),
  fetch: functionSchema.optional(),
});

/** @throws invalid_config with the field */
export function readHttpClientOptions(options: HttpClientOptions): HttpClientSettings {
  const { url, key, ...limits } = parseInput(optionsSchema, options, '', 'invalid_config');
  const send = options.fetch ?? fetch;
  return { ...limits, url: readAddress(url), key, fetch: (...request) => send(...request) };
}

function readAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === undefined || !isHttp || url.username !== '' || url.search !== '' || url.hash !== '') {
    const why = 'expected an address like https://turns.example.com, without credentials, query and fragment';
    throw fieldError('invalid_config', 'url', why);
  }
  // The loop removes slashes at the end. A regular expression would take quadratic time.
  let end = url.href.length;
  while (url.href[end - 1] === '/') end -= 1;
  return url.href.slice(0, end);
}
