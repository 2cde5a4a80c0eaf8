export const REDACTED = '[redacted]';

const SECRET_KEYS = [
  'apiKey',
  'api_key',
  'x-api-key',
  'authorization',
  'Authorization',
  'cookie',
  'password',
  'secret',
  'accessToken',
] as const;

/**
 * Paths for pino's `redact`: the keys above at the top of a line and up to two levels below (`provider.headers.cookie`). They
 * cost about 20 µs a line; at `info` a turn writes one.
 */
export const SECRET_PATHS: readonly string[] = SECRET_KEYS.flatMap((key) => {
  const path = `["${key}"]`;
  return [path, `*${path}`, `*.*${path}`];
});

/** Keys of providers and of well-known services: they say themselves what they are, whatever they stand in. */
const SECRET_FORMS =
  /\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,})/g;

/** What a JSON Web Token may stand in: its three parts, and what is glued to them. */
const DOTTED = /[\w.-]+/g;
/** The first part begins with `{"` in base64. */
const TOKEN_HEAD = /(?<!\w)eyJ[\w-]{8}/;

const NAMES = 'api[_-]?key|access[_-]?token|authorization|cookie|password|passwd|secret';
/** up to the next quote, space or bracket; what JSON says without quotes is none, and a line has to stay JSON */
const VALUE = String.raw`(?!\[redacted|(?:true|false|null|\d+)[,}\]])[^\s\\"',;}\]]{3,}`;

/**
 * `Bearer …`, and a secret under its name: `"password":"…"` (quotes may be escaped, where a line quotes a text that is JSON),
 * `password: …`, `OPENAI_API_KEY=…`.
 */
const NAMED_SECRETS = new RegExp(
  [
    String.raw`(\bbearer\s+`,
    String.raw`\b(?:${NAMES})\b[\\"']*\s*[:=]\s*[\\"']*(?:(?:bearer|basic)\s+)?`,
    String.raw`\b\w+(?:api_key|token|secret|password)=["']?)${VALUE}`,
  ].join('|'),
  'gi',
);

/** Shorter ones would blank out words that are none. */
const MIN_SECRET_CHARS = 8;

export type Redact = (text: string) => string;

/**
 * Takes secrets out of texts.
 * @param known the process's own: taken out whatever they look like, as they are and as JSON writes them
 */
export function createRedaction(known: readonly string[]): Redact {
  const forms = known
    .filter(({ length }) => length >= MIN_SECRET_CHARS)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return (text) => redactSecrets(forms.reduce((left, form) => left.replaceAll(form, REDACTED), text));
}

/**
 * A text without secrets: keys by their form or by the name before them, and addresses without their credentials
 * (`redis://user:password@host` → `redis://[redacted]@host`), wherever they stand.
 */
function redactSecrets(text: string): string {
  return hideUrlCredentials(text)
    .replaceAll(SECRET_FORMS, REDACTED)
    .replaceAll(DOTTED, hideWebTokens)
    .replaceAll(NAMED_SECRETS, `$1${REDACTED}`);
}

function hideUrlCredentials(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^\s/"]+(?=@)/g, REDACTED);
}

/**
 * Hides `eyJ….….…`, a JSON Web Token. A pattern for the whole token would read the rest of the text at each `eyJ`: 13 s for
 * 60 KB of `eyJ-`.
 */
function hideWebTokens(dotted: string): string {
  if (!dotted.includes('eyJ')) return dotted;
  const parts = dotted.split('.');
  const shown: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? '';
    const head = parts[at + 1] && parts[at + 2] ? part.search(TOKEN_HEAD) : -1;
    shown.push(head === -1 ? part : part.slice(0, head) + REDACTED);
    if (head !== -1) at += 2;
  }
  return shown.join('.');
}
